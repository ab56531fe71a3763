/** Health, stability, and the cleanup of dead servers, on a clock of the test's own. */
import t from 'tap'
import { defaultAutopilot, type AutopilotConfig } from '../../src/domains/autopilot/model.ts'
import type { RaftStatus } from '../../src/raft/raft.ts'
import { Autopilot } from '../../src/server/autopilot.ts'
import type { GossipServer } from '../../src/gossip-pool/tags.ts'

function world(config: Partial<AutopilotConfig> = {}) {
  const state = { nowMs: 1_000, names: ['s1', 's2', 's3'], role: 'leader', lastIndex: 100 }
  /** By name: entries held, milliseconds since the last answer. */
  const followers = new Map<string, { match: number; silentMs: number }>()
  const failed = new Map<string, number>()
  const lastHeard = new Map<string, number>()
  const status = (): RaftStatus => ({
    id: 's1',
    role: state.role as RaftStatus['role'],
    term: 1,
    leaderId: 's1',
    lastIndex: state.lastIndex,
    commitIndex: state.lastIndex,
    appliedIndex: state.lastIndex,
    settled: true,
    transferring: false,
    electionTimeoutMs: 1_000,
    configuration: {
      clusterId: 'c',
      members: state.names.map((name) => ({
        id: name,
        name,
        address: `${name}:1`,
        role: name === 'learner' ? ('learner' as const) : ('voter' as const),
      })),
    },
    configurationIndex: 1,
    followers: new Map(
      [...followers].map(([name, { match, silentMs }]) => [
        name,
        {
          match,
          state: 'replicate' as const,
          lastContact: Math.min(state.nowMs - silentMs, lastHeard.get(name) ?? Infinity),
        },
      ]),
    ),
  })
  const autopilot = new Autopilot({
    selfId: 's1',
    version: '1',
    status,
    config: () => ({ ...defaultAutopilot, ...config }),
    pool: () =>
      state.names.map(
        (name) =>
          ({
            id: name,
            name,
            version: '1',
            member: {
              status: failed.has(name) ? 'failed' : 'alive',
              goneAtMs: failed.get(name) ?? null,
            },
          }) as GossipServer,
      ),
    heartbeatMs: 100,
    clock: {
      monotonicMs: () => state.nowMs,
      wallMs: () => state.nowMs,
      setTimer: () => ({ cancel() {} }),
    },
  })
  const hears = (name: string, match = state.lastIndex, silentMs = 0) =>
    followers.set(name, { match, silentMs })
  for (const name of ['s2', 's3']) hears(name)
  return { state, followers, failed, lastHeard, autopilot, hears }
}

t.test('who is silent, behind or failed is not healthy', async (t) => {
  const { autopilot, hears, failed, state } = world()
  autopilot.observe()
  t.match(autopilot.health(), { healthy: true, failureTolerance: 1 })
  hears('s2', 100, 301)
  t.match(autopilot.health(), { healthy: false, failureTolerance: 0 })
  hears('s2', 100, 300)
  state.lastIndex = 1_000
  autopilot.observe()
  hears('s2', 749)
  hears('s3', 750)
  t.same(
    autopilot.health().servers.map(({ healthy }) => healthy),
    [true, false, true],
  )
  failed.set('s3', 1)
  t.match(autopilot.health().servers[2], { healthy: false, gossipStatus: 'failed' })
})

t.test('a learner is stable once it was healthy for the whole time', async (t) => {
  const { autopilot, hears, state } = world()
  autopilot.observe()
  state.names.push('learner')
  hears('learner')
  autopilot.observe()
  state.nowMs += 9_999
  autopilot.observe()
  t.notOk(autopilot.isStable('learner'))
  hears('learner', 100, 5_000)
  autopilot.observe()
  hears('learner')
  autopilot.observe()
  state.nowMs += 9_999
  t.notOk(autopilot.isStable('learner'), 'it begins anew')
  state.nowMs += 1
  t.ok(autopilot.isStable('learner'))
})

t.test('a failed voter goes once another took its place, one for one', async (t) => {
  const { autopilot, hears, failed, lastHeard, state } = world()
  autopilot.observe()
  for (const name of ['s2', 's3']) lastHeard.set(name, state.nowMs)
  state.nowMs += 1_000
  state.names.push('s4')
  hears('s4')
  autopilot.observe()
  t.same(autopilot.dead(), [], 'nobody says that they failed')
  state.nowMs += 6_000
  for (const name of ['s2', 's3']) failed.set(name, state.nowMs)
  t.same(autopilot.dead(), ['s2', 's3'], 'it came before gossip noticed')
  autopilot.removed('s2')
  state.names = state.names.filter((name) => name !== 's2')
  t.same(autopilot.dead(), [], 's4 stands for one')
})

t.test('one that was there while the failed one still answered replaces nobody', async (t) => {
  const { autopilot, hears, failed, lastHeard, state } = world()
  autopilot.observe()
  state.nowMs += 1_000
  state.names.push('s4')
  hears('s4')
  autopilot.observe()
  lastHeard.set('s2', state.nowMs)
  state.nowMs += 6_000
  failed.set('s2', state.nowMs)
  autopilot.observe()
  t.same(autopilot.dead(), [])
})

t.test('dead servers stay when told so, and when too few would remain', async (t) => {
  for (const config of [{ cleanupDeadServers: false }, { quorumMin: 4 }]) {
    const { autopilot, hears, failed, lastHeard, state } = world(config)
    autopilot.observe()
    failed.set('s2', state.nowMs)
    lastHeard.set('s2', state.nowMs)
    state.nowMs += 1_000
    state.names.push('s4')
    hears('s4')
    autopilot.observe()
    t.same(autopilot.dead(), [], JSON.stringify(config))
  }
})
