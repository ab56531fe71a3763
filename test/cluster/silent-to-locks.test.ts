/**
 * `muster lock` through a leader that stands still with its connections open: it takes requests and answers none. The holder
 * renews its session at another server in time, and who waits for the lock learns there that it is free.
 */
import t from 'tap'
import { startCluster } from '../support/cluster.ts'
import { isRunning, LockCommands } from '../support/lock-command.ts'

/** The shortest there is: a holder that is not heard again ends its command well before it is over. */
const ttlMs = 10_000
const times = ['-session-ttl', `${ttlMs}ms`, '-lock-delay', `${ttlMs}ms`] as const
/** A read that waits for a change would give up its server after 12.6 s; renewals notice after 1.6 s, twice each turn. */
const goesOnMsMax = 10_000

void t.test('a leader that stands still costs no lock', async (t) => {
  const cluster = await startCluster(t)
  const commands = await LockCommands.open(cluster)
  t.teardown(() => commands.stop())
  const leader = await cluster.waitForLeader()
  // Both ask the leader first, and no other server before it fails to answer.
  const addresses = [leader, ...cluster.all.filter((at) => at !== leader)].map(
    (at) => commands.addresses[at] ?? '',
  )
  const holder = await commands.run([...times, 'held'], { addresses })
  const begun = await commands.noted('it is held', 'held', ({ word }) => word === 'begin')
  const waiting = await commands.run([...times, 'held'], { addresses, lifeMs: 100 })

  cluster.pause(leader)
  t.teardown(() => cluster.resume(leader))
  const pausedMs = machineMs()
  await commands.noted(
    'the command writes under its lock for longer than a session lives without renewals',
    'held',
    ({ word, pid, atMs }) =>
      word === 'written' && pid === begun.pid && atMs > pausedMs + ttlMs * 1.5,
    { timeoutMs: ttlMs * 6 },
  )
  t.ok(await isRunning(begun.pid))
  t.notOk(
    (await commands.notes('held')).some(({ index }) => index !== begun.index),
    'nobody else held it',
  )

  holder.process.kill('SIGTERM')
  const { code, err } = await holder.ended
  t.equal(code, 0, err)
  const releasedMs = machineMs()
  const next = await commands.noted(
    'the next one holds it',
    'held',
    ({ word, index }) => word === 'begin' && index !== begun.index,
    { timeoutMs: goesOnMsMax },
  )
  t.comment(`${(next.atMs - releasedMs).toFixed(0)} ms after the release`)
  t.equal((await waiting.ended).code, 0)
})

/** As the children note it. */
function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
