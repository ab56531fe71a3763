/** Aliases of entries in a real slapd: which searches follow them. */
import t, { type Test } from 'tap'
import { Directory, type DirectorySettings } from '../../../src/domains/ldap/directory.ts'
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

const service = { binddn: serviceDn, bindpasses: [servicePassword] }

function login(t: Test, url: string, changes: Partial<DirectorySettings>) {
  const directory = new Directory(settingsWith({ url, ...service, ...changes }), systemClock)
  t.teardown(() => directory.close())
  return authenticate(directory, 'ada', 'ada-password', budgetOf(20_000))
}

t.test('aliases of entries', { skip: !slapdIsThere(t) && 'no slapd' }, async (t) => {
  const alias = (dn: string, name: Readonly<Record<string, string>>, target: string): string =>
    ldifEntry(dn, {
      objectClass: ['alias', 'extensibleObject'],
      aliasedObjectName: target,
      ...name,
    })
  const container = (name: string): string =>
    ldifEntry(`ou=${name},dc=test`, { objectClass: 'organizationalUnit', ou: name })
  const slapd = await startSlapd(t, {
    ldif: [
      person({ uid: 'ada', password: 'ada-password' }),
      group('engineers', [personDn({ uid: 'ada' })]),
      alias('ou=crew,dc=test', { ou: 'crew' }, 'ou=people,dc=test'),
      alias('ou=clubs,dc=test', { ou: 'clubs' }, 'ou=groups,dc=test'),
      container('links'),
      alias('cn=one,ou=links,dc=test', { cn: 'one' }, personDn({ uid: 'ada' })),
      alias('cn=two,ou=links,dc=test', { cn: 'two' }, groupDn('engineers')),
    ].join(''),
  })
  const ways = ['never', 'finding', 'searching', 'always'] as const
  const rows: readonly (readonly [
    string,
    string,
    Readonly<Record<(typeof ways)[number], boolean>>,
  ])[] = [
    [
      'the base is an alias',
      'ou=crew,dc=test',
      { never: false, finding: true, searching: false, always: true },
    ],
    [
      'aliases are below the base',
      'ou=links,dc=test',
      { never: false, finding: false, searching: true, always: true },
    ],
    [
      'there are none',
      'ou=people,dc=test',
      { never: true, finding: true, searching: true, always: true },
    ],
  ]
  for (const [what, userdn, finds] of rows) {
    for (const dereferenceAliases of ways) {
      const changes = { userdn, groupdn: '', dereferenceAliases }
      const outcome = login(t, slapd.url, changes)
      const told = `${what}: ${dereferenceAliases}`
      if (finds[dereferenceAliases]) {
        t.match(await outcome, { userDn: personDn({ uid: 'ada' }) }, told)
      } else t.match(await failureOf(outcome), { kind: 'user' }, told)
    }
  }
  const bases = { finding: 'ou=clubs,dc=test', searching: 'ou=links,dc=test' } as const
  for (const [way, groupdn] of Object.entries(bases)) {
    for (const dereferenceAliases of ways) {
      const { groups } = await login(t, slapd.url, {
        groupdn,
        dereferenceAliases,
      })
      const isFound = dereferenceAliases === way || dereferenceAliases === 'always'
      t.same(groups, isFound ? ['engineers'] : [], `groups below ${groupdn}: ${dereferenceAliases}`)
    }
  }
})
