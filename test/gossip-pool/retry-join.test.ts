/** Finding the pool: patience, and what is said of it. */
import t from 'tap'
import type { MemberView } from '../../src/gossip/gossip.ts'
import { MusterError } from '../../src/lib/errors.ts'
import { silentLogger } from '../../src/lib/log.ts'
import { seededRandom } from '../../src/lib/random.ts'
import { pauseMsMax, RetryJoin } from '../../src/gossip-pool/retry-join.ts'

/** A search whose timers fire when the test says so. */
function search(options: { readonly joined: (attempt: number) => number }) {
  const timers: { readonly delayMs: number; readonly run: () => void }[] = []
  const asked: (readonly string[])[] = []
  const warnings: unknown[] = []
  let others = 0
  const retry = new RetryJoin({
    gossip: {
      name: 'me',
      members: () =>
        Array.from({ length: others }, () => ({ name: 'x', status: 'alive' }) as MemberView),
      async join(addresses) {
        asked.push(addresses)
        const joined = options.joined(asked.length)
        const error = new MusterError('unavailable', 'nobody there')
        return { joined, errors: joined > 0 ? [] : [{ address: 'a:1', error }] }
      },
    },
    addresses: ['a:1', 'b:1'],
    known: async () => ['b:1', 'c:1'],
    clock: {
      monotonicMs: () => 0,
      wallMs: () => 0,
      setTimer(delayMs, run) {
        timers.push({ delayMs, run })
        return { cancel() {} }
      },
    },
    random: seededRandom(1),
    logger: { ...silentLogger, warn: (_text, fields) => warnings.push(fields?.['reason']) },
  })
  return {
    retry,
    asked,
    warnings,
    setOthers: (count: number) => {
      others = count
    },
    /** Fires the timer that waits; returns how long it would have waited. */
    async fire(): Promise<number> {
      const timer = timers.shift()
      if (timer === undefined) throw new Error('nothing waits')
      timer.run()
      await retry.ended()
      return timer.delayMs
    },
  }
}

t.test('it tries on with longer pauses, and says a reason once', async (t) => {
  const tries = search({ joined: () => 0 })
  const { retry, asked, warnings } = tries
  retry.start()
  const pauses: number[] = []
  for (let attempt = 0; attempt < 20; attempt += 1) pauses.push(await tries.fire())
  t.equal(asked.length, 20)
  t.same(asked[0], ['a:1', 'b:1', 'c:1'], 'each address once')
  t.same(warnings, ['nobody there'])
  t.equal(pauses[0], 0)
  t.ok((pauses[1] ?? 0) < 400 && (pauses[1] ?? 0) > 150)
  t.ok(pauses.every((pause) => pause <= pauseMsMax * 1.25))
  t.ok((pauses[19] ?? 0) >= pauseMsMax * 0.75)
})

t.test('to have heard of somebody is not to be in the pool', async (t) => {
  const tries = search({ joined: (attempt) => (attempt > 1 ? 1 : 0) })
  const { retry, asked, setOthers } = tries
  retry.start()
  setOthers(1)
  await tries.fire()
  t.equal(asked.length, 1, 'it joins all the same')
  await tries.fire()
  t.equal(asked.length, 2, 'until it has joined')
  await tries.fire()
  t.equal(asked.length, 2)
  retry.stop()
})

t.test('in a pool it rests, and begins again when it is alone', async (t) => {
  const tries = search({ joined: (attempt) => (attempt > 1 ? 1 : 0) })
  const { retry, asked, setOthers } = tries
  retry.start()
  await tries.fire()
  await tries.fire()
  t.equal(asked.length, 2)
  setOthers(1)
  await tries.fire()
  t.equal(asked.length, 2, 'somebody is there')
  setOthers(0)
  await tries.fire()
  t.equal(asked.length, 3)
  retry.stop()
})
