/** One login against a real slapd: who is found, who may bind, which groups are found. */
import t, { type Test } from 'tap'
import { Directory, type DirectorySettings } from '../../../src/domains/ldap/directory.ts'
import { DirectoryError } from '../../../src/domains/ldap/directory-error.ts'
import { escapeDnValue } from '../../../src/domains/ldap/dn.ts'
import { walkSearchesMax } from '../../../src/domains/ldap/groups.ts'
import { authenticate } from '../../../src/domains/ldap/login.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import {
  group,
  groupDn,
  ldifEntry,
  person,
  personDn,
  serviceDn,
  servicePassword,
  slapdIsThere,
  startSlapd,
} from '../../support/slapd.ts'
import { budgetOf, failureOf, settingsWith } from './directory-settings.ts'

const awkward = [
  'Lovelace, Ada',
  'a*b',
  '(paren)',
  'back\\slash',
  'a\\,b',
  '#hash',
  'été 😀',
  'a=b+c',
  '"quoted"',
  'a/b;c<d>',
]

const ada = personDn({ uid: 'ada' })
const manyGroups = Array.from({ length: 300 }, (_, at) => `many${at}`)
const ldif = [
  person({
    uid: 'ada',
    password: 'ada-password',
    more: {
      cn: ['ada', 'twin'],
      userPrincipalName: 'ada@corp.test',
      sAMAccountName: 'adal',
      memberOf: groupDn('engineers'),
    },
  }),
  person({ uid: 'bob', password: 'bob-password', more: { cn: ['bob', 'twin'] } }),
  person({ uid: 'popular', password: 'popular-password' }),
  ...awkward.map((uid) => person({ uid, rdn: escapeDnValue(uid), password: `password of ${uid}` })),
  group('engineers', [ada]),
  group('staff', [groupDn('engineers')]),
  group('all', [groupDn('staff'), groupDn('round')]),
  group('round', [groupDn('all')]),
  group('nobody', [personDn({ uid: 'bob' })]),
  group('comma', [personDn({ uid: 'x', rdn: escapeDnValue('Lovelace, Ada') })]),
  ldifEntry('cn=unique,ou=groups,dc=test', {
    objectClass: 'groupOfUniqueNames',
    cn: 'unique',
    uniqueMember: ada,
  }),
  ldifEntry('cn=posix,ou=groups,dc=test', {
    objectClass: 'posixGroup',
    cn: 'posix',
    gidNumber: '7',
    memberUid: 'ada',
  }),
  ...manyGroups.map((name) => group(name, [personDn({ uid: 'popular' })])),
  group('many-of-many', manyGroups.map(groupDn)),
].join('')

const service = { binddn: serviceDn, bindpasses: [servicePassword] }
const chain = '(member:1.2.840.113556.1.4.1941:={{.UserDN}})'

function directoryWith(t: Test, changes: Partial<DirectorySettings>): Directory {
  const directory = new Directory(settingsWith(changes), systemClock)
  t.teardown(() => directory.close())
  return directory
}

t.test('against slapd', { skip: !slapdIsThere(t) && 'no slapd' }, async (t) => {
  const slapd = await startSlapd(t, { ldif })
  const login = (
    t: Test,
    username: string,
    password: string,
    changes: Partial<DirectorySettings> = {},
  ) =>
    authenticate(
      directoryWith(t, { url: slapd.url, ...changes }),
      username,
      password,
      budgetOf(20_000),
    )

  await t.test('each way of finding the name to bind', async (t) => {
    const ways: readonly (readonly [string, Partial<DirectorySettings>, string, string])[] = [
      ['constructed', {}, ada, ada],
      ['service account', service, ada, 'ada'],
      ['anonymous discovery', { discoverdn: true }, ada, 'ada'],
      [
        'a user filter',
        { ...service, userfilter: '(&(objectClass=person)(mail=*)(uid={{.Username}}))' },
        '',
        '',
      ],
      ['another attribute', { ...service, userattr: 'cn' }, ada, 'ada'],
      ['principal name', { ...service, upndomain: 'corp.test' }, ada, 'ada'],
      ['name of the login as alias', { ...service, usernameAsAlias: true }, ada, 'ada'],
    ]
    for (const [what, changes, userDn, alias] of ways) {
      const outcome = login(t, 'ada', 'ada-password', changes)
      if (userDn === '') await t.rejects(outcome, DirectoryError, what)
      else t.match(await outcome, { userDn, aliases: [{ name: alias }] }, what)
    }
    const account = { ...service, upndomain: 'corp.test', enableSamaccountnameLogin: true }
    t.match(await login(t, 'adal', 'ada-password', account), { userDn: ada })
  })

  await t.test('awkward names find their own entry in both ways', async (t) => {
    for (const uid of awkward) {
      const password = `password of ${uid}`
      t.match(
        await login(t, uid, password, service),
        { aliases: [{ name: uid.trim().toLowerCase() }] },
        uid,
      )
      await t.resolves(login(t, uid, password), uid)
      await t.rejects(login(t, uid, 'wrong', service), DirectoryError, uid)
    }
    t.same((await login(t, 'Lovelace, Ada', 'password of Lovelace, Ada', service)).groups, [
      'comma',
    ])
  })

  await t.test('nobody else gets in', async (t) => {
    const rows: readonly (readonly [string, string, Partial<DirectorySettings>])[] = [
      ['ada', 'wrong', service],
      ['ada', 'wrong', {}],
      ['unknown', 'ada-password', service],
      ['unknown', 'ada-password', {}],
      ['*', 'ada-password', service],
      ['ad*', 'ada-password', service],
      ['ada)(uid=*', 'ada-password', service],
      ['twin', 'ada-password', { ...service, userattr: 'cn' }],
      ['ada', 'ada-password', { ...service, bindpasses: ['wrong'] }],
      ['ada', 'ada-password', { ...service, userdn: 'ou=nowhere,dc=test' }],
      ['ada', '', { ...service, denyNullBind: false }],
      ['ada,ou=people', 'ada-password', {}],
      ['PLAIN', 'ada-password', { userattr: 'cn' }],
    ]
    for (const [username, password, changes] of rows) {
      await t.rejects(login(t, username, password, changes), DirectoryError, username)
    }
  })

  await t.test('groups by the filter', async (t) => {
    const groups = async (changes: Partial<DirectorySettings>): Promise<readonly string[]> => {
      const found = await login(t, 'ada', 'ada-password', { ...service, ...changes })
      return found.groups.toSorted()
    }
    t.same(await groups({}), ['engineers', 'posix', 'unique'])
    t.same(await groups({ anonymousGroupSearch: true }), ['engineers', 'posix', 'unique'])
    t.same(await groups({ maxPageSize: 1 }), ['engineers', 'posix', 'unique'])
    t.same(await groups({ groupdn: '' }), [])
    t.same(await groups({ groupattr: 'CN' }), ['engineers', 'posix', 'unique'])
    t.same(await groups({ groupattr: 'description' }), ['engineers', 'posix', 'unique'])
    t.same(await groups({ binddn: '', bindpasses: [] }), ['engineers', 'posix', 'unique'])
    const memberOf = { groupfilter: '(uid={{.Username}})', groupattr: 'memberOf' }
    t.same(await groups({ ...memberOf, groupdn: 'ou=people,dc=test' }), ['engineers'])
    await t.rejects(groups({ groupdn: 'ou=nowhere,dc=test' }), DirectoryError)
  })

  await t.test('groups within groups are walked, round and round too', async (t) => {
    const found = await login(t, 'ada', 'ada-password', { ...service, groupfilter: chain })
    t.same(found.groups.toSorted(), ['all', 'engineers', 'round', 'staff'])
  })

  await t.test('300 groups and what they are in are found within the bound', async (t) => {
    const changes = { ...service, groupfilter: chain }
    const found = await login(t, 'popular', 'popular-password', changes)
    t.equal(found.groups.length, 301)
    t.ok(walkSearchesMax <= 10)
  })

  await t.test(
    'a list that the directory cuts off refuses the login, and pages bring it',
    async (t) => {
      const small = await startSlapd(t, { ldif, sizeLimit: 100 })
      const changes = { ...service, url: small.url }
      t.match(await failureOf(login(t, 'popular', 'popular-password', changes)), { resultCode: 4 })
      const paged = await login(t, 'popular', 'popular-password', { ...changes, maxPageSize: 50 })
      t.equal(paged.groups.length, 300)
    },
  )

  await t.test('TLS in both forms, and never without what was asked for', async (t) => {
    const right: readonly Partial<DirectorySettings>[] = [
      { url: slapd.tlsUrl, certificate: slapd.ca },
      { url: slapd.tlsUrl, insecureTls: true },
      { url: slapd.url, starttls: true, certificate: slapd.ca },
      { url: slapd.tlsUrl, certificate: slapd.ca, tlsMinVersion: 'tls13', tlsMaxVersion: 'tls13' },
      { url: slapd.tlsUrl, certificate: slapd.ca, starttls: true },
    ]
    for (const changes of right) await t.resolves(login(t, 'ada', 'ada-password', changes))
    const wrong: readonly Partial<DirectorySettings>[] = [
      { url: slapd.tlsUrl },
      { url: slapd.url, starttls: true },
      { url: slapd.url.replace('ldap:', 'ldaps:'), insecureTls: true },
    ]
    for (const changes of wrong) await t.rejects(login(t, 'ada', 'ada-password', changes))
  })

  await t.test('a client certificate is presented', async (t) => {
    const strict = await startSlapd(t, { ldif, wantsClientCertificate: true })
    const { cert, key } = await strict.authority.issue({ role: 'client' })
    const changes = { url: strict.tlsUrl, certificate: strict.ca }
    await t.rejects(login(t, 'ada', 'ada-password', changes))
    await t.resolves(
      login(t, 'ada', 'ada-password', { ...changes, clientTlsCert: cert, clientTlsKey: key }),
    )
  })

  await t.test('URLs are tried in order, and a wrong password ends it', async (t) => {
    const dead = 'ldap://127.0.0.1:1'
    await t.resolves(login(t, 'ada', 'ada-password', { url: `${dead},http://x,${slapd.url}` }))
    t.match(await failureOf(login(t, 'ada', 'wrong', { url: `${slapd.url},${dead}` })), {
      resultCode: 49,
    })
    t.match(await failureOf(login(t, 'ada', 'ada-password', { url: dead })), {
      kind: 'unreachable',
    })
  })

  await t.test('search connections are shared, and made anew once they ended', async (t) => {
    const other = await startSlapd(t, { ldif })
    const directory = directoryWith(t, { ...service, url: other.url })
    const once = () => authenticate(directory, 'ada', 'ada-password', budgetOf(20_000))
    await once()
    t.equal(directory.idleCount, 2, 'one for searches, one for binds')
    await Promise.all([once(), once(), once()])
    t.ok(directory.idleCount >= 2 && directory.idleCount <= 6)
    await other.kill()
    await t.rejects(once(), DirectoryError)
    await other.start()
    await t.resolves(once())
    directory.close()
    t.equal(directory.idleCount, 0)
  })

  await t.test('a paused directory costs no more than the time that is given', async (t) => {
    const other = await startSlapd(t, { ldif })
    const directory = directoryWith(t, { ...service, url: other.url, requestTimeoutMs: 200 })
    other.pause()
    t.match(await failureOf(authenticate(directory, 'ada', 'ada-password', budgetOf(20_000))), {
      kind: 'timeout',
    })
    other.resume()
    await t.resolves(authenticate(directory, 'ada', 'ada-password', budgetOf(20_000)))
  })
})
