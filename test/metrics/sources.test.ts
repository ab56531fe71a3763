/** What requests, the process, consensus and the state tell. */
import t from 'tap'
import { Exposition } from '../../src/metrics/exposition.ts'
import { httpMetrics } from '../../src/metrics/http.ts'
import { limitMetrics } from '../../src/metrics/limits.ts'
import { Metrics } from '../../src/metrics/metrics.ts'
import { lagProbeMs, processMetrics } from '../../src/metrics/process.ts'
import { raftMetrics, type RaftSource } from '../../src/metrics/raft.ts'
import { unansweredMetrics } from '../../src/metrics/rpc.ts'
import { stateMetrics } from '../../src/metrics/state.ts'
import { manualClock } from '../support/manual-clock.ts'

/** The lines of the exposition that begin with a name, buckets left out. */
async function linesOf(metrics: Metrics, start: string): Promise<readonly string[]> {
  const { text } = await new Exposition(metrics).text()
  return text.split('\n').filter((line) => line.startsWith(start) && !line.includes('_bucket{'))
}

t.test('requests are told by pattern, method and class of status', async (t) => {
  const metrics = new Metrics(manualClock())
  const observerOf = httpMetrics(metrics)
  const variable = observerOf({ method: 'GET', path: '/v1/var/*' })
  const other = observerOf(null)
  t.same(await linesOf(metrics, 'muster_http'), [], 'a route that nobody asked for takes no room')
  variable(200, 250, false)
  variable(204, 250, false)
  variable(404, 1, false)
  variable(200, 300_000, true)
  variable(0, 20, false)
  other(404, 1, false)
  const front = 'muster_http_requests_total{method='
  t.same(await linesOf(metrics, 'muster_http_requests'), [
    `${front}"GET",route="/v1/var/*",code="2xx"} 3`,
    `${front}"GET",route="/v1/var/*",code="4xx"} 1`,
    `${front}"GET",route="/v1/var/*",code="aborted"} 1`,
    `${front}"any",route="unmatched",code="4xx"} 1`,
  ])
  t.match(
    await linesOf(metrics, 'muster_http_request_duration_seconds_sum'),
    [/code="2xx"\} 0\.5$/, /0\.001$/, /0\.02$/, /unmatched.* 0\.001$/],
    'what waited on purpose is counted and not timed',
  )
})

t.test('the event loop is as late as its timer', async (t) => {
  const clock = manualClock()
  const metrics = new Metrics(clock)
  const stop = processMetrics(metrics, clock)
  clock.advance(lagProbeMs)
  clock.advance(lagProbeMs + 200)
  stop()
  clock.advance(1_000)
  t.same(await linesOf(metrics, 'muster_eventloop_lag'), [
    'muster_eventloop_lag_seconds_sum 0.2',
    'muster_eventloop_lag_seconds_count 2',
  ])
  for (const name of ['process_resident_memory_bytes', 'process_cpu_seconds_total']) {
    const [line = ''] = await linesOf(metrics, name)
    t.ok(Number(line.split(' ')[1]) > 0, name)
  }
  t.equal((await linesOf(metrics, 'muster_process_memory_bytes')).length, 4)
})

t.test('what was refused is counted by limit, where a process has that limit', async (t) => {
  const metrics = new Metrics(manualClock())
  limitMetrics(metrics, () => ({ rate: 3, blocking_queries: 2, log_streams: 0 }))
  t.same(await linesOf(metrics, 'muster_http_limited_total'), [
    'muster_http_limited_total{limit="rate"} 3',
    'muster_http_limited_total{limit="blocking_queries"} 2',
    'muster_http_limited_total{limit="log_streams"} 0',
  ])
})

t.test('elections are counted by term, whatever was seen of them', async (t) => {
  type Status = ReturnType<RaftSource['status']>
  let status: Status = {
    id: 'a',
    role: 'follower',
    term: 1,
    leaderId: null,
    lastIndex: 9,
    commitIndex: 8,
    appliedIndex: 7,
    configuration: { members: [{ role: 'voter' }, { role: 'voter' }, { role: 'learner' }] },
  }
  const listeners = new Set<(status: Status) => void>()
  const become = (role: Status['role'], term: number, leaderId: string | null): void => {
    status = { ...status, role, term, leaderId }
    for (const listener of listeners) listener(status)
  }
  const metrics = new Metrics(manualClock())
  const stop = raftMetrics(metrics, {
    status: () => status,
    lastContactMs: () => 1_500,
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    logStats: () => ({ bytes: 100, segments: 2, firstIndex: 3 }),
  })
  become('follower', 1, 'b')
  become('preCandidate', 1, null)
  become('follower', 1, 'b')
  become('candidate', 2, null)
  become('leader', 2, 'a')
  become('leader', 2, 'a')
  become('leader', 4, 'a')
  become('candidate', 5, null)
  const lines = await linesOf(metrics, 'muster_raft')
  for (const line of [
    'role{role="candidate"} 1',
    'role{role="pre_candidate"} 0',
    'term 5',
    'last_index 9',
    'commit_index 8',
    'applied_index 7',
    'has_leader 0',
    'voters 2',
    'learners 1',
    'leader_contact_seconds 1.5',
    'log_bytes 100',
    'log_segments 2',
    'log_first_index 3',
    'elections_total 3',
    'elections_won_total 2',
    'leader_changes_total 3',
  ]) {
    t.ok(lines.includes(`muster_raft_${line}`), line)
  }
  stop()
  t.equal(listeners.size, 0)
})

t.test('a store that is closed is left out, its readers are not', async (t) => {
  let open = true
  const level = {
    level: 1,
    files: 3,
    bytes: 5,
    compactionSeconds: 2,
    readBytes: 7,
    writtenBytes: 8,
  }
  const metrics = new Metrics(manualClock())
  stateMetrics(metrics, {
    storeStats() {
      if (!open) throw new Error('closed')
      return { levels: [level], memoryBytes: 11, unflushedBytes: 12 }
    },
    watchStats: () => ({ parked: 13, wakes: 14 }),
    parkedQueries: () => 15,
    requestsUnderWay: () => 16,
    callsUnderWay: () => 17,
  })
  t.same(await linesOf(metrics, 'muster_leveldb'), [
    'muster_leveldb_files{level="1"} 3',
    'muster_leveldb_size_bytes{level="1"} 5',
    'muster_leveldb_compaction_seconds_total{level="1"} 2',
    'muster_leveldb_compaction_read_bytes_total{level="1"} 7',
    'muster_leveldb_compaction_written_bytes_total{level="1"} 8',
    'muster_leveldb_memory_bytes 11',
    'muster_leveldb_unflushed_bytes 12',
  ])
  open = false
  t.same(await linesOf(metrics, 'muster_leveldb'), [])
  t.same(await linesOf(metrics, 'muster_queries_parked'), ['muster_queries_parked 15'])
})

t.test('writes whose leader did not answer are told by what became of them', async (t) => {
  const metrics = new Metrics(manualClock())
  unansweredMetrics(metrics, () => ({ applied: 2, void: 1, unknown: 0 }))
  t.same(await linesOf(metrics, 'muster_rpc_unanswered'), [
    'muster_rpc_unanswered_writes_total{fate="applied"} 2',
    'muster_rpc_unanswered_writes_total{fate="void"} 1',
    'muster_rpc_unanswered_writes_total{fate="unknown"} 0',
  ])
})
