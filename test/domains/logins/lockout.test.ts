import t, { type Test } from 'tap'
import {
  FailedLogins,
  failuresPerSourceMax,
  lockingWindowMs,
  locksPerSourceMax,
  LoginSources,
  RefusalTimes,
  sourceWindowMs,
} from '../../../src/domains/logins/failures.ts'
import { locksMax } from '../../../src/domains/logins/lock-model.ts'
import { lockoutDefault } from '../../../src/domains/logins/model.ts'
import { lockRows } from '../../../src/domains/logins/table.ts'
import { systemClock, type Clock } from '../../../src/lib/clock.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { serverOfOne } from '../server-of-one.ts'
import { fakeLogin } from './fake-login.ts'

/** Of a directory that is slower than anything else here. */
const slowMs = 1_000_000

async function begun(t: Test, options: { readonly requestClock?: Clock } = {}) {
  const { domains, directory } = fakeLogin()
  const server = await serverOfOne(t, { domains, acl: { enabled: true }, ...options })
  const answer = await server.ask('PUT', '/v1/acl/bootstrap')
  const { SecretID: root } = answer.json() as { SecretID: string }
  const asRoot = (method: string, url: string, body?: unknown) =>
    server.ask(method, url, body, root)
  const logIn = async (name: string, password: string, path = 'ldap') =>
    (await server.ask('POST', `/v1/auth/${path}/login/${name}`, { password })).status
  const fail = async (name: string, times: number) => {
    for (let time = 0; time < times; time += 1) t.equal(await logIn(name, 'wrong'), 403)
  }
  const locks = async () => {
    const { data } = (await asRoot('GET', '/v1/sys/locked-users')).json() as {
      data: { total: number; locked: { alias: string; mount_accessor: string }[] }
    }
    return data.locked
  }
  return { server, asRoot, logIn, fail, locks, directory }
}

t.test('the fifth failure locks the name, at this mount alone', async (t) => {
  const { asRoot, logIn, fail, locks } = await begun(t)
  await asRoot('POST', '/v1/sys/auth/other', { type: 'ldap' })
  await fail('ada', 4)
  t.same(await locks(), [])
  t.equal(await logIn('ada', 'adaada'), 200, 'a login forgets the failures')
  await fail('ada', 5)
  t.equal(await logIn('ada', 'adaada'), 403)
  t.equal(await logIn('bob', 'bobbob'), 200)
  t.equal(await logIn('ada', 'adaada', 'other'), 200)
  t.match(await locks(), [
    { alias: 'ada', mount_path: 'auth/ldap/', mount_accessor: /^auth_ldap_/ },
  ])
})

t.test('a locked name is told what every refused one is', async (t) => {
  const { server, fail } = await begun(t)
  await fail('ada', 5)
  const locked = await server.ask('POST', '/v1/auth/ldap/login/ada', { password: 'adaada' })
  const wrong = await server.ask('POST', '/v1/auth/ldap/login/bob', { password: 'x' })
  t.same([locked.status, locked.json()], [wrong.status, wrong.json()])
})

t.test('a locked name is refused after as long as another one', async (t) => {
  let skewMs = 0
  const waits: number[] = []
  const requestClock: Clock = {
    ...systemClock,
    monotonicMs: () => systemClock.monotonicMs() + skewMs,
    setTimer: (ms, run) => {
      waits.push(ms)
      const isLong = ms >= slowMs && ms < 2 * slowMs
      return systemClock.setTimer(isLong ? 0 : ms, run)
    },
  }
  const { server, fail, directory } = await begun(t, { requestClock })
  const slow = Promise.withResolvers<void>()
  directory.answers = slow.promise
  const failing = Array.from({ length: 5 }, () =>
    server.ask('POST', '/v1/auth/ldap/login/ada', { password: 'wrong' }),
  )
  await eventuallyTrue('all are under way', () => directory.waiting === 5)
  skewMs = slowMs
  slow.resolve()
  await Promise.all(failing)
  waits.length = 0
  await fail('ada', 1)
  const waited = waits.filter((ms) => ms >= slowMs && ms < 2 * slowMs)
  t.equal(waited.length, 1, 'as long as the directory took, though it is not asked')

  const times = new RefusalTimes()
  t.ok(times.draw('m') > 0, 'where none was refused yet')
  for (let number = 1; number <= 100; number += 1) times.add('m', number)
  const drawn = Array.from({ length: 500 }, () => times.draw('m'))
  t.ok(
    drawn.every((ms) => ms > 36 && ms <= 100),
    'of the last 64',
  )
  t.ok(new Set(drawn).size > 20)
})

t.test('an operator unlocks a name, with the right to', async (t) => {
  const { server, asRoot, logIn, fail, locks } = await begun(t)
  await fail('a/b c', 5)
  const [lock] = await locks()
  t.equal(lock?.alias, 'a/b c')
  const url = `/v1/sys/locked-users/${lock?.mount_accessor}/unlock/a/b%20c`
  t.equal((await server.ask('POST', url, {})).status, 403)
  t.equal((await asRoot('POST', '/v1/sys/locked-users/none/unlock/ada', {})).status, 400)
  t.equal((await asRoot('POST', url, {})).status, 204)
  t.same(await locks(), [])
  t.equal(await logIn('a/b c', 'a/b ca/b c'), 200)
})

t.test('the audit log is told who is locked, by whom, and who unlocks', async (t) => {
  const { server, asRoot, fail, locks } = await begun(t)
  await fail('ada', 4)
  t.same(server.auditNotes, [])
  await fail('ada', 3)
  const locked = {
    type: 'lockout',
    accessor: null,
    remote: '127.0.0.1',
    requestId: /./,
    mount: 'ldap',
    name: 'ada',
    untilMs: Number,
  }
  t.match(server.auditNotes, [locked])
  t.equal(server.auditNotes.length, 1, 'failures of a locked name add no line')
  const [lock] = await locks()
  const url = `/v1/sys/locked-users/${lock?.mount_accessor}/unlock/ada`
  t.equal((await asRoot('POST', url, {})).status, 204)
  t.equal((await asRoot('POST', url, {})).status, 204)
  const self = (await asRoot('GET', '/v1/acl/token/self')).json() as { AccessorID: string }
  const unlocked = { ...locked, type: 'unlock', accessor: self.AccessorID, untilMs: null }
  t.match(server.auditNotes, [locked, unlocked])
  t.equal(server.auditNotes.length, 2, 'nor does one who was not locked')
})

t.test('a mount says when names are locked, and whether', async (t) => {
  const { asRoot, logIn, fail } = await begun(t)
  const tune = (config: object) =>
    asRoot('POST', '/v1/sys/auth/ldap/tune', { user_lockout_config: config })
  await tune({ lockout_threshold: 2 })
  await fail('ada', 2)
  t.equal(await logIn('ada', 'adaada'), 403)
  await tune({ lockout_disable: true })
  await fail('bob', 9)
  t.equal(await logIn('bob', 'bobbob'), 200)
  await tune({ lockout_disable: false, lockout_duration: 0 })
  await fail('eve', 2)
  t.equal(await logIn('eve', 'eveeve'), 200, 'a lock of no time ends at once')
})

t.test('locks go with their mount', async (t) => {
  const { server, asRoot, fail } = await begun(t)
  await fail('ada', 5)
  await asRoot('DELETE', '/v1/sys/auth/ldap')
  const rows = []
  for await (const page of server.machine.reader().pages(lockRows)) rows.push(...page)
  t.same(rows, [])
})

t.test('a name is unlocked in any spelling that its method takes for the same', async (t) => {
  const server = await serverOfOne(t)
  const configure = (body: object) => server.ask('POST', '/v1/auth/ldap/config', body)
  const lock = (name: string) => {
    const args = { mountId: 'first-ldap', name, nowMs: 1, untilMs: Date.now() + 60_000 }
    return server.propose({ type: 'logins.lock', args })
  }
  const unlock = (name: string) =>
    server.ask('POST', `/v1/sys/locked-users/auth_ldap_00000000/unlock/${name}`, {})
  const locked = (name: string) =>
    server.machine.reader().get(lockRows, ['first-ldap', name]) !== undefined
  t.equal((await configure({ userdn: 'dc=test' })).status, 204)
  await lock('erin')
  t.equal((await unlock('ERIN')).status, 204)
  t.notOk(locked('erin'))
  await configure({ case_sensitive_names: true })
  await lock('erin')
  await lock('Erin')
  await unlock('Erin')
  t.same([locked('erin'), locked('Erin')], [false, false], 'also one of an earlier version')
})

t.test('a login that began before its name was locked tells nothing of its password', async (t) => {
  const { directory, logIn, fail, server, asRoot, locks } = await begun(t)
  const slow = Promise.withResolvers<void>()
  directory.answers = slow.promise
  const guesses = ['wrong', 'adaada', 'also wrong'].map((password) =>
    server.ask('POST', '/v1/auth/ldap/login/ada', { password }),
  )
  await eventuallyTrue('all are under way', () => directory.waiting === 3)
  directory.answers = Promise.resolve()
  await fail('ada', 5)
  slow.resolve()
  const answers = await Promise.all(guesses)
  t.same(new Set(answers.map(({ status, body }) => `${status} ${body}`)).size, 1)
  t.equal(answers[0]?.status, 403)
  const [lock] = await locks()
  await asRoot('POST', `/v1/sys/locked-users/${lock?.mount_accessor}/unlock/ada`, {})
  t.equal(await logIn('ada', 'adaada'), 200)
})

t.test('one address locks some names, and waits instead of locking them all', async (t) => {
  const { asRoot, logIn, fail, locks } = await begun(t)
  await asRoot('POST', '/v1/sys/auth/ldap/tune', { user_lockout_config: { lockout_threshold: 1 } })
  for (let number = 0; number < locksPerSourceMax; number += 1) await fail(`name-${number}`, 1)
  t.equal((await locks()).length, locksPerSourceMax)
  t.equal(await logIn('ada', 'adaada'), 200, 'others log in from there')
  await fail('bob', 1)
  t.equal((await locks()).length, locksPerSourceMax, 'one more is not locked')
  t.equal(await logIn('bob', 'wrong'), 429, 'but the address waits')
  t.equal(await logIn('ada', 'adaada'), 429)

  const failed = new FailedLogins()
  for (let lock = 0; lock < locksPerSourceMax; lock += 1) t.ok(failed.mayLock('10.0.0.1', lock))
  t.notOk(failed.mayLock('10.0.0.1', lockingWindowMs - 1))
  t.ok(failed.mayLock('10.0.0.2', lockingWindowMs - 1))
  t.ok(failed.mayLock('10.0.0.1', lockingWindowMs))
})

t.test('made-up names fill neither memory nor state', async (t) => {
  const { server, fail } = await begun(t)
  for (let number = 0; number < 50; number += 1) await fail(`nobody-${number}`, 1)
  let rows = 0
  for await (const page of server.machine.reader().pages(lockRows)) rows += page.length
  t.equal(rows, 0, 'nothing is written before a name is locked')

  const lock = (name: string, nowMs: number, untilMs: number) =>
    server.propose({ type: 'logins.lock', args: { mountId: 'first-ldap', name, nowMs, untilMs } })
  await lock('over', 1, 2)
  await lock('later', 3, 9)
  t.equal(server.machine.reader().get(lockRows, ['first-ldap', 'over']), undefined)
  for (let number = 1; number < locksMax; number += 1) await lock(`n${number}`, 3, 10)
  await lock('one more', 3, 10)
  t.equal(server.machine.reader().get(lockRows, ['first-ldap', 'later']), undefined)
  t.not(server.machine.reader().get(lockRows, ['first-ldap', 'one more']), undefined)
})

t.test('failures that lie further back do not count', (t) => {
  const failed = new FailedLogins()
  const fail = (ms: number) => failed.fail('m', 'ada', { ...lockoutDefault, threshold: 2 }, ms)
  t.equal(fail(0), false)
  t.equal(fail(lockoutDefault.counterResetMs), false)
  t.equal(fail(lockoutDefault.counterResetMs + 1), true)
  t.equal(fail(lockoutDefault.counterResetMs + 2), false, 'counted anew')
  failed.forget('m', 'ada')
  t.equal(fail(lockoutDefault.counterResetMs + 3), false)
  t.end()
})

t.test('an address that fails too often waits for the end of its minute', (t) => {
  const sources = new LoginSources()
  for (let time = 1; time < failuresPerSourceMax; time += 1) sources.fail('10.0.0.1', 0)
  t.equal(sources.waitMs('10.0.0.1', 1_000), 0)
  sources.fail('10.0.0.1', 1_000)
  t.equal(sources.waitMs('10.0.0.1', 1_000), sourceWindowMs - 1_000)
  t.equal(sources.waitMs('10.0.0.2', 1_000), 0)
  t.equal(sources.waitMs('10.0.0.1', sourceWindowMs), 0)
  sources.fail('10.0.0.1', sourceWindowMs)
  t.equal(sources.waitMs('10.0.0.1', sourceWindowMs), 0)
  t.end()
})
