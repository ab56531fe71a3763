/**
 * `muster lock` while its holder is paused, cut off and killed, and while leaders die. As its children note: no two live at a time,
 * but for one that stood still with everything around it, and what that one writes when it wakes is refused.
 */
import t from 'tap'
import { startCluster } from '../support/cluster.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'
import {
  childrenOf,
  isRunning,
  livesOf,
  LockCommands,
  mostAtOnce,
  type LockRun,
  type LockRunOptions,
} from '../support/lock-command.ts'
import { Network } from '../support/network.ts'

/** The shortest there are: a lost holder is followed after the TTL and the lock delay. */
const times = ['-session-ttl', '10s', '-lock-delay', '10s'] as const
const followed = { timeoutMs: 90_000 }

void t.test('one command at a time, whatever happens to its holder', async (t) => {
  const cluster = await startCluster(t)
  const commands = await LockCommands.open(cluster)
  t.teardown(() => commands.stop())
  const servers = cluster.servers.map(({ spec }) => `127.0.0.1:${spec.ports.http}`)
  // The first is nobody: proxies from there to each server are the holder's way to the cluster.
  const network = await Network.start(['127.0.0.1:1', ...servers], 1)
  t.teardown(() => network.stop())
  const throughProxies = servers.map((_, at) => `http://${network.addressFor(0, at + 1)}`)

  /** A holder, and others that wait for it. */
  const contend = async (prefix: string, first: LockRunOptions, waiting: number) => {
    const holder = await commands.run([...times, prefix], first)
    const begun = await commands.noted(`${prefix} is held`, prefix, ({ word }) => word === 'begin')
    const others: LockRun[] = []
    for (let at = 0; at < waiting; at += 1) {
      others.push(await commands.run(['-lock-delay', '60s', prefix]))
    }
    return { holder, begun, others }
  }
  const paused = await contend('paused', { env: { STUBBORN: 'yes' } }, 2)
  const cut = await contend('cut', { addresses: throughProxies }, 1)
  const still = await contend('still', {}, 1)
  const next = (prefix: string) =>
    commands.noted(
      `the next one holds ${prefix}`,
      prefix,
      ({ word, index }) => word === 'begin' && index === 2,
      followed,
    )

  await t.test('an election alone loses no lock', async (t) => {
    const leader = await cluster.waitForLeader()
    await cluster.kill(leader)
    await cluster.waitForLeader({ except: leader })
    const electedMs = machineMs()
    for (const { begun } of [paused, cut, still]) {
      const [prefix = ''] = begun.key.split('/')
      await commands.noted(
        `${prefix} is written to after the election`,
        prefix,
        ({ word, pid, atMs }) => word === 'written' && pid === begun.pid && atMs > electedMs,
      )
    }
    await cluster.restart(leader)
    await cluster.waitForLeader()
    for (const { begun } of [paused, cut, still]) {
      t.ok(await isRunning(begun.pid), `${begun.key} is still held`)
    }
  })

  // All at the same time: each takes a TTL and a lock delay.
  paused.holder.process.kill('SIGSTOP')
  await network.isolate(0)
  const asleep = [still.holder.pid, ...(await childrenOf(still.holder.pid))]
  for (const pid of asleep) process.kill(pid, 'SIGSTOP')

  // And meanwhile:
  await t.test('a semaphore of two has two holders and never three', async (t) => {
    const runs: LockRun[] = []
    for (let at = 0; at < 4; at += 1) {
      runs.push(await commands.run([...times, '-n', '2', 'places'], { lifeMs: 1_500 }))
    }
    const killed = await commands.noted('one is held', 'places', ({ word }) => word === 'begin')
    for (const { pid, process } of runs) {
      if ((await childrenOf(pid)).includes(killed.pid)) process.kill('SIGKILL')
    }
    await eventuallyTrue(
      'a killed owner takes its command with it',
      async () => !(await isRunning(killed.pid)),
    )
    const ends = await Promise.all(runs.map(({ ended }) => ended))
    t.equal(ends.filter(({ code }) => code === 0).length, 3, 'all others had their turn')
    const lives = livesOf(await commands.notes('places'))
    t.equal(lives.length, 4)
    t.ok(mostAtOnce(lives) <= 2)
  })

  await t.test('a paused holder: its command is dead before the next begins', async (t) => {
    const begun = await next('paused')
    t.notOk(await isRunning(paused.begun.pid), 'although it ignores SIGTERM')
    const notes = await commands.notes('paused')
    t.ok(
      notes.some(({ word, pid }) => word === 'term' && pid === paused.begun.pid),
      'it was told to end first',
    )
    t.equal(mostAtOnce(livesOf(notes)), 1)
    paused.holder.process.kill('SIGCONT')
    t.match(await paused.holder.ended, { code: 1, err: /the lock is lost: / })
    t.ok(await isRunning(begun.pid))
  })

  await t.test(
    'a holder that is cut off: its command is dead before the next begins',
    async (t) => {
      const begun = await next('cut')
      t.notOk(await isRunning(cut.begun.pid))
      t.equal(mostAtOnce(livesOf(await commands.notes('cut'))), 1)
      t.match(await cut.holder.ended, {
        code: 1,
        err: /the lock is lost: no renewal was acknowledged in time: /,
      })
      await network.heal()
      t.ok(await isRunning(begun.pid))
    },
  )

  await t.test('a command that stood still with its holder writes nothing more', async (t) => {
    const begun = await next('still')
    const sleeper = still.begun.pid
    // The worst order: the command has all the time until those wake that would end it.
    const wokeMs = machineMs()
    process.kill(sleeper, 'SIGCONT')
    await commands.noted(
      'the sleeper is refused',
      'still',
      ({ pid, atMs, word }) => pid === sleeper && atMs > wokeMs && word === 'refused',
    )
    for (const pid of asleep.toReversed()) process.kill(pid, 'SIGCONT')
    t.match(await still.holder.ended, { code: 1, err: /the lock is lost: / })
    t.notOk(await isRunning(sleeper))
    const written = (await commands.notes('still')).filter(
      ({ pid, atMs, word }) => pid === sleeper && atMs > wokeMs && word === 'written',
    )
    t.ok(written.length <= 1, 'but for the answer to what it had sent before it fell asleep')
    t.ok(await isRunning(begun.pid))
  })

  await t.test('a signal goes to the command, and the lock to the next at once', async (t) => {
    const held = await next('paused')
    for (const { pid, process, ended } of paused.others) {
      if (!(await childrenOf(pid)).includes(held.pid)) continue
      process.kill('SIGTERM')
      t.match(await ended, { code: 0 })
      break
    }
    // Sooner than after the minute that it would be held back.
    await commands.noted(
      'the third holds it',
      'paused',
      ({ word, index }) => word === 'begin' && index === 3,
    )
    const notes = await commands.notes('paused')
    t.ok(notes.some(({ word, pid }) => word === 'term' && pid === held.pid))
    t.equal(mostAtOnce(livesOf(notes)), 1)
  })

  await t.test('of a semaphore nothing is left once the last session has ended', async (t) => {
    const left = await eventually(
      'the session that was killed has ended',
      async () => {
        const reply = await cluster.http(0).request('GET', '/v1/kv/places/?keys')
        const keys = reply.status === 404 ? [] : (JSON.parse(reply.body.toString()) as string[])
        return keys.some((key) => key !== 'places/.lock') ? undefined : keys
      },
      followed,
    )
    t.ok(left.length <= 1, 'but for the list, while the killed one was on it')
  })
})

/** As the children note it. */
function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
