/**
 * A server whose state is gone, while its log begins after entries that only the state still held. Before it takes part
 * in consensus it asks the other members, one after the other, to send it their state as a snapshot.
 *
 * Its vote and its log stay, for entries there may be acknowledged: any applied state not older than the log's
 * beginning is a state that this log goes on from, or that voids the log (`startup.ts` tells which). Until then no
 * message is answered, as if the server were down.
 */
import { Pause } from '../lib/async.ts'
import { MusterError, textOf } from '../lib/errors.ts'
import { configurationAfter } from './core/membership.ts'
import type { Configuration, SnapshotMeta } from './core/message.ts'
import type { RaftNodeOptions } from './raft.ts'
import type { SnapshotSink, TransportHandlers } from './transport/transport.ts'

type Offer = Parameters<TransportHandlers['onSnapshotOffer']>[0]

/** A member that sends nothing for this long is left for the next one. */
const silenceMs = 10_000
/** Between two rounds over all members. */
const roundMs = 1_000
/** Without a byte from any member for this long, the start fails. */
const patienceMs = 60_000

export function isStateLost({ recovered, machine }: RaftNodeOptions): boolean {
  return machine.appliedIndex < recovered.snapshot.index
}

export class LostState {
  readonly #options: RaftNodeOptions
  readonly #configuration: Configuration
  #heardMs: number
  #arrived: SnapshotMeta | null = null
  /** A snapshot that has arrived ends it. */
  readonly #pause: Pause

  constructor(options: RaftNodeOptions) {
    const { recovered, clock } = options
    this.#options = options
    this.#configuration = configurationAfter(recovered.snapshot, recovered.configurations)
    this.#heardMs = clock.monotonicMs()
    this.#pause = new Pause(clock)
  }

  /** Resolves once a state is in place. Rejects with `corrupt` where no other member exists, and `unavailable` when none sent one. */
  async recover(): Promise<void> {
    const { id, recovered, machine, logger, requestState } = this.#options
    const beginsAfter = recovered.snapshot.index
    const others = this.#configuration.members.filter((member) => member.id !== id)
    if (requestState === undefined || others.length === 0) {
      throw new MusterError(
        'corrupt',
        `the state is at index ${machine.appliedIndex}, but the log begins after ${beginsAfter}: state that was durable is gone, and no other server has it; restore an archive into a new server`,
      )
    }
    logger.warn('the state is older than the log: asking the other servers for theirs', {
      applied: machine.appliedIndex,
      logBeginsAfter: beginsAfter,
    })
    let reason = 'none answered'
    while (this.#silentMs() < patienceMs) {
      for (const member of others) {
        try {
          await requestState(member, beginsAfter)
          await this.#arrival()
        } catch (error) {
          reason = `${member.name}: ${textOf(error)}`
        }
        const arrived = this.#arrived
        if (arrived === null) continue
        await machine.install(arrived)
        logger.info('the state of another server was put in place', {
          from: member.name,
          index: arrived.index,
        })
        return
      }
      await this.#pause.wait(roundMs)
    }
    throw new MusterError(
      'unavailable',
      `the state of this server is gone and no other server sent its own within ${patienceMs / 1000} s (${reason}): start a majority of the servers`,
    )
  }

  async offered({ id, meta }: Offer): Promise<SnapshotSink> {
    const { machine, recovered, gate } = this.#options
    const { clusterId } = this.#configuration
    if (meta.index < recovered.snapshot.index) {
      const text = `a state at index ${meta.index} is too old for a log that begins after ${recovered.snapshot.index}`
      throw new MusterError('conflict', text)
    }
    if (meta.configuration.clusterId !== clusterId) {
      throw new MusterError('conflict', `the state is of cluster ${meta.configuration.clusterId}`)
    }
    if (gate.refusing) {
      throw new MusterError('unavailable', 'the disk of this server takes no writes now')
    }
    if (this.#arrived !== null) {
      throw new MusterError('conflict', 'this server is putting a state in place')
    }
    const sink = await machine.stage(id, meta)
    this.#heard()
    return {
      get received() {
        return sink.received
      },
      write: (chunk) => {
        this.#heard()
        return sink.write(chunk)
      },
      finish: (sha256) => {
        this.#heard()
        return sink.finish(sha256)
      },
    }
  }

  received({ meta }: Pick<Offer, 'meta'>): void {
    this.#arrived = meta
    this.#pause.end()
  }

  #heard(): void {
    this.#heardMs = this.#options.clock.monotonicMs()
  }

  #silentMs(): number {
    return this.#options.clock.monotonicMs() - this.#heardMs
  }

  /** Until a snapshot is staged whole, or the member is silent. */
  async #arrival(): Promise<void> {
    const askedMs = this.#options.clock.monotonicMs()
    while (this.#arrived === null) {
      const sinceMs = Math.max(askedMs, this.#heardMs)
      const leftMs = sinceMs + silenceMs - this.#options.clock.monotonicMs()
      if (leftMs <= 0) throw new MusterError('timeout', `sent nothing for ${silenceMs / 1000} s`)
      await this.#pause.wait(leftMs)
    }
  }
}
