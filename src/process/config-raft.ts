/** The `server.raft` block of a configuration. */
import Type from 'typebox'
import { present } from '../lib/assert.ts'
import { parseDurationMs } from '../lib/duration.ts'
import type { Complain } from './config-check.ts'
import { count, duration, durationText, emptyBlock, flag, size } from './config-values.ts'

const MiB = 2 ** 20
const GiB = 2 ** 30

export const raftSchema = Type.Object(
  {
    election_timeout: durationText(
      50,
      60_000,
      '50ms to 1m, or "auto"',
      {
        default: 'auto',
        about:
          'a follower that heard nothing for 1 to 1.5 of these asks for votes; `auto`: 250 ms to 2 s',
      },
      'auto',
    ),
    heartbeat_interval: duration(10, 20_000, '10ms to 20s', {
      default: '100ms',
      about: 'at most half of the election timeout',
    }),
    lease_reads: flag({
      default: false,
      about:
        '`consistent` reads without a round, on trust in clocks; a crashed leader is replaced later',
    }),
    append_bytes_max: size(64 * 1024, 16 * MiB, '64KiB to 16MiB', {
      default: '1MiB',
      about: 'entries of one message',
    }),
    inflight_messages_max: count(1, 4096, {
      default: 64,
      about: 'unanswered messages per follower',
    }),
    inflight_bytes_max: size(MiB, GiB, '1MiB to 1GiB', {
      default: '16MiB',
      about: 'the same in bytes',
    }),
    uncommitted_bytes_max: size(MiB, GiB, '1MiB to 1GiB', {
      default: '32MiB',
      about: 'beyond it writes are refused as overloaded, to be tried again',
    }),
    cache_bytes_max: size(MiB, GiB, '1MiB to 1GiB', {
      default: '32MiB',
      about: 'applied entries kept in memory for followers a little behind',
    }),
    compact_bytes: size(MiB, 64 * GiB, '1MiB to 64GiB', {
      default: '64MiB',
      about: 'how much the log grows before it is compacted',
    }),
  },
  emptyBlock,
)

/** Times in milliseconds, sizes in bytes. */
export type RaftConfig = {
  readonly electionMs: number
  /** The timeout follows what heartbeats show, within these; null: it is fixed. */
  readonly adaptive: { readonly minMs: number; readonly maxMs: number } | null
  /** heartbeatMs * 2 <= electionMs */
  readonly heartbeatMs: number
  /** Linearizable reads without a quorum round, on trust in the servers' clocks; costs the quick election after a crash. */
  readonly leaseReads: boolean
  readonly appendBytesMax: number
  readonly inflightMessagesMax: number
  readonly inflightBytesMax: number
  readonly uncommittedBytesMax: number
  readonly cacheBytesMax: number
  readonly compactBytes: number
}

export function completeRaft(
  file: Type.StaticDecode<typeof raftSchema>,
  complain: Complain,
): RaftConfig {
  const heartbeatMs = file.heartbeat_interval
  const raft: RaftConfig = {
    ...electionTimeout(file.election_timeout, heartbeatMs),
    heartbeatMs,
    leaseReads: file.lease_reads,
    appendBytesMax: file.append_bytes_max,
    inflightMessagesMax: file.inflight_messages_max,
    inflightBytesMax: file.inflight_bytes_max,
    uncommittedBytesMax: file.uncommitted_bytes_max,
    cacheBytesMax: file.cache_bytes_max,
    compactBytes: file.compact_bytes,
  }
  if (heartbeatMs * 2 > raft.electionMs) {
    complain(
      'server.raft.heartbeat_interval',
      `${heartbeatMs}ms is more than half of election_timeout (${raft.electionMs}ms); one lost heartbeat would cause an election`,
    )
  }
  if (raft.appendBytesMax > raft.inflightBytesMax) {
    complain('server.raft.append_bytes_max', 'must not be above inflight_bytes_max')
  }
  return raft
}

/** With `auto` a rare heartbeat makes the least timeout longer: one that is lost must not cause an election. */
function electionTimeout(
  text: string,
  heartbeatMs: number,
): Pick<RaftConfig, 'electionMs' | 'adaptive'> {
  if (text !== 'auto') {
    return { electionMs: present(parseDurationMs(text), 'a checked duration'), adaptive: null }
  }
  const atLeast = (ms: number) => Math.max(ms, 2.5 * heartbeatMs)
  return { electionMs: atLeast(1_000), adaptive: { minMs: atLeast(250), maxMs: atLeast(2_000) } }
}
