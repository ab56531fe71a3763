/** The core's view of members, in the words of `gossip.ts`: endpoints as text, times as times of day. */
import type { Clock } from '../lib/clock.ts'
import type { Endpoint } from './core/message.ts'
import type { MemberView as CoreView } from './core/ready.ts'
import { describeEvidence, type Suspicion } from './core/suspicion.ts'
import type { MemberView, SuspicionRecord } from './gossip.ts'
import { formatAddress, formatEndpoint } from './wire/address.ts'

export class Views {
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  member(view: CoreView): MemberView {
    const { endpoint, suspicion, goneAt } = view
    return {
      name: view.name,
      address: formatAddress(endpoint.address),
      port: endpoint.port,
      endpoint: formatEndpoint(endpoint),
      tags: view.tags,
      status: view.status,
      suspected: view.state === 'suspect',
      udpBlocked: view.reach === 'stream-only',
      reach: view.reach,
      versions: view.versions,
      incarnation: view.incarnation,
      statusTime: view.statusTime,
      changedAtMs: this.#wall(view.stateChangedAt),
      goneAtMs: goneAt === null ? null : this.#wall(goneAt),
      goneBy: view.goneBy,
      suspicion: suspicion === null ? null : this.suspicion(view.name, suspicion),
    }
  }

  suspicion(member: string, suspicion: Suspicion): SuspicionRecord {
    const { incarnation, by, evidence, toldBy, confirmedBy, startedAt, ended } = suspicion
    return {
      member,
      incarnation,
      by,
      why: describeEvidence(evidence),
      path: pathOf(evidence),
      toldBy: evidence.type === 'probe' ? null : tellerOf(evidence.via, toldBy),
      confirmedBy: [...confirmedBy],
      atMs: this.#wall(startedAt),
      ended: ended === null ? null : { atMs: this.#wall(ended.at), how: ended.how, by: ended.by },
    }
  }

  /** The core counts on a clock of its own beginning. */
  #wall(at: number): number {
    return Math.round(this.#clock.wallMs() - (this.#clock.monotonicMs() - at))
  }
}

function tellerOf(via: Endpoint, name: string | null): string {
  const place = via.port === 0 ? formatAddress(via.address) : formatEndpoint(via)
  return name === null ? place : `${name} (${place})`
}

function pathOf(evidence: Suspicion['evidence']): SuspicionRecord['path'] {
  if (evidence.type === 'told') return 'udp'
  if (evidence.type === 'push-pull') return 'tcp'
  return evidence.stream.type === 'not-tried' ? 'udp' : 'udp and tcp'
}
