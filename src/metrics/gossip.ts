/** The gossip pool: who is there in its eyes, what it says and hears, and what it refuses. */
import type { Metrics, Reading } from './metrics.ts'

type Counts = Readonly<Record<string, number>>

/** `gossip/gossip.ts` fits. */
export type GossipNumbers = {
  readonly membersByStatus: Counts
  readonly healthScore: number
  readonly core: {
    readonly probesSent: number
    readonly probesFailed: number
    readonly suspicionsRaised: number
    readonly refutations: number
    readonly nameConflicts: number
    readonly claimsUnknown: number
    readonly claimsInvalid: number
    readonly claimsBeyondBounds: number
    readonly claimsIncompatible: number
    readonly claimsNoRoom: number
    readonly acksUnknown: number
    readonly coordinatesInvalid: number
    readonly pingsForOthers: number
    readonly relaysRefused: number
    readonly userMessagesInvalid: number
    readonly timesRefused: number
    readonly eventsRefused: number
    readonly newsTooLarge: number
  }
  readonly messages: { readonly sent: Counts; readonly received: Counts }
  readonly wire: {
    readonly packets: { readonly refused: Counts }
    readonly streams: { readonly refused: Counts }
    readonly messages: { readonly refused: number }
    readonly membersLeftOut: number
  }
  readonly carrier: {
    readonly packetsSent: number
    readonly packetsReceived: number
    readonly bytesSent: number
    readonly bytesReceived: number
    readonly packetsDropped: number
    readonly sendErrors: number
    readonly streamsAccepted: number
    readonly streamsOpened: number
    readonly streamsTurnedAway: number
    readonly streamsTimedOut: number
  }
  /** Lengths of queues and tables. */
  readonly sizes: Counts
}

/** News that waits to be told, by queue; the other sizes are of things under way. */
const queues = ['claims', 'intents', 'events', 'queries']
const underWay = ['suspicions', 'relays', 'exchanges']

/** `numbers` may throw while there is no pool; then nothing is told. */
export function gossipMetrics(metrics: Metrics, numbers: () => GossipNumbers): void {
  pool(metrics, numbers)
  traffic(metrics, numbers)
  refusals(metrics, numbers)
}

function pool(metrics: Metrics, numbers: () => GossipNumbers): void {
  metrics.gauges({
    name: 'muster_gossip_members',
    help: 'Members of the gossip pool as this one sees them, itself included, by status',
    labelNames: ['status'],
    read: () => by('status', numbers().membersByStatus),
  })
  metrics.gauge(
    'muster_gossip_health_score',
    'How ill this member feels, 0 to 7; it suspects others the more slowly',
    () => numbers().healthScore,
  )
  const counters: readonly (readonly [string, string, keyof GossipNumbers['core']])[] = [
    ['probes', 'Members that were probed', 'probesSent'],
    ['probes_failed', 'Probes without an answer by any way', 'probesFailed'],
    ['suspicions', 'Suspicions of other members, own and heard of', 'suspicionsRaised'],
    ['refutations', 'Doubts about this member that it objected to', 'refutations'],
    ['name_conflicts', 'Claims of a name from a second address', 'nameConflicts'],
  ]
  for (const [name, help, key] of counters) {
    metrics.counter(`muster_gossip_${name}_total`, help, () => numbers().core[key])
  }
  metrics.gauges({
    name: 'muster_gossip_queue_length',
    help: 'News that is still to be told, by kind',
    labelNames: ['queue'],
    read: () => by('queue', picked(numbers().sizes, queues)),
  })
  metrics.gauges({
    name: 'muster_gossip_under_way',
    help: 'Suspicions that run, pings for others and exchanges of states that wait for an answer',
    labelNames: ['kind'],
    read: () => by('kind', picked(numbers().sizes, underWay)),
  })
}

function traffic(metrics: Metrics, numbers: () => GossipNumbers): void {
  const counters: readonly (readonly [string, string, keyof GossipNumbers['carrier']])[] = [
    ['packets_sent', 'UDP packets sent', 'packetsSent'],
    ['packets_received', 'UDP packets received', 'packetsReceived'],
    ['sent_bytes', 'Bytes of UDP packets sent', 'bytesSent'],
    ['received_bytes', 'Bytes of UDP packets received', 'bytesReceived'],
    ['streams_accepted', 'TCP streams of other members', 'streamsAccepted'],
    ['streams_opened', 'TCP streams to other members', 'streamsOpened'],
  ]
  for (const [name, help, key] of counters) {
    metrics.counter(`muster_gossip_${name}_total`, help, () => numbers().carrier[key])
  }
  for (const direction of ['sent', 'received'] as const) {
    metrics.counters({
      name: `muster_gossip_messages_${direction}_total`,
      help: `Messages in packets ${direction}, by kind; a packet carries several`,
      labelNames: ['kind'],
      read: () => by('kind', numbers().messages[direction]),
    })
  }
}

function refusals(metrics: Metrics, numbers: () => GossipNumbers): void {
  metrics.counters({
    name: 'muster_gossip_refused_total',
    help: 'What was received and not taken, by what it was and why',
    labelNames: ['what', 'reason'],
    read: () => refused(numbers()),
  })
  metrics.counters({
    name: 'muster_gossip_dropped_total',
    help: 'What was to be sent and was not, by reason',
    labelNames: ['reason'],
    read: () => {
      const { carrier, core } = numbers()
      return by('reason', {
        queue_full: carrier.packetsDropped,
        send_error: carrier.sendErrors,
        too_large: core.newsTooLarge,
      })
    },
  })
}

function refused({ core, wire, carrier }: GossipNumbers): readonly Reading[] {
  const table: Readonly<Record<string, Counts>> = {
    packet: wire.packets.refused,
    stream: {
      ...wire.streams.refused,
      overloaded: carrier.streamsTurnedAway,
      timeout: carrier.streamsTimedOut,
    },
    message: {
      broken: wire.messages.refused + core.userMessagesInvalid,
      not_for_this: core.pingsForOthers,
      unasked: core.acksUnknown,
      beyond_bounds: core.timesRefused,
    },
    claim: {
      unknown_member: core.claimsUnknown,
      broken: core.claimsInvalid + wire.membersLeftOut,
      beyond_bounds: core.claimsBeyondBounds,
      incompatible: core.claimsIncompatible,
      no_room: core.claimsNoRoom,
    },
    coordinate: { beyond_bounds: core.coordinatesInvalid },
    relay: { overloaded: core.relaysRefused },
    event: { beyond_bounds: core.eventsRefused },
  }
  return Object.entries(table).flatMap(([what, counts]) =>
    by('reason', counts).map(({ labels, value }) => ({ labels: { what, ...labels }, value })),
  )
}

function by(label: string, counts: Counts): readonly Reading[] {
  return Object.entries(counts).map(([key, value]) => ({
    labels: { [label]: key.replaceAll('-', '_') },
    value,
  }))
}

function picked(sizes: Counts, names: readonly string[]): Counts {
  return Object.fromEntries(names.map((name) => [name, sizes[name] ?? 0]))
}
