/** Replacing the password of the service account: by hand, by the clock, and when the directory's answer is lost. */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { Directory } from '../../../src/domains/ldap/directory.ts'
import { envelopeOf } from '../../../src/domains/ldap/messages.ts'
import {
  defaultConfig,
  type ConfigRow,
  type DirectoryConfig,
} from '../../../src/domains/ldap/model.ts'
import { isDue } from '../../../src/domains/ldap/rotation-duty.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import {
  person,
  serviceDn,
  servicePassword,
  slapdIsThere,
  startSlapd,
} from '../../support/slapd.ts'
import { serverOfOne } from '../server-of-one.ts'
import { budgetOf, failureOf, settingsWith } from './directory-settings.ts'

const ldif = person({ uid: 'ada', password: 'ada-password' })

/**
 * Between server and directory: loses answers to changes while it is told to, and ends the connection instead; `held.next` keeps
 * back what the next connection asks until `held.release()`.
 */
async function losingProxy(t: Test, url: string) {
  const lost = { answers: 0, loses: false }
  const held: { next: boolean; release: (() => void) | null } = { next: false, release: null }
  const server = createServer((client) => {
    const directory = connect(Number(new URL(url).port), '127.0.0.1')
    for (const socket of [client, directory]) socket.on('error', () => undefined)
    if (held.next) {
      held.next = false
      client.pause()
      held.release = () => client.resume()
    }
    client.on('data', (bytes) => directory.write(bytes))
    directory.on('data', (bytes: Buffer) => {
      if (lost.loses && envelopeOf(bytes)?.tag === 0x67) {
        lost.answers += 1
        client.destroy()
      } else client.write(bytes)
    })
    client.on('close', () => directory.destroy())
    directory.on('close', () => client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { lost, held, url: `ldap://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

function bindsWith(t: Test, url: string, password: string): Promise<unknown> {
  const directory = new Directory(
    settingsWith({ url, binddn: serviceDn, bindpasses: [password] }),
    systemClock,
  )
  t.teardown(() => directory.close())
  return failureOf(directory.search('service', budgetOf(20_000), async () => null))
}

t.test('rotation', { skip: !slapdIsThere(t) && 'no slapd' }, async (t) => {
  const begun = async (t: Test, more: Record<string, unknown> = {}) => {
    const slapd = await startSlapd(t, { ldif })
    const { lost, held, url } = await losingProxy(t, slapd.url)
    const server = await serverOfOne(t)
    const write = (body: Record<string, unknown>) =>
      server.ask('POST', '/v1/auth/ldap/config', body)
    const written = await write({
      url,
      userdn: 'ou=people,dc=test',
      userattr: 'uid',
      binddn: serviceDn,
      bindpass: servicePassword,
      use_token_groups: false,
      ...more,
    })
    t.equal(written.status, 204, written.body)
    const logIn = async () =>
      (await server.ask('POST', '/v1/auth/ldap/login/ada', { password: 'ada-password' })).status
    const rotate = async () => (await server.ask('POST', '/v1/auth/ldap/config/rotate-root')).status
    return { slapd, lost, held, server, write, logIn, rotate }
  }

  await t.test('by hand: the new password alone is right, and logins go on', async (t) => {
    const { slapd, logIn, rotate } = await begun(t)
    t.equal(await logIn(), 200)
    t.equal(await bindsWith(t, slapd.url, servicePassword), null)
    t.equal(await rotate(), 204)
    t.match(await bindsWith(t, slapd.url, servicePassword), { resultCode: 49 })
    t.equal(await logIn(), 200)
    t.equal(await rotate(), 204)
    t.equal(await logIn(), 200)
  })

  await t.test('a login that began with the old password gets in with the new one', async (t) => {
    const { held, logIn, rotate } = await begun(t)
    held.next = true
    const login = logIn()
    await eventuallyTrue('it asks the directory', () => held.release !== null)
    t.equal(await rotate(), 204)
    held.release?.()
    t.equal(await login, 200)
  })

  await t.test(
    'a lost answer locks nobody out, and the rotation is brought to its end',
    async (t) => {
      const { slapd, lost, logIn, rotate, write } = await begun(t)
      lost.loses = true
      t.equal(await rotate(), 500)
      t.equal(lost.answers >= 1, true)
      t.match(await bindsWith(t, slapd.url, servicePassword), { resultCode: 49 })
      t.equal(await logIn(), 200)
      t.equal(
        (await write({ bindpass: servicePassword })).status,
        204,
        'the same again changes nothing',
      )
      t.equal(await logIn(), 200)
      lost.loses = false
      await eventuallyTrue('it is not under way any more', async () => (await rotate()) === 204)
      t.equal(await logIn(), 200)
    },
  )

  await t.test('a refusal leaves the old password', async (t) => {
    const { logIn, rotate, write } = await begun(t)
    await write({ bindpass: 'wrong' })
    t.equal(await rotate(), 400)
    await write({ bindpass: servicePassword })
    t.equal(await logIn(), 200)
  })

  await t.test('without an account there is nothing to rotate', async (t) => {
    const { rotate, write } = await begun(t)
    await write({ binddn: '' })
    t.equal(await rotate(), 400)
  })
})

const hourMs = 3_600_000

function row(config: Partial<DirectoryConfig>, more: Partial<ConfigRow> = {}): ConfigRow {
  return {
    mountId: 'm',
    config: { ...defaultConfig, binddn: 'cn=a', ...config },
    hasBindpass: true,
    hasClientKey: false,
    pendingRotation: null,
    rotatedMs: Date.UTC(2026, 0, 1, 12),
    createIndex: 1,
    modifyIndex: 1,
    ...more,
  }
}

t.test(
  'a rotation is due by period, by schedule within its window, or when one is open',
  async (t) => {
    const at = (hour: number) => Date.UTC(2026, 0, 1, hour)
    const rows: readonly (readonly [string, ConfigRow, number, boolean])[] = [
      ['none', row({}), at(23), false],
      ['before the period', row({ rotationPeriodMs: hourMs }), at(13) - 1, false],
      ['after the period', row({ rotationPeriodMs: hourMs }), at(13), true],
      [
        'switched off',
        row({ rotationPeriodMs: hourMs, disableAutomatedRotation: true }),
        at(20),
        false,
      ],
      ['before the schedule', row({ rotationSchedule: '0 14 * * *' }), at(14) - 1, false],
      ['at the schedule', row({ rotationSchedule: '0 14 * * *' }), at(14), true],
      ['long after it', row({ rotationSchedule: '0 14 * * *' }), at(20), true],
      [
        'within the window',
        row({ rotationSchedule: '0 14 * * *', rotationWindowMs: hourMs }),
        at(15),
        true,
      ],
      [
        'after the window',
        row({ rotationSchedule: '0 14 * * *', rotationWindowMs: hourMs }),
        at(15) + 1,
        false,
      ],
      ['open', row({ disableAutomatedRotation: true }, { pendingRotation: 7 }), at(12), true],
      ['no password', row({ rotationPeriodMs: hourMs }, { hasBindpass: false }), at(20), false],
      ['no account', row({ rotationPeriodMs: hourMs, binddn: '' }), at(20), false],
    ]
    for (const [what, given, nowMs, due] of rows) t.equal(isDue(given, nowMs), due, what)
  },
)
