/** The storm brake over a real state: when it goes on, what counts, and how it is released. */
import t, { type Test } from 'tap'
import { Heartbeats } from '../../../src/domains/nodes/heartbeats.ts'
import { settledWorkloadsVersion } from '../../../src/domains/evaluations/model.ts'
import { nodeById } from '../../../src/domains/nodes/queries.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import { typedPropose } from '../../../src/rpc/write.ts'
import { brakeOf } from '../../../src/domains/nodes/brake-queries.ts'
import type { BrakeRow } from '../../../src/domains/nodes/brake-model.ts'
import { eventually, eventuallyTrue } from '../../support/eventually.ts'
import { served, workloads, type Workloads } from '../allocations/workloads.ts'
import { FrameReader } from '../events/frames-of.ts'

const minute = 60_000
/** Of the first loss. */
const begin = 10_000_000

type Update = { readonly id: string; readonly status: 'ready' | 'down'; readonly left?: true }

class Fleet {
  readonly here: Workloads

  constructor(here: Workloads) {
    this.here = here
  }

  get brake(): BrakeRow {
    return this.here.read(brakeOf)
  }

  get isOn(): boolean {
    return this.brake.on !== null
  }

  async nodes(count: number): Promise<readonly string[]> {
    const ids: string[] = []
    for (let number = 1; number <= count; number += 1) ids.push(await this.here.node(number))
    return ids
  }

  tell(updates: readonly Update[], nowMs: number, following?: number) {
    const told = updates.map((update) => ({ ...update, cause: 'heartbeat' }))
    const more = following === undefined ? {} : { following }
    return this.here.apply('nodes.status', { updates: told, nowMs, ...more })
  }

  lose(ids: readonly string[], nowMs = begin, following?: number) {
    return this.tell(
      ids.map((id) => ({ id, status: 'down' })),
      nowMs,
      following,
    )
  }

  back(ids: readonly string[], nowMs = begin) {
    return this.tell(
      ids.map((id) => ({ id, status: 'ready' })),
      nowMs,
    )
  }
}

async function fleet(t: Test, count: number) {
  const here = new Fleet(await workloads(t))
  return { here, ids: await here.nodes(count) }
}

void t.test('it goes on above the share, one by one as at once, and not at it', async (t) => {
  const { here, ids } = await fleet(t, 20)
  for (const id of ids.slice(0, 6)) await here.lose([id])
  t.notOk(here.isOn, '6 of 20 are 30 %')
  t.equal(here.brake.createIndex, 0, 'nothing is written')
  await here.lose(ids.slice(6, 7), begin + minute)
  t.match(here.brake, {
    on: { sinceMs: begin + minute, untilMs: begin + 11 * minute, lost: 7, nodes: 20 },
    released: null,
    modifyIndex: here.here.machine.appliedIndex,
  })
  const more = await fleet(t, 20)
  await more.here.lose(more.ids.slice(0, 7))
  t.ok(more.here.isOn)
})

void t.test('few nodes are no storm, whatever their share', async (t) => {
  const { here, ids } = await fleet(t, 5)
  await here.lose(ids.slice(0, 4))
  t.notOk(here.isOn)
  await here.lose(ids.slice(4))
  t.match(here.brake.on, { lost: 5, nodes: 5 })
})

void t.test('what was lost before the window does not count', async (t) => {
  const { here, ids } = await fleet(t, 30)
  await here.lose(ids.slice(0, 9), begin)
  await here.lose(ids.slice(9, 15), begin + 10 * minute + 1)
  t.notOk(here.isOn, '6 of 21')
  await here.lose(ids.slice(15, 16), begin + 10 * minute + 1)
  t.match(here.brake.on, { lost: 7, nodes: 21 })
})

void t.test('nodes that were told to go do not count', async (t) => {
  const { here, ids } = await fleet(t, 20)
  const spec = { deadlineNs: 0, ignoreSystemJobs: false }
  const drain = { spec, markEligible: false, accessor: '', meta: [], nowMs: begin }
  for (const id of ids.slice(0, 2)) await here.here.apply('nodes.drain', { id, ...drain })
  const [emptied = ''] = ids
  await here.here.apply('nodes.drained', { nodes: [{ id: emptied }], nowMs: begin })
  const left = ids.slice(2, 4).map((id) => ({ id, status: 'down' as const, left: true as const }))
  await here.tell(left, begin)
  await here.lose(ids.slice(0, 2))
  for (const id of ids.slice(4, 6)) await here.here.apply('nodes.purge', { id, nowMs: begin })
  await here.lose(ids.slice(6, 10))
  t.notOk(here.isOn, '4 of 14')
  await here.lose(ids.slice(10, 11))
  t.match(here.brake.on, { lost: 5, nodes: 14 })
})

void t.test('a storm is seen in its first entry', async (t) => {
  const { here, ids } = await fleet(t, 20)
  await here.lose(ids.slice(0, 2), begin, 5)
  t.match(here.brake.on, { lost: 2, nodes: 20 })
  await here.lose(ids.slice(2, 7), begin, 0)
  t.ok(here.isOn)
})

void t.test('it is released once enough nodes are back, or were given up', async (t) => {
  const { here, ids } = await fleet(t, 20)
  await here.lose(ids.slice(0, 8))
  await here.back(ids.slice(0, 1), begin + 30 * minute)
  t.ok(here.isOn, '7 of 20, and the window does not move on')
  await here.back(ids.slice(1, 2), begin + 31 * minute)
  t.match(here.brake, {
    on: null,
    storm: 0,
    released: { timeMs: begin + 31 * minute, cause: 'returned', accessor: '' },
  })
  const other = await fleet(t, 20)
  await other.here.lose(other.ids.slice(0, 7))
  const [given = ''] = other.ids
  await other.here.here.apply('nodes.purge', { id: given, nowMs: begin })
  t.ok(other.here.isOn, '6 of 19')
  const [, next = ''] = other.ids
  await other.here.here.apply('nodes.purge', { id: next, nowMs: begin })
  t.match(other.here.brake.released, { cause: 'returned' }, '5 of 18')
})

void t.test('a node that comes and goes counts once', async (t) => {
  const { here, ids } = await fleet(t, 10)
  for (let turn = 0; turn < 10; turn += 1) {
    await here.lose(ids.slice(0, 2), begin + turn)
    await here.back(ids.slice(0, 2), begin + turn)
  }
  t.notOk(here.isOn)
})

void t.test('released, it counts anew, and is released for its own storm alone', async (t) => {
  const { here, ids } = await fleet(t, 20)
  const release = (storm: number | null, cause = 'operator') =>
    here.here.apply('nodes.releaseBrake', { storm, cause, accessor: 'me', nowMs: begin })
  t.match(await release(null), { changed: false })
  await here.lose(ids.slice(0, 7))
  t.match(await release(1, 'time'), { changed: false }, 'of a storm that is to come')
  t.match(await release(0, 'time'), { changed: true, row: { storm: 1, on: null } })
  t.match(here.brake.released, { cause: 'time', accessor: 'me' })
  await here.lose(ids.slice(7, 11))
  t.notOk(here.isOn, '4 of 13')
  await here.lose(ids.slice(11, 12))
  t.match(here.brake, { storm: 1, on: { lost: 5, nodes: 13 } })
  t.match(await release(0, 'time'), { changed: false }, 'of the storm before')
})

void t.test('settings: none at all, and how long it holds', async (t) => {
  const { here, ids } = await fleet(t, 20)
  const set = (settings: object, cas: number | null = null) =>
    here.here.apply('nodes.setBrake', { settings, cas, accessor: '', nowMs: begin })
  const base = { sharePercent: 30, nodesMin: 2, windowMs: minute, holdMs: 0 }
  t.match(await set(base, 7), { changed: false })
  t.match(await set(base, 0), { changed: true })
  await here.lose(ids.slice(0, 7))
  t.match(here.brake.on, { untilMs: null })
  await set({ ...base, holdMs: minute })
  t.match(here.brake.on, { untilMs: begin + minute })
  await set({ ...base, sharePercent: 0 })
  t.match(here.brake, { on: null, storm: 1, released: { cause: 'settings' } })
  await here.lose(ids.slice(7))
  t.notOk(here.isOn)
})

void t.test(
  'operators read it, set it and release it; the leader releases it in time',
  async (t) => {
    const { server, here } = await served(t)
    const one = new Fleet(here)
    const ids = await one.nodes(10)
    const path = '/v1/operator/scheduler/brake'
    const read = async () => (await server.ask('GET', path)).json() as Record<string, unknown>
    t.match(await read(), {
      On: false,
      Since: null,
      LostNodes: 0,
      Nodes: 10,
      HeldEvaluations: 0,
      SharePercent: 30,
      MinNodes: 5,
      Window: '10m0s',
      MaxHold: '10m0s',
      LastRelease: null,
      ModifyIndex: 0,
    })
    t.equal((await server.ask('PUT', path, { SharePercent: 101 })).status, 400)
    t.equal((await server.ask('PUT', path, { MinNodes: 0 })).status, 400)
    t.equal((await server.ask('PUT', path, { MinNodes: -1 })).status, 400)
    t.equal((await server.ask('PUT', path, { MaxHold: '-1s' })).status, 400)
    t.equal((await server.ask('PUT', path, { Window: '1ms' })).status, 400)
    t.equal((await server.ask('PUT', `${path}?cas=3`, { MinNodes: 2 })).json(), false)
    t.equal((await server.ask('PUT', `${path}?cas=0`, { MinNodes: 2 })).json(), true)
    const nowMs = Date.now()
    await one.lose(ids.slice(0, 4), nowMs)
    t.match(await read(), { On: true, LostNodes: 4, Nodes: 10, MinNodes: 2, SharePercent: 30 })
    t.same((await server.ask('DELETE', path)).json(), { Released: true })
    t.same((await server.ask('DELETE', path)).json(), { Released: false })
    t.match(await read(), { On: false, LostNodes: 0, LastRelease: { Cause: 'operator' } })

    await server.ask('PUT', path, { MinNodes: 2, MaxHold: '100ms' })
    await one.lose(ids.slice(4, 8), Date.now())
    const duty = server.startDuty('brake')
    t.teardown(() => duty.stop())
    const released = await eventually('it is released', async () => {
      const seen = await read()
      return seen['On'] === false ? seen : undefined
    })
    t.match(released, { LastRelease: { Cause: 'time' } })
    await server.ask('PUT', path, { MinNodes: 2, MaxHold: '100ms' })
    await one.lose(ids.slice(8), Date.now())
    await eventuallyTrue('also one that goes on while the leader looks', async () => {
      const { LastRelease, On } = await read()
      const { Time } = LastRelease as { readonly Time: string }
      return On === false && Time !== (released['LastRelease'] as { Time: string }).Time
    })
  },
)

void t.test('readers of events are told when it goes on and off', async (t) => {
  const { server, here } = await served(t)
  const one = new Fleet(here)
  const ids = await one.nodes(10)
  const { body } = await server.open('/v1/event/stream?topic=Operator&index=now')
  const frames = new FrameReader(t, body)
  await frames.nextOfAll()
  await one.lose(ids.slice(0, 5))
  const [on] = await frames.events()
  t.match(on, {
    Topic: 'Operator',
    Type: 'StormBrakeUpdated',
    Key: 'storm-brake',
    Payload: { StormBrake: { On: true, LostNodes: 5, Nodes: 10, LastRelease: null } },
  })
  await one.back(ids.slice(0, 2))
  const [off] = await frames.events()
  t.match(off?.Payload, { StormBrake: { On: false, LastRelease: { Cause: 'returned' } } })
})

/** The leader's look at heartbeats, with members and uplinks that are not there. */
function lookedAt(
  t: Test,
  { here }: Fleet,
  members: readonly { readonly id: string; readonly status: 'failed' | 'left' }[],
  windowMs: number | null = null,
) {
  const heartbeats = new Heartbeats()
  const duty = heartbeats.start({
    clock: systemClock,
    log: silentLogger,
    view: () => here.machine.view(),
    propose: typedPropose(async ({ type, args }) => {
      const outcome = await here.apply(type, args)
      return { index: here.machine.appliedIndex, outcome }
    }),
    work: { windowMs: async () => windowMs, isAwaited: async () => false },
    settings: { ttlMsMin: 60_000, perSecondMax: 50, graceMs: 60_000, failoverMs: 60_000 },
    applied: {
      onCommand: (command, listener) => here.machine.onCommand(command, listener),
      onReplaced: () => () => {},
      onApplied: () => () => {},
    },
    members: {
      servers: () => [],
      agents: () => members.map((one) => ({ ...one, name: one.id, endpoint: '', member: one.id })),
      answers: async () => null,
      onChange: () => () => {},
    },
    reach: async () => ({ answering: new Set(), stopped: new Set(), isUnsure: false }),
  })
  t.teardown(() => duty.stop())
}

void t.test(
  'agents that leave are no storm; a storm of any size is one from its first entry',
  async (t) => {
    const { here, ids } = await fleet(t, 10)
    lookedAt(
      t,
      here,
      ids.map((id) => ({ id, status: 'left' })),
    )
    await eventuallyTrue('all are down', () =>
      ids.every((id) => here.here.read((reader) => nodeById(reader, id))?.status === 'down'),
    )
    t.notOk(here.isOn)

    const many = await fleet(t, 900)
    lookedAt(
      t,
      many.here,
      many.ids.slice(0, 300).map((id) => ({ id, status: 'failed' })),
    )
    await eventuallyTrue('it is on', () => many.here.isOn)
    t.match(many.here.brake.on, { lost: 256, nodes: 900 }, 'an entry has 256 nodes')
  },
)

void t.test('nodes are disconnected only where every server knows that they can be', async (t) => {
  for (const [version, status] of [
    [settledWorkloadsVersion - 1, 'down'],
    [settledWorkloadsVersion, 'disconnected'],
  ] as const) {
    const here = new Fleet(await workloads(t, version))
    const [id = ''] = await here.nodes(1)
    lookedAt(t, here, [{ id, status: 'failed' }], minute)
    await eventuallyTrue(`it is ${status}`, () =>
      Promise.resolve(here.here.read((reader) => nodeById(reader, id))?.status === status),
    )
  }
})
