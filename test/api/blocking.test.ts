import t from 'tap'
import { readOptions } from '../../src/api/blocking.ts'
import { Search } from '../../src/api/search.ts'
import type { Random } from '../../src/lib/random.ts'
import { apiFake } from '../support/api-fake.ts'
import { eventuallyTrue } from '../support/eventually.ts'

const half: Random = { next: () => 0.5 }

function options(text: string, byPresence = false) {
  return readOptions(new Search(text), { waitMsMax: 300_000, byPresence, random: half })
}

t.test('index and wait of a request', async (t) => {
  const cases: readonly (readonly [string, number, number])[] = [
    ['', 0, 0],
    ['index=0&wait=10s', 0, 0],
    ['index=', 0, 0],
    ['wait=10s', 0, 0],
    ['index=7', 7, 300_000 * (1 + 1 / 32)],
    ['index=7&wait=', 7, 300_000 * (1 + 1 / 32)],
    ['index=7&wait=32s', 7, 33_000],
    ['index=7&wait=100us', 7, 0.103125],
    ['index=7&wait=0s', 7, 300_000 * (1 + 1 / 32)],
    ['index=7&wait=-5s', 7, 300_000 * (1 + 1 / 32)],
    ['index=7&wait=24h', 7, 300_000 * (1 + 1 / 32)],
    ['index=18446744073709551615&wait=1s', Number.MAX_SAFE_INTEGER, 1_031.25],
  ]
  for (const [text, minIndex, waitMs] of cases) {
    const read = options(text)
    t.equal(read.minIndex, minIndex, text)
    t.ok(Math.abs(read.waitMs - waitMs) < 1e-6, `${text}: ${read.waitMs}`)
  }
})

t.test('a bad index or wait is refused, also when the other is missing', async (t) => {
  for (const bad of ['-1', '1.5', 'x', '+1', ' 1', '1e3', '18446744073709551616', '0x1']) {
    t.throws(() => options(`index=${encodeURIComponent(bad)}`), { message: 'Invalid index' }, bad)
  }
  for (const bad of ['10', '10x', '1d', 'x', '1%20s', '1e3s']) {
    t.throws(() => options(`wait=${bad}`), { message: 'Invalid wait time' }, bad)
  }
})

t.test('consistency words', async (t) => {
  const cases: readonly (readonly [string, boolean, string])[] = [
    ['stale', false, 'stale'],
    ['stale=', false, 'stale'],
    ['stale=true', false, 'stale'],
    ['stale=false', false, 'default'],
    ['stale=false', true, 'stale'],
    ['consistent', false, 'consistent'],
    ['consistent=0', true, 'consistent'],
    ['leader', true, 'default'],
    ['max_stale=10s', true, 'stale'],
    ['max_stale=0s', true, 'default'],
    ['max_stale=0s&stale', true, 'stale'],
  ]
  for (const [text, byPresence, expected] of cases) {
    t.equal(options(text, byPresence).consistency, expected, text)
  }
  t.throws(() => options('stale&consistent'), { code: 'invalid_argument' })
  t.throws(() => options('max_stale=1s&consistent'), { code: 'invalid_argument' })
  t.throws(() => options('max_stale=10'), { code: 'invalid_argument' })
  t.throws(() => options('stale=maybe'), { code: 'invalid_argument' })
  t.equal(options('stale=false&consistent').consistency, 'consistent')
})

t.test('a blocking read over HTTP waits for its row', async (t) => {
  const fake = apiFake()
  fake.state.put('a', 1)
  const waiting = fake.http.app.inject('/v1/row/a?index=1&wait=60s')
  await eventuallyTrue('parked', () => fake.dispatcher.parkedCount === 1)
  fake.state.put('b', 1)
  fake.state.put('a', 2)
  const reply = await waiting
  t.equal(reply.headers['x-service-index'], '3')
  t.match(reply.json(), { value: 2 })
  const over = await fake.http.app.inject('/v1/row/a?index=3&wait=10ms')
  t.equal(over.statusCode, 200)
  t.equal(over.headers['x-service-index'], '3')
  t.match(over.json(), { value: 2 })
  const bad = await fake.http.app.inject('/v1/row/a?index=x')
  t.equal(bad.statusCode, 400)
  t.equal(bad.body, 'Invalid index')
  await fake.http.stop()
})

t.test('writes ignore index and wait', async (t) => {
  const fake = apiFake()
  const reply = await fake.http.app.inject({
    method: 'PUT',
    url: '/v1/row/a?index=x&wait=y',
    payload: '{"Value":1}',
  })
  t.equal(reply.statusCode, 200)
  await fake.http.stop()
})

t.test('without a leader reads are 500 with a text that says so, stale ones are not', async (t) => {
  const fake = apiFake({ dispatch: { limits: { noLeaderMs: 20 } } })
  fake.state.put('a', 1)
  fake.consensus.elect(null)
  const refused = await fake.http.app.inject('/v1/row/a')
  t.equal(refused.statusCode, 500)
  t.match(refused.body, /^no cluster leader/)
  const stale = await fake.http.app.inject('/v1/row/a?stale')
  t.equal(stale.statusCode, 200)
  t.equal(stale.headers['x-service-knownleader'], 'false')
  await fake.http.stop()
})

t.test('a stale read is answered from here only as far as max_stale allows', async (t) => {
  const fake = apiFake({ dispatch: { limits: { noLeaderMs: 20 } } })
  fake.state.put('a', 1)
  fake.consensus.elect(null)
  fake.consensus.contactMs = 3_000
  const status = async (query: string) =>
    (await fake.http.app.inject(`/v1/row/a?${query}`)).statusCode
  t.equal(await status('max_stale=3s'), 200)
  t.equal(await status('stale&max_stale=x'), 400)
  t.equal(await status('stale&max_stale=3s'), 200)
  t.equal(await status('max_stale=2999ms'), 500)
  t.equal(await status('stale&max_stale=1s'), 500)
  t.equal(await status('index=1&wait=10ms&max_stale=1s'), 500, 'after it waited')
  fake.consensus.elect(fake.consensus.self)
  fake.consensus.contactMs = 3_000
  const reply = await fake.http.app.inject('/v1/row/a?max_stale=1s')
  t.equal(reply.statusCode, 200)
  t.equal(reply.headers['x-service-lastcontact'], '0', 'not from its own copy')
  await fake.http.stop()
})
