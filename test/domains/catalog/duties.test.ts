/** The leader's duty for members, over a real state and members and time of the test's own. */
import { typedPropose } from '../../../src/rpc/write.ts'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import {
  absentCriticalMs,
  absentGoneMs,
  startMemberDuty,
  type PoolAgent,
  type ServerMember,
} from '../../../src/domains/catalog/duties.ts'
import { membershipCheck } from '../../../src/domains/catalog/model.ts'
import { catalogChecks, catalogNodes } from '../../../src/domains/catalog/table.ts'
import { silentMs } from '../../../src/domains/catalog/witness.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import { eventually } from '../../support/eventually.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { catalogMachine, node } from './catalog-machine.ts'

const id1 = '11111111-1111-4111-8111-111111111111'
const id2 = '22222222-2222-4222-8222-222222222222'
const id3 = '33333333-3333-4333-8333-333333333333'

function server(name: string, id: string, status: ServerMember['status'] = 'alive'): ServerMember {
  return { id, name, address: '192.0.2.1', datacenter: 'dc1', status }
}

function agent(name: string, id: string, status: PoolAgent['status']): PoolAgent {
  return { id, name, status, endpoint: '192.0.2.9:9', member: `${name}.global` }
}

async function dutyOf(t: Test) {
  const catalog = await catalogMachine(t)
  const clock = manualClock()
  const state = {
    servers: [] as readonly ServerMember[],
    agents: [] as readonly PoolAgent[],
    /** Endpoint and id of those that answer. */
    answering: new Set<string>(),
    asked: [] as string[],
    entries: 0,
    failures: 0,
  }
  let changed: () => void = () => {}
  const duty = startMemberDuty({
    members: {
      servers: () => state.servers,
      agents: () => state.agents,
      answers: async (endpoint, who) => {
        state.asked.push(`${endpoint} ${who}`)
        return state.answering.has(`${endpoint} ${who}`)
      },
      onChange: (listener) => {
        changed = listener
        return () => {}
      },
    },
    view: () => catalog.view(),
    propose: typedPropose(async (command) => {
      if (state.failures-- > 0) throw new Error('the disk is slow')
      state.entries += 1
      return catalog.propose(command)
    }),
    clock,
    log: silentLogger,
  })
  t.teardown(() => duty.stop())
  const find = (name: string) => catalog.reader().get(catalogChecks, [name, 'gossiphealth'])?.status
  return {
    catalog,
    clock,
    state,
    say: (next: { servers?: readonly ServerMember[]; agents?: readonly PoolAgent[] }) => {
      Object.assign(state, next)
      changed()
    },
    /** As the agent itself does it. */
    registers: async (name: string, id: string, port: number) => {
      const meta = [['muster-gossip', `127.0.0.1:${port}`]] as const
      const checks = [membershipCheck('passing', 'Agent alive and reachable')]
      await catalog.register({ node: node(name, { id, meta }), checks })
      state.answering.add(`127.0.0.1:${port} ${id}`)
    },
    find,
    /** Time passes while it waits. */
    becomes: (name: string, wanted: string | undefined, stepMs = 100) =>
      eventually(
        `${name} is ${wanted ?? 'gone'}`,
        () => {
          clock.advance(stepMs)
          return find(name) === wanted ? true : undefined
        },
        // Minutes of the duty's time may have to pass.
        { everyMs: 5 },
      ),
    /** Lets that much time pass, in small steps between which the duty runs until it waits for the clock again. */
    pass: async (ms: number) => {
      const rests = async () => {
        do await setImmediate()
        while (clock.timerCount === 0)
      }
      await rests()
      for (let passed = 0; passed < ms; passed += 250) {
        clock.advance(250)
        await rests()
      }
    },
  }
}

void t.test('servers have their nodes as Raft has them', async (t) => {
  const { becomes, catalog, say, state } = await dutyOf(t)
  say({ servers: [server('One', id1), server('two', id2)] })
  await becomes('two', 'passing')
  t.match(catalog.reader().get(catalogNodes, ['one']), { name: 'One', id: id1 })
  t.equal(state.entries, 1, 'both in one entry')

  state.failures = 1
  say({ servers: [server('one', id1), server('two', id2, 'failed')] })
  await becomes('two', 'critical')
  t.equal(state.entries, 2, 'tried again after it failed; what stands is not written again')
  t.same(catalog.losses(), [{ node: 'two', checkIds: ['gossiphealth'] }])

  await catalog.register({ node: node('two', { id: id2, meta: [['a', 'b']] }) })
  say({ servers: [server('one', id1), server('two', id2)] })
  await becomes('two', 'passing')
  t.match(catalog.reader().get(catalogNodes, ['two']), { meta: [['a', 'b']] }, 'its own word stays')
  say({ servers: [server('one', id1), server('two', id3)] })
  await eventually('the name has a new server', async () => {
    const found = catalog.reader().get(catalogNodes, ['two'])?.id
    return found === id3 ? true : undefined
  })

  // Whatever gossip says of a server that Raft has.
  say({
    agents: [agent('two', id3, 'left'), agent('one', id1, 'failed'), agent('one', id2, 'alive')],
  })
  await becomes('two', 'passing')
  t.equal(state.asked.length, 0)
  const { entries } = state
  say({ servers: [server('one', id1)] })
  await becomes('two', undefined)
  t.ok(state.entries > entries, 'a server that left, is no member and answers nobody')
})

void t.test('members of the pool that did not register have no node', async (t) => {
  const { becomes, catalog, pass, say, state } = await dutyOf(t)
  const made = Array.from({ length: 9_000 }, (_, at) => {
    const id = `${String(at).padStart(8, '0')}-0000-4000-8000-000000000000`
    return agent(`made-up-${at}`, id, at % 2 === 0 ? 'alive' : 'failed')
  })
  say({ servers: [server('one', id1)], agents: made })
  await becomes('one', 'passing')
  await pass(2_000)
  const nodes: unknown[] = []
  for await (const page of catalog.reader().pages(catalogNodes)) nodes.push(...page)
  t.equal(nodes.length, 1)
  t.same(state.asked, [])
})

void t.test('an agent that answers stays, whatever gossip says of it', async (t) => {
  const { catalog, find, pass, registers, say, state } = await dutyOf(t)
  await registers('web', id1, 1)
  const { entries } = state
  for (const status of ['suspected', 'failed', 'left'] as const) {
    say({ agents: [agent('web', id1, status)] })
    await pass(2 * silentMs)
    t.equal(find('web'), 'passing', status)
  }
  for (const agents of [
    [agent('web', id2, 'alive')],
    [agent('other', id1, 'alive')],
    [agent('other', id1, 'alive'), agent('web', id1, 'left')],
    [agent('web', id1, 'alive'), agent('web', id1, 'left')],
    [],
  ]) {
    say({ agents })
    await pass(silentMs + 20_000)
    t.equal(find('web'), 'passing')
  }
  t.equal(state.entries, entries, 'nothing was written')
  t.equal(catalog.reader().get(catalogNodes, ['other']), undefined)
  t.ok(
    state.asked.every((asked) => asked === `127.0.0.1:1 ${id1}`),
    'asked where it registered',
  )
})

void t.test('an agent that gossip doubts and that is silent has failed, or left', async (t) => {
  const { becomes, clock, find, pass, registers, say, state } = await dutyOf(t)
  await registers('web', id1, 1)
  say({ agents: [agent('web', id1, 'suspected')] })
  state.answering.clear()
  await pass(silentMs + 1_000)
  t.equal(find('web'), 'passing', 'gossip is not sure')
  say({ agents: [agent('web', id1, 'failed')] })
  const saidMs = clock.monotonicMs()
  await becomes('web', 'critical', 10)
  t.ok(clock.monotonicMs() - saidMs < silentMs, 'its silence was known')

  say({ agents: [agent('web', id1, 'alive')] })
  await pass(2_000)
  t.equal(find('web'), 'critical', 'gossip alone brings nobody back')
  state.answering.add(`127.0.0.1:1 ${id1}`)
  await becomes('web', 'passing')

  say({ agents: [agent('web', id1, 'left')] })
  state.answering.clear()
  await pass(silentMs - 1_000)
  t.equal(find('web'), 'passing', 'it may only be restarted')
  await becomes('web', undefined)
})

void t.test('a name that another agent has by now is free once its agent is silent', async (t) => {
  const { becomes, registers, say, state } = await dutyOf(t)
  await registers('web', id1, 1)
  state.answering.clear()
  say({ agents: [agent('web', id2, 'alive')] })
  await becomes('web', 'critical')
})

void t.test(
  'an agent of a program that does not register is asked where gossip has it',
  async (t) => {
    const { becomes, catalog, say, state } = await dutyOf(t)
    const checks = [membershipCheck('passing', 'Agent alive and reachable')]
    await catalog.register({ node: node('old', { id: id1 }), checks })
    say({ agents: [agent('old', id1, 'failed')] })
    await becomes('old', 'critical')
    t.same([...new Set(state.asked)], ['192.0.2.9:9 old.global'])
  },
)

void t.test(
  'a node that nobody knows is critical in time, and then goes, if it is silent',
  async (t) => {
    const { becomes, catalog, clock, find, registers, say, state } = await dutyOf(t)
    await registers('one', id1, 1)
    await registers('two', id2, 2)
    await catalog.register({ node: node('external', { id: id3 }) })
    await catalog.register({ node: node('other') })
    state.answering.delete(`127.0.0.1:1 ${id1}`)
    const beforeMs = clock.monotonicMs()
    say({ agents: [] })
    await becomes('one', 'critical', 500)
    t.ok(clock.monotonicMs() - beforeMs >= absentCriticalMs)
    await becomes('one', undefined, 2_000)
    t.ok(clock.monotonicMs() - beforeMs >= absentGoneMs)
    t.equal(find('two'), 'passing', 'it answers')
    t.ok(catalog.reader().get(catalogNodes, ['external']), 'nodes of no agent stay')
    t.ok(catalog.reader().get(catalogNodes, ['other']))
  },
)
