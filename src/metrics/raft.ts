/** Consensus: where this server stands, how long its disk and its state take, and how often leaders change. */
import type { Metrics } from './metrics.ts'
import { latencyBoundsSeconds, type Distribution } from './series.ts'

const roles = ['follower', 'preCandidate', 'candidate', 'leader'] as const
type Role = (typeof roles)[number]

type Status = {
  readonly id: string
  readonly role: Role
  readonly term: number
  readonly leaderId: string | null
  readonly lastIndex: number
  readonly commitIndex: number
  readonly appliedIndex: number
  readonly configuration: { readonly members: readonly { readonly role: 'voter' | 'learner' }[] }
}

/** `raft/node.ts` and its log fit. */
export type RaftSource = {
  status(): Status
  lastContactMs(): number
  onChange(listener: (status: Status) => void): () => void
  logStats(): { readonly bytes: number; readonly segments: number; readonly firstIndex: number }
}

/** What is measured where it happens, in seconds. */
export type RaftTimes = { readonly append: Distribution; readonly apply: Distribution }

/** Before there is a node: it is measured from its first write. */
export function raftTimes(metrics: Metrics): RaftTimes {
  const spread = (name: string, help: string) =>
    metrics.distributions({ name, help, labelNames: [], bounds: latencyBoundsSeconds })({})
  return {
    append: spread(
      'muster_raft_append_duration_seconds',
      'One write to the log with its sync, whatever number of entries it holds',
    ),
    apply: spread(
      'muster_raft_apply_duration_seconds',
      'One batch of committed entries, from the log to where readers see it',
    ),
  }
}

/** Returns the way to stop listening. */
export function raftMetrics(metrics: Metrics, source: RaftSource): () => void {
  metrics.gauges({
    name: 'muster_raft_role',
    help: 'The role of this server: 1 for the one it has',
    labelNames: ['role'],
    read: () => {
      const { role } = source.status()
      return roles.map((one) => ({
        labels: { role: one === 'preCandidate' ? 'pre_candidate' : one },
        value: one === role ? 1 : 0,
      }))
    },
  })
  const gauges: readonly (readonly [string, string, (status: Status) => number])[] = [
    ['term', 'The term', ({ term }) => term],
    ['last_index', 'The last entry of the log', ({ lastIndex }) => lastIndex],
    ['commit_index', 'The last entry known to be committed', ({ commitIndex }) => commitIndex],
    ['applied_index', 'The last entry in the state', ({ appliedIndex }) => appliedIndex],
    ['has_leader', '1 while a leader is known', ({ leaderId }) => (leaderId === null ? 0 : 1)],
    ['voters', 'Members that count', ({ configuration }) => membersOf(configuration, 'voter')],
    [
      'learners',
      'Members that only receive',
      ({ configuration }) => membersOf(configuration, 'learner'),
    ],
  ]
  for (const [name, help, read] of gauges) {
    metrics.gauge(`muster_raft_${name}`, help, () => read(source.status()))
  }
  metrics.gauge(
    'muster_raft_leader_contact_seconds',
    'Since a leader was last heard of; 0 on the leader',
    () => source.lastContactMs() / 1000,
  )
  metrics.gauge('muster_raft_log_bytes', 'The log on disk', () => source.logStats().bytes)
  metrics.gauge('muster_raft_log_segments', 'Files of the log', () => source.logStats().segments)
  metrics.gauge(
    'muster_raft_log_first_index',
    'The first entry that the log still holds',
    () => source.logStats().firstIndex,
  )
  return countElections(metrics, source)
}

function membersOf({ members }: Status['configuration'], wanted: 'voter' | 'learner'): number {
  return members.filter(({ role }) => role === wanted).length
}

function countElections(metrics: Metrics, source: RaftSource): () => void {
  let stood = 0
  let won = 0
  let leaders = 0
  metrics.counter('muster_raft_elections_total', 'Elections this server stood in', () => stood)
  metrics.counter('muster_raft_elections_won_total', 'Elections this server won', () => won)
  metrics.counter('muster_raft_leader_changes_total', 'Leaders that were heard of', () => leaders)
  let stoodIn = 0
  let wonIn = 0
  let heardIn = 0
  const follow = ({ role, term, leaderId }: Status): void => {
    // Who is alone, or is quick, leads without being seen as a candidate.
    if ((role === 'candidate' || role === 'leader') && term > stoodIn) {
      stood += 1
      stoodIn = term
    }
    if (role === 'leader' && term > wonIn) {
      won += 1
      wonIn = term
    }
    // A term has one leader at most.
    if (leaderId !== null && term > heardIn) {
      leaders += 1
      heardIn = term
    }
  }
  follow(source.status())
  return source.onChange(follow)
}
