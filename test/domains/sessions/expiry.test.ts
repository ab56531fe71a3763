import { typedPropose } from '../../../src/rpc/write.ts'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { domains } from '../../../src/domains/registry.ts'
import { lockDelays } from '../../../src/domains/kv/table.ts'
import type { CreateSession } from '../../../src/domains/sessions/commands.ts'
import { SessionDeadlines, type AppliedSource } from '../../../src/domains/sessions/deadlines.ts'
import { startSessionDuties } from '../../../src/domains/sessions/duties.ts'
import { graceMs } from '../../../src/domains/sessions/expiry.ts'
import { batchMs, Renewals, type Renewed } from '../../../src/domains/sessions/renewals.ts'
import { sessions } from '../../../src/domains/sessions/table.ts'
import type { Command } from '../../../src/fsm/domain.ts'
import { openMachine } from '../../../src/fsm/machine.ts'
import { MusterError } from '../../../src/lib/errors.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import { decodeConfiguration } from '../../../src/raft/core/membership.ts'
import type { Proposed } from '../../../src/rpc/consensus.ts'
import { manualClock } from '../../support/manual-clock.ts'

const ttlMs = 10_000
const stepMs = 25

/** One server's part for sessions: the real state, and a log that commits when the test lets it. */
async function serverOf(t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'muster-expiry-'))
  const machine = await openMachine({
    folder,
    domains,
    decodeConfiguration,
    clock: systemClock,
    logger: silentLogger,
  })
  const clock = manualClock()
  const reads = { open: 0 }
  const view = () => {
    const opened = machine.view()
    reads.open += 1
    const close = opened.close.bind(opened)
    opened.close = () => {
      reads.open -= 1
      close()
    }
    return opened
  }
  const types: string[] = []
  let turn: Promise<unknown> = Promise.resolve()
  let held: Promise<void> | null = null
  const propose = (command: Command): Promise<Proposed> => {
    const data = machine.encodeCommand(command)
    types.push(command.type)
    const next = turn.then(async () => {
      if (held !== null) await held
      const index = machine.appliedIndex + 1
      const [outcome] = await machine.apply([{ index, term: 1, kind: 'command', data }])
      return { index, outcome }
    })
    turn = next.catch(() => {})
    return next
  }
  const onReplaced = new Set<() => void>()
  const applied: AppliedSource = {
    onCommand: (command, listener) => machine.onCommand(command, listener),
    onReplaced(listener) {
      onReplaced.add(listener)
      return () => onReplaced.delete(listener)
    },
    onApplied: (listener) => machine.onApplied(listener),
  }
  const makeDeadlines = () => new SessionDeadlines({ clock, view, applied })
  const makeLeader = () =>
    startSessionDuties({
      clock,
      log: silentLogger,
      view,
      propose: typedPropose(propose),
      deadlines: server.deadlines,
      renewals: server.renewals,
    })
  const server = {
    machine,
    view,
    clock,
    propose,
    /** Of each proposal, in order. */
    types,
    deadlines: makeDeadlines(),
    renewals: new Renewals(clock),
    leading: null as { stop(): Promise<void> } | null,
    /** What is proposed waits until the returned function is called. */
    holdLog(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>()
      held = promise
      return () => {
        held = null
        resolve()
      }
    },
    async lead() {
      await server.leading?.stop()
      server.leading = makeLeader()
      await settle()
    },
    /** As if the same state had come whole from elsewhere. */
    replaced: () => onReplaced.forEach((listener) => listener()),
    async restart() {
      await server.leading?.stop()
      server.deadlines.stop()
      server.deadlines = makeDeadlines()
      server.leading = null
    },
    async create(id: string, ttl = '10s'): Promise<void> {
      const args: CreateSession = {
        namespace: 'default',
        id,
        name: '',
        node: 'box',
        lockDelayNs: '5000000000',
        behavior: 'release',
        ttl,
        nodeChecks: [],
        serviceChecks: null,
        checks: null,
        token: null,
      }
      await propose({ type: 'sessions.create', args })
    },
    /** Resolves when it is acknowledged; the clock moves meanwhile. */
    async renew(id: string): Promise<Renewed> {
      const renewed = server.renewals.renew({ namespace: 'default', id })
      renewed.catch(() => {})
      await server.pass(batchMs)
      return renewed
    },
    alive: (id: string) => machine.reader().get(sessions, ['default', id]) !== undefined,
    async pass(ms: number): Promise<void> {
      for (let left = ms; left > 0; left -= stepMs) {
        clock.advance(Math.min(left, stepMs))
        await settle()
      }
    },
    /** How long it lives from now on; fails after `mostMs`. */
    async lifeOf(id: string, mostMs = 60_000): Promise<number> {
      const startMs = clock.monotonicMs()
      while (server.alive(id)) {
        if (clock.monotonicMs() - startMs > mostMs) throw new Error(`${id} does not end`)
        await server.pass(stepMs)
      }
      return clock.monotonicMs() - startMs
    },
  }
  /** Whatever can happen without time happens. */
  async function settle(): Promise<void> {
    // Reads of the store end when the disk says so, however long that takes.
    for (let round = 0; round < 6 || reads.open > 0; round += 1) {
      await setImmediate()
      if (held === null) await turn
    }
  }
  t.teardown(async () => {
    await server.leading?.stop()
    server.deadlines.stop()
    await machine.close()
    await rm(folder, { recursive: true, force: true })
  })
  await propose({
    type: 'catalog.register',
    args: {
      node: {
        name: 'box',
        id: null,
        address: '10.0.0.1',
        datacenter: 'dc1',
        taggedAddresses: [],
        meta: [],
      },
      skipNodeUpdate: false,
      service: null,
      checks: [],
      nowMs: 0,
    },
  })
  return server
}

function isHonest(t: Test, lifeMs: number, text: string): void {
  t.ok(lifeMs >= ttlMs && lifeMs <= ttlMs + 1_000, `${text}: ${lifeMs} ms`)
}

void t.test('a session lives for its time and less than a second more', async (t) => {
  const server = await serverOf(t)
  await server.lead()
  await server.create('a')
  await server.create('eternal', '')
  isHonest(t, await server.lifeOf('a'), 'never renewed')
  await server.create('b')
  await server.pass(7_000)
  t.match(await server.renew('b'), { row: { id: 'b' }, stretch: 1 })
  isHonest(t, await server.lifeOf('b'), 'from its renewal on')
  t.same((await server.renew('b')).row, null, 'what is gone can not be renewed')
  t.ok(server.alive('eternal'))
  t.equal((await server.renew('eternal')).row?.id, 'eternal')
})

void t.test('its end frees its locks, with their delay', async (t) => {
  const server = await serverOf(t)
  await server.lead()
  await server.create('a')
  const lock = { type: 'lock', namespace: 'default', key: 'k', session: 'a' }
  const nowMs = Math.floor(server.clock.wallMs())
  await server.propose({
    type: 'kv.write',
    args: { operations: [{ ...lock, value: Buffer.from('v'), flags: '0' }], fence: null, nowMs },
  })
  await server.lifeOf('a')
  const delay = server.machine.reader().get(lockDelays, ['default', 'k'])
  const wallMs = server.clock.wallMs()
  t.ok(delay !== undefined && delay.untilMs > wallMs + 4_800 && delay.untilMs <= wallMs + 5_000)
})

void t.test('many renewals share one entry, and those under way keep sessions alive', async (t) => {
  const server = await serverOf(t)
  await server.lead()
  const ids = Array.from({ length: 300 }, (_, n) => `s${n}`)
  for (const id of ids) await server.create(id)
  await server.pass(ttlMs - 1_000)
  const before = server.types.length
  const renewals = ids.map((id) => server.renewals.renew({ namespace: 'default', id }))
  await server.pass(batchMs)
  await Promise.all(renewals)
  t.same(server.types.slice(before), ['sessions.renew'])

  await server.pass(ttlMs - 200)
  const release = server.holdLog()
  const slow = ids.map((id) => server.renewals.renew({ namespace: 'default', id }))
  await server.pass(2_000)
  release()
  const renewed = await Promise.all(slow)
  t.ok(renewed.every(({ row }) => row !== null))
  t.ok(
    ids.every((id) => server.alive(id)),
    'acknowledged, so not ended',
  )
  t.notOk(server.types.includes('sessions.end'))
  isHonest(t, await server.lifeOf('s7'), 'from the acknowledgement on')
  await server.pass(1_000)
  t.notOk(ids.some((id) => server.alive(id)))
  t.ok(
    server.types.filter((type) => type === 'sessions.end').length <= 4,
    'and few entries end all',
  )
})

void t.test('a renewal that meets the end of its session is told so', async (t) => {
  const server = await serverOf(t)
  await server.lead()
  await server.create('a')
  await server.pass(ttlMs)
  const release = server.holdLog()
  while (!server.types.includes('sessions.end')) await server.pass(stepMs)
  const late = server.renewals.renew({ namespace: 'default', id: 'a' })
  await server.pass(batchMs)
  release()
  t.equal((await late).row, null)
  t.notOk(server.alive('a'))
})

void t.test('the next leader goes on where the last one stopped', async (t) => {
  const server = await serverOf(t)
  await server.lead()
  await server.create('a')
  await server.create('b')
  await server.pass(5_000)
  await server.renew('b')
  await server.pass(1_000)
  await server.leading?.stop()
  server.leading = null
  const refused = server.renewals.renew({ namespace: 'default', id: 'a' })
  await t.rejects(refused, { code: 'not_leader' }, 'who does not lead renews nothing')
  await server.pass(1_000)
  await server.lead()
  const restMs = ttlMs - 7_000 - batchMs
  const lifeMs = await server.lifeOf('a')
  t.ok(lifeMs >= restMs && lifeMs <= restMs + 1_000, `the rest of its time: ${lifeMs} ms`)
  const bMs = (await server.lifeOf('b')) + lifeMs
  t.ok(bMs >= ttlMs - 2_000 && bMs <= ttlMs - 1_000, `of the renewed one: ${bMs} ms`)
})

void t.test('a leader that comes late ends what is over, after who waited for it', async (t) => {
  const server = await serverOf(t)
  await server.create('over')
  await server.create('waiting')
  await server.pass(ttlMs + 3_000)
  t.ok(server.alive('over'), 'nobody leads')
  await server.lead()
  t.ok((await server.renew('waiting')).row)
  const lifeMs = await server.lifeOf('over')
  t.ok(lifeMs <= 1_000, `${lifeMs} ms`)
  t.ok(server.alive('waiting'))
})

void t.test('a server that knows nothing gives the whole time anew', async (t) => {
  const server = await serverOf(t)
  await server.lead()
  await server.create('a')
  await server.pass(9_000)
  await server.restart()
  await server.lead()
  isHonest(t, await server.lifeOf('a'), 'after a restart')
})

void t.test('what an archive or a snapshot brought has its whole time from then', async (t) => {
  const server = await serverOf(t)
  await server.create('a')
  await server.pass(9_000)
  server.replaced()
  await server.lead()
  isHonest(t, await server.lifeOf('a'), 'after another state took the place')
})

void t.test('a new leader waits for what it has not applied yet', async (t) => {
  const server = await serverOf(t)
  await server.create('a')
  await server.pass(ttlMs - 500)
  // Its predecessor acknowledged a renewal that is in the log, and not applied here.
  const release = server.holdLog()
  const args = { places: [{ namespace: 'default', id: 'a' }], stretch: 1 }
  const renewed = server.propose({ type: 'sessions.renew', args })
  await server.lead()
  await server.pass(3_000)
  release()
  await renewed
  t.ok(server.alive('a'))
  isHonest(t, await server.lifeOf('a'), 'from the renewal on')
})

void t.test('under load sessions live longer, and are told so', async (t) => {
  const server = await serverOf(t)
  await server.lead()
  const ids = Array.from({ length: 900 }, (_, n) => `s${n}`)
  for (const id of ids) await server.create(id)
  const renewAll = async () => {
    const renewals = ids.map((id) => server.renewals.renew({ namespace: 'default', id }))
    await server.pass(batchMs)
    return Promise.all(renewals)
  }
  for (let batch = 0; batch < 4; batch += 1) {
    t.equal((await renewAll())[0]?.stretch, 1, 'many at once are no load yet')
  }
  for (let batch = 0; batch < 8; batch += 1) await renewAll()
  t.equal((await renewAll())[0]?.stretch, 2)
  const lifeMs = await server.lifeOf('s0')
  t.ok(lifeMs >= 2 * ttlMs - batchMs && lifeMs <= 2 * ttlMs + 1_000, `${lifeMs} ms`)
})

void t.test(
  'a server that starts under load takes it that all lives were lengthened',
  async (t) => {
    const server = await serverOf(t)
    await server.create('a')
    await server.create('b')
    await server.restart()
    // It never saw the renewal of the other one.
    const args = { places: [{ namespace: 'default', id: 'b' }], stretch: 3 }
    await server.propose({ type: 'sessions.renew', args })
    await server.lead()
    const lifeMs = await server.lifeOf('a')
    t.ok(lifeMs >= 3 * ttlMs && lifeMs <= 3 * ttlMs + 1_000, `${lifeMs} ms`)
    await server.create('c')
    isHonest(t, await server.lifeOf('c'), 'what it saw itself')
  },
)

void t.test('what the log refuses is tried again', async (t) => {
  const server = await serverOf(t)
  let failures = 0
  const failing = (command: Command): Promise<Proposed> => {
    if (command.type !== 'sessions.end' || failures >= 2) return server.propose(command)
    failures += 1
    return Promise.reject(new MusterError('overloaded', 'full'))
  }
  server.leading = startSessionDuties({
    clock: server.clock,
    log: silentLogger,
    view: server.view,
    propose: typedPropose(failing),
    deadlines: server.deadlines,
    renewals: server.renewals,
  })
  await server.create('a')
  const lifeMs = await server.lifeOf('a')
  t.equal(failures, 2)
  t.ok(lifeMs >= ttlMs + graceMs, `${lifeMs} ms`)
})
