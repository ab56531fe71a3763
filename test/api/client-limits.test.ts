/** Rate and concurrency of one client, by a clock that the test moves. */
import t from 'tap'
import { addressOf, clientOf } from '../../src/lib/client-address.ts'
import { ClientLimits, noClientLimits } from '../../src/api/client-limits.ts'
import { HttpRefusal } from '../../src/api/errors.ts'
import { seededRandom } from '../../src/lib/random.ts'

/** The seconds to wait; null: it may go on. */
function ask(limits: ClientLimits, client: string, nowMs: number): number | null {
  try {
    limits.enter(client, nowMs)
    return null
  } catch (error) {
    if (!(error instanceof HttpRefusal)) throw error
    return error.retryAfterSeconds
  }
}

t.test('a client is its IPv4 address, or the /64 of its IPv6 address', async (t) => {
  const cases = [
    ['10.0.0.7', '10.0.0.7'],
    ['::ffff:10.0.0.7', '10.0.0.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['2001:db8::6', '2001:db8:0:0::/64'],
    ['2001:0DB8:0001:0002::a', '2001:db8:1:2::/64'],
    ['::1', '0:0:0:0::/64'],
    ['64:ff9b::10.0.0.7', '64:ff9b:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['1::2:3:4:5:6:7', '1:0:2:3::/64'],
    ['not an address', 'not an address'],
  ] as const
  for (const [address, client] of cases) t.equal(clientOf(addressOf(address)), client, address)
  t.equal(addressOf(undefined), '127.0.0.1')
})

t.test('after a rest a burst may come, then so many a second', async (t) => {
  const limits = new ClientLimits({ ratePerSecond: 10, burst: 3, concurrency: 0 })
  for (let at = 0; at < 3; at += 1) t.equal(ask(limits, 'a', 0), null, `request ${at}`)
  t.equal(ask(limits, 'a', 0), 1, 'the bucket is empty')
  t.equal(ask(limits, 'b', 0), null, 'another client has its own')
  t.equal(ask(limits, 'a', 99), 1, 'less than a token')
  t.equal(ask(limits, 'a', 100.1), null, 'one token')
  t.equal(ask(limits, 'a', 101), 1)
  t.equal(ask(limits, 'a', 10_000), null)
  for (let at = 0; at < 2; at += 1) t.equal(ask(limits, 'a', 10_000), null)
  t.equal(ask(limits, 'a', 10_000), 1, 'no more than the burst is saved up')
  t.same(limits.refused, { rate: 4, concurrency: 0 })
})

t.test('Retry-After is when there is a token again', async (t) => {
  const limits = new ClientLimits({ ratePerSecond: 1, burst: 1, concurrency: 0 })
  limits.enter('a', 0)
  t.equal(ask(limits, 'a', 0), 1)
  t.equal(ask(limits, 'a', 1_000), null)
})

t.test('a refusal names the limit and its value in one line', async (t) => {
  const rate = new ClientLimits({ ratePerSecond: 5, burst: 1, concurrency: 0 })
  rate.enter('10.0.0.7', 0)
  t.throws(() => rate.enter('10.0.0.7', 0), {
    status: 429,
    message:
      /^too many requests of 10\.0\.0\.7: limits\.http_rate_per_client is 5 a second, [^\n]+$/,
  })
  const concurrency = new ClientLimits({ ratePerSecond: 0, burst: 0, concurrency: 1 })
  concurrency.enter('10.0.0.7', 0)
  t.throws(() => concurrency.enter('10.0.0.7', 0), {
    status: 429,
    message: /limits\.http_concurrency_per_client is 1$/,
  })
})

t.test('what is under way is counted for each client, until it ends', async (t) => {
  const limits = new ClientLimits({ ratePerSecond: 0, burst: 0, concurrency: 2 })
  const first = limits.enter('a', 0)
  t.ok(limits.enter('a', 0))
  t.equal(ask(limits, 'a', 0), 1)
  t.ok(limits.enter('b', 0))
  if (first !== null) limits.leave(first)
  t.ok(limits.enter('a', 0))
  t.equal(ask(limits, 'a', 0), 1)
})

t.test('switched off they count nothing, and they change while requests run', async (t) => {
  const limits = new ClientLimits(noClientLimits)
  t.equal(limits.enabled, false)
  limits.configure({ ratePerSecond: 1, burst: 1, concurrency: 1 })
  t.equal(limits.enabled, true)
  const under = limits.enter('a', 0)
  limits.configure(noClientLimits)
  t.equal(limits.enabled, false)
  t.equal(limits.entryCount, 0)
  if (under !== null) limits.leave(under)
  limits.configure({ ratePerSecond: 100, burst: 50, concurrency: 0 })
  t.equal(limits.enter('a', 0), null, 'nothing to leave')
  limits.configure({ ratePerSecond: 1, burst: 1, concurrency: 0 })
  t.equal(ask(limits, 'a', 0), null, 'what was saved is cut to the new burst')
  t.equal(ask(limits, 'a', 0), 1)
})

t.test('the table is bounded: who was not seen while many others were is forgotten', async (t) => {
  const limits = new ClientLimits({ ratePerSecond: 1, burst: 1, concurrency: 0 }, { clientsMax: 8 })
  t.equal(ask(limits, 'idle', 0), null)
  t.equal(ask(limits, 'steady', 0), null)
  for (let at = 0; at < 100; at += 1) {
    t.equal(ask(limits, `other ${at}`, at), null)
    t.ok(limits.entryCount <= 8, `${limits.entryCount} entries`)
    if (at < 10) t.equal(ask(limits, 'steady', 1), 1, 'who is seen is known')
  }
  t.equal(ask(limits, 'idle', 100), null, 'it begins anew')
})

t.test('who has a request under way is not forgotten', async (t) => {
  const limits = new ClientLimits({ ratePerSecond: 0, burst: 0, concurrency: 1 }, { clientsMax: 8 })
  const long = limits.enter('long', 0)
  for (let at = 0; at < 200; at += 1) {
    const other = limits.enter(`other ${at}`, at)
    if (other !== null) limits.leave(other)
    t.ok(limits.entryCount <= 10)
  }
  t.equal(ask(limits, 'long', 200), 1)
  if (long !== null) limits.leave(long)
  t.equal(ask(limits, 'long', 200), null)
})

t.test('in any time no client gets more than its burst and what flowed in', async (t) => {
  const seed = 20_261
  t.comment(`seed ${seed}`)
  const random = seededRandom(seed)
  for (let round = 0; round < 50; round += 1) {
    const ratePerSecond = 1 + Math.floor(random.next() * 50)
    const burst = 1 + Math.floor(random.next() * 20)
    const limits = new ClientLimits({ ratePerSecond, burst, concurrency: 0 })
    let nowMs = 0
    let granted = 0
    for (let at = 0; at < 400; at += 1) {
      nowMs += random.next() < 0.7 ? 0 : random.next() * 200
      if (ask(limits, 'a', nowMs) === null) granted += 1
      const most = burst + (nowMs * ratePerSecond) / 1_000
      if (granted > most + 1e-6) t.fail(`${granted} of ${most} after ${nowMs} ms`)
    }
  }
  t.pass()
})
