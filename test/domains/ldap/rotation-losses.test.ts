/**
 * Replacing the password of the service account, with the leader lost at each step: whatever the directory has is kept by the cluster
 * at any time, and the next leader brings the rotation to its end.
 */
import t, { type Test } from 'tap'
import { Directory } from '../../../src/domains/ldap/directory.ts'
import { settingsOf } from '../../../src/domains/ldap/directories.ts'
import { configOf } from '../../../src/domains/ldap/queries.ts'
import { rotatePassword, type RotationContext } from '../../../src/domains/ldap/rotation.ts'
import { isDue } from '../../../src/domains/ldap/rotation-duty.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { MusterError } from '../../../src/lib/errors.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import { typedPropose } from '../../../src/rpc/write.ts'
import { result, startFakeDirectory, tag, type Asked } from '../../support/fake-directory.ts'
import { serverOfOne } from '../server-of-one.ts'
import { budgetOf, failureOf } from './directory-settings.ts'

const mountId = 'first-ldap'
const firstPassword = 'the-first-password'
const invalidCredentials = 49
const modify = { asked: 0x66, answered: 0x67 }

/** What is lost with the leader: everything from here on. */
type Loss =
  /** Before the entry of this command is in the log, or after it was applied and before its leader knows. */
  | { readonly command: string; readonly applied: boolean }
  /** Of the directory: before the request takes effect there, or after it and before the answer arrives. */
  | { readonly request: 'connect' | 'bind' | 'search' | 'modify'; readonly applied: boolean }

/** It has one account, whose password may be changed by who is bound as the account. */
async function directoryOfOne(t: Test) {
  const directory = { password: firstPassword, changes: 0, loses: null as Loss | null }
  const isLost = (request: string, applied: boolean): boolean =>
    directory.loses !== null &&
    'request' in directory.loses &&
    directory.loses.request === request &&
    directory.loses.applied === applied
  const serve = ({ id, tag: kind, message, socket }: Asked): void => {
    const answered = (request: 'bind' | 'search' | 'modify', run: () => Buffer): void => {
      if (isLost(request, false)) return void socket.destroy()
      const answer = run()
      if (isLost(request, true)) socket.destroy()
      else socket.write(answer)
    }
    if (kind === tag.bind) {
      answered('bind', () => {
        const isRight = message.includes(directory.password)
        return result(id, tag.bound, isRight ? 0 : invalidCredentials)
      })
    } else if (kind === tag.search) answered('search', () => result(id, tag.done))
    else if (kind === modify.asked) {
      answered('modify', () => {
        // The one value of the one change stands at the end.
        directory.password = message.subarray(-40).toString()
        directory.changes += 1
        return result(id, modify.answered)
      })
    } else socket.destroy()
  }
  const { url } = await startFakeDirectory(t, serve, (socket) => {
    if (isLost('connect', false)) socket.destroy()
  })
  return { directory, url }
}

async function begun(t: Test) {
  const { directory, url } = await directoryOfOne(t)
  const server = await serverOfOne(t)
  const written = await server.ask('POST', '/v1/auth/ldap/config', {
    url,
    binddn: 'cn=service,dc=test',
    bindpass: firstPassword,
  })
  t.equal(written.status, 204, written.body)
  const commands: string[] = []
  const leader = (loss: Loss | null): RotationContext => {
    let isGone = false
    directory.loses = loss
    return {
      clock: systemClock,
      log: silentLogger,
      signal: new AbortController().signal,
      service: (key) => server.services.get(key),
      read: () => server.machine.reader(),
      propose: typedPropose(async (command) => {
        const { type } = command
        const isLost = loss !== null && 'command' in loss && loss.command === type
        const lostAtDirectory = loss !== null && 'request' in loss && type === 'ldap.endRotation'
        if (isGone || lostAtDirectory || (isLost && !loss.applied)) {
          isGone = true
          throw new MusterError('no_leader', 'the leader is gone')
        }
        commands.push(type)
        const proposed = await server.propose(command)
        if (!isLost) return proposed
        isGone = true
        throw new MusterError('outcome_unknown', 'the leader is gone')
      }),
    }
  }
  const rowNow = () => {
    const row = configOf(server.machine.reader(), mountId)
    if (row === null) throw new Error('there is no configuration')
    return row
  }
  const settingsNow = () => settingsOf(leader(null), rowNow())
  return { directory, leader, rowNow, settingsNow, commands }
}

const losses: readonly (readonly [
  when: string,
  loss: Loss,
  ends: 'begun' | 'not begun' | 'ended',
])[] = [
  ['before it is begun', { command: 'ldap.beginRotation', applied: false }, 'not begun'],
  ['as it is begun', { command: 'ldap.beginRotation', applied: true }, 'begun'],
  ['before the directory is reached', { request: 'connect', applied: false }, 'begun'],
  ['before the old password is tried', { request: 'bind', applied: false }, 'begun'],
  ['after the old password was tried', { request: 'bind', applied: true }, 'begun'],
  ['before the directory says what it is', { request: 'search', applied: true }, 'begun'],
  ['before the directory takes the new one', { request: 'modify', applied: false }, 'begun'],
  ['after the directory took it', { request: 'modify', applied: true }, 'begun'],
  ['before the end is in the log', { command: 'ldap.endRotation', applied: false }, 'begun'],
  ['as it ends', { command: 'ldap.endRotation', applied: true }, 'ended'],
]

for (const [when, loss, ends] of losses) {
  t.test(`the leader is lost ${when}`, async (t) => {
    const { directory, leader, rowNow, settingsNow } = await begun(t)
    await t.rejects(rotatePassword(leader(loss), mountId))
    t.equal(rowNow().pendingRotation !== null, ends === 'begun')
    t.equal(isDue(rowNow(), Date.now()), ends === 'begun', 'the next leader goes on with it')
    t.ok(settingsNow().bindpasses.includes(directory.password), 'what the directory has is kept')

    directory.loses = null
    const searcher = new Directory(settingsNow(), systemClock)
    t.teardown(() => searcher.close())
    t.equal(
      await failureOf(searcher.search('service', budgetOf(20_000), async () => null)),
      null,
      'meanwhile logins search as the service account',
    )

    await rotatePassword(leader(null), mountId)
    t.equal(rowNow().pendingRotation, null)
    t.same(settingsNow().bindpasses, [directory.password], 'one password is left, the right one')
    t.not(directory.password, firstPassword)
  })
}

t.test('leaders that are lost one after the other ask for the same password', async (t) => {
  const { directory, leader, rowNow, settingsNow, commands } = await begun(t)
  for (const [, loss, ends] of losses) {
    if (ends !== 'begun') continue
    await t.rejects(rotatePassword(leader(loss), mountId))
    t.ok(settingsNow().bindpasses.includes(directory.password))
  }
  t.not(rowNow().pendingRotation, null)
  t.same(
    commands.filter((type) => type === 'ldap.beginRotation'),
    ['ldap.beginRotation'],
  )
  await rotatePassword(leader(null), mountId)
  t.same(settingsNow().bindpasses, [directory.password])
})
