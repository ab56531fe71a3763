/** Lock delays are judged by the leader's own monotonic clock, however wall clocks differ or are set. */
import t, { type Test } from 'tap'
import { isDelayOver, reapKeys } from '../../../src/domains/kv/commands.ts'
import { DelayClock, stepMs } from '../../../src/domains/kv/delay-clock.ts'
import { judgedDelaysVersion, type LockDelay } from '../../../src/domains/kv/model.ts'
import { lockDelays } from '../../../src/domains/kv/table.ts'
import { commandVersion } from '../../../src/fsm/codec.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { serverOfOne } from '../server-of-one.ts'

const hourMs = 3_600_000

function delays() {
  const clock = manualClock()
  let applied = (_index: number): void => {}
  let replaced = () => {}
  const judged = new DelayClock(clock, {
    onApplied: (listener) => {
      applied = listener
      return () => (applied = () => {})
    },
    onReplaced: (listener) => {
      replaced = listener
      return () => (replaced = () => {})
    },
  })
  /** `ofMs`: by how much the clock of who ended the session is ahead. */
  const delay = (index: number, delayMs: number, ofMs = 0): LockDelay => ({
    untilMs: clock.wallMs() + ofMs + delayMs,
    ended: { index, delayMs },
  })
  const apply = (index: number) => applied(index)
  return { clock, judged, delay, apply, replace: () => replaced() }
}

void t.test('a delay counts from when its entry was applied here', (t) => {
  const { clock, judged, delay, apply } = delays()
  for (const ofMs of [-7 * hourMs, 0, 7 * hourMs]) {
    const index = clock.monotonicMs() + 10
    apply(index - 5)
    clock.advance(1_000)
    apply(index)
    const one = delay(index, 2_000, ofMs)
    clock.advance(1_000)
    apply(index + 1)
    clock.advance(999)
    t.ok(judged.isHeldBack(one), `${ofMs}`)
    clock.advance(1)
    t.notOk(judged.isHeldBack(one), `${ofMs}`)
  }
  t.end()
})

void t.test('what is applied in a short time counts from the end of it', (t) => {
  const { clock, judged, delay, apply } = delays()
  for (let index = 1; index <= 10; index += 1) {
    apply(index)
    clock.advance(stepMs / 10)
  }
  clock.advance(1_000 - stepMs)
  t.ok(judged.isHeldBack(delay(1, 1_000)))
  clock.advance(stepMs - stepMs / 10)
  t.notOk(judged.isHeldBack(delay(1, 1_000)))
  t.end()
})

void t.test('what was there before counts from the first entry, or from a restore', (t) => {
  const { clock, judged, delay, apply, replace } = delays()
  const one = delay(50, 60_000, 7 * hourMs)
  t.ok(judged.isHeldBack(one))
  clock.advance(10_000)
  apply(100)
  clock.advance(59_999)
  t.ok(judged.isHeldBack(one))
  t.equal(judged.overIndex, 0)
  clock.advance(1)
  t.notOk(judged.isHeldBack(one))
  t.equal(judged.overIndex, 100)
  replace()
  t.ok(judged.isHeldBack(one))
  t.ok(judged.isHeldBack(delay(1_000_000, 1_000)), 'of an archive, ahead of this log')
  t.equal(judged.overIndex, 0)
  clock.advance(60_000)
  t.notOk(judged.isHeldBack(one))
  t.notOk(judged.isHeldBack(delay(1_000_000, 1_000)))
  t.end()
})

void t.test('what is long over is forgotten, and stays over', (t) => {
  const { clock, judged, delay, apply } = delays()
  for (let index = 1; index <= 100; index += 1) {
    apply(index)
    clock.advance(1_000)
  }
  t.notOk(judged.isHeldBack(delay(1, 60_000)))
  t.notOk(judged.isHeldBack(delay(40, 60_000)))
  t.ok(judged.isHeldBack(delay(42, 60_000)))
  t.equal(judged.overIndex, 41)
  judged.stop()
  apply(500)
  clock.advance(60_000)
  t.equal(judged.overIndex, 100)
  t.end()
})

void t.test('one that names no entry is over where it is longer than any', (t) => {
  const { clock, judged } = delays()
  const of = (ms: number) => ({ untilMs: clock.wallMs() + ms, ended: null })
  t.notOk(judged.isHeldBack(of(0)))
  t.ok(judged.isHeldBack(of(1)))
  t.ok(judged.isHeldBack(of(60_000)))
  t.notOk(judged.isHeldBack(of(60_001)))
  t.end()
})

void t.test('those that may still count here are not removed', (t) => {
  const row = { namespace: 'default', key: 'k', untilMs: 100, endIndex: 7, delayMs: 1 }
  const args = { tombstonesBeforeMs: 0, delaysBeforeMs: 200 }
  const at = (appliedIndex: number) => ({ appliedIndex }) as never
  t.ok(isDelayOver(at(10), args)(row))
  t.ok(isDelayOver(at(10), { ...args, delaysUpTo: 7 })(row))
  t.notOk(isDelayOver(at(10), { ...args, delaysUpTo: 6 })(row))
  t.ok(isDelayOver(at(6), { ...args, delaysUpTo: 1 })(row), 'of an archive')
  t.notOk(isDelayOver(at(10), { ...args, delaysBeforeMs: 100 })(row))
  t.end()
})

/** A server whose clocks are set by the test. */
async function world(t: Test, version = commandVersion) {
  const set = { wallMs: 0, passedMs: 0 }
  const clock = {
    ...systemClock,
    monotonicMs: () => systemClock.monotonicMs() + set.passedMs,
    wallMs: () => systemClock.wallMs() + set.wallMs + set.passedMs,
  }
  const server = await serverOfOne(t, { clock, requestClock: clock, commandVersion: version })
  await server.ask('PUT', '/v1/catalog/register', { Node: 'box', Address: '10.0.0.9' })
  const session = async (LockDelay: string) => {
    const body = { Node: 'box', NodeChecks: [], LockDelay }
    return ((await server.ask('PUT', '/v1/session/create', body)).json() as { ID: string }).ID
  }
  const acquire = async (id: string) =>
    (await server.ask('PUT', `/v1/kv/k?acquire=${id}`, 'v')).body
  /** A key whose holder ended now. */
  const release = async (LockDelay: string) => {
    const holder = await session(LockDelay)
    t.equal(await acquire(holder), 'true')
    await server.ask('PUT', `/v1/session/destroy/${holder}`)
    return session('1ms')
  }
  return { set, server, session, acquire, release }
}

void t.test('a wall clock that is set moves no delay', async (t) => {
  for (const byMs of [-7 * hourMs, -300_000, 300_000, 7 * hourMs]) {
    const { set, server, acquire, release } = await world(t)
    const next = await release('50s')
    set.wallMs = byMs
    t.equal(await acquire(next), 'false', `${byMs}`)
    const lock = { KV: { Verb: 'lock', Key: 'k', Session: next } }
    const node = { Node: { Verb: 'get', Node: { Node: 'box' } } }
    for (const operations of [[lock], [lock, node]]) {
      t.match((await server.ask('PUT', '/v1/txn', operations)).body, /lock delay/, `${byMs}`)
    }
    set.passedMs = 40_000
    t.equal(await acquire(next), 'false', `${byMs}`)
    set.passedMs = 50_200
    t.equal(await acquire(next), 'true', `${byMs}`)
    t.equal(server.machine.reader().get(lockDelays, ['default', 'k']), undefined)
  }
})

void t.test('an entry refuses what its proposer had not seen', async (t) => {
  const { server, release } = await world(t)
  const next = await release('1s')
  const row = server.machine.reader().get(lockDelays, ['default', 'k'])
  const endIndex = row?.endIndex ?? 0
  t.match(row, { delayMs: 1_000 })
  const lock = { type: 'lock', namespace: 'default', key: 'k', session: next, flags: '0' }
  const write = async (delaysSeen: number) => {
    const operations = [{ ...lock, value: Buffer.alloc(0) }]
    const args = { operations, fence: null, nowMs: 1, delaysSeen }
    return (await server.propose({ type: 'kv.write', args })).outcome
  }
  t.match(await write(endIndex - 1), {
    type: 'refused',
    refused: [{ refusal: { type: 'lockDelay' } }],
  })
  t.match(await write(endIndex), { type: 'done' })
})

void t.test('a transaction tells what else is wrong beside a delay', async (t) => {
  const { server, release } = await world(t)
  const next = await release('50s')
  const lock = { KV: { Verb: 'lock', Key: 'k', Session: next } }
  const missing = { KV: { Verb: 'get', Key: 'none' } }
  const node = { Node: { Verb: 'get', Node: { Node: 'nowhere' } } }
  for (const operations of [
    [lock, missing],
    [lock, node],
  ]) {
    const { status, body } = await server.ask('PUT', '/v1/txn', operations)
    t.equal(status, 409)
    const { Errors } = JSON.parse(body) as { Errors: { OpIndex: number; What: string }[] }
    t.match(Errors, [
      { OpIndex: 0, What: /lock delay/ },
      { OpIndex: 1, What: /does not exist|none|nowhere/ },
    ])
  }
})

void t.test('servers of older versions judge by the wall clock of the leader', async (t) => {
  const { set, server, acquire, release } = await world(t, judgedDelaysVersion - 1)
  const next = await release('50s')
  const row = server.machine.reader().get(lockDelays, ['default', 'k'])
  t.same(Object.keys(row ?? {}), ['namespace', 'key', 'untilMs'])
  set.wallMs = -hourMs
  set.passedMs = 50_200
  t.equal(await acquire(next), 'false')
  await server.propose({ type: 'state.raiseVersion', args: { version: judgedDelaysVersion } })
  t.equal(await acquire(next), 'true', 'none is longer than a minute')
})

void t.test('delays that are over are removed', async (t) => {
  const { server, release } = await world(t)
  await release('1s')
  const endIndex = server.machine.reader().get(lockDelays, ['default', 'k'])?.endIndex ?? 0
  const args = { tombstonesBeforeMs: 0, delaysBeforeMs: Date.now() + hourMs }
  const reap = async (delaysUpTo: number) =>
    (await server.propose({ type: reapKeys.type, args: { ...args, delaysUpTo } })).outcome
  t.same(await reap(endIndex - 1), { removed: 0 })
  t.same(await reap(endIndex), { removed: 1 })
})

void t.test('a lock delay holds back whoever asks, also the session that ended', async (t) => {
  const { server, session } = await world(t)
  const ended = await session('50s')
  t.equal((await server.ask('PUT', `/v1/kv/k?acquire=${ended}`)).body, 'true')
  await server.ask('PUT', `/v1/session/destroy/${ended}`)
  const again = await server.ask('PUT', `/v1/kv/k?acquire=${ended}`)
  t.same([again.status, again.body], [200, 'false'])
  t.equal((await server.ask('PUT', `/v1/kv/other?acquire=${ended}`)).status, 500)
})
