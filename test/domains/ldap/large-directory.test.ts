/** A real slapd with 2,000 people, and with groups within groups. */
import t, { type Test } from 'tap'
import { Directory, type DirectorySettings } from '../../../src/domains/ldap/directory.ts'
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
  type Slapd,
} from '../../support/slapd.ts'
import { serverOfOne } from '../server-of-one.ts'
import { budgetOf, failureOf, settingsWith } from './directory-settings.ts'

const service = { binddn: serviceDn, bindpasses: [servicePassword] }
const chain = '(member:1.2.840.113556.1.4.1941:={{.UserDN}})'

function loginTo(
  t: Test,
  slapd: Slapd,
  [username, password]: readonly [string, string],
  changes: Partial<DirectorySettings>,
) {
  const settings = settingsWith({ url: slapd.url, ...service, ...changes })
  const directory = new Directory(settings, systemClock)
  t.teardown(() => directory.close())
  return authenticate(directory, username, password, budgetOf(20_000))
}

t.test('2,000 people', { skip: !slapdIsThere(t) && 'no slapd' }, async (t) => {
  const teams = 20
  const people = Array.from({ length: 2_000 }, (_, at) => ({
    uid: `u${at}`,
    password: `password ${at}`,
    team: at % teams,
  }))
  const teamsLdif = Array.from({ length: teams }, (_, team) =>
    group(
      `team${team}`,
      people.filter((member) => member.team === team).map((member) => personDn(member)),
    ),
  )
  const slapd = await startSlapd(t, {
    ldif: [...people.map((who) => person(who)), ...teamsLdif].join(''),
    sizeLimit: 500,
  })

  await t.test('50 log in at a time, and each has the policies of its own team', async (t) => {
    const server = await serverOfOne(t, { acl: { enabled: true, defaultPolicy: 'deny' } })
    const bootstrap = await server.ask('PUT', '/v1/acl/bootstrap')
    const { SecretID: root } = bootstrap.json() as { SecretID: string }
    const config = {
      url: slapd.url,
      userdn: 'ou=people,dc=test',
      userattr: 'uid',
      groupdn: 'ou=groups,dc=test',
      binddn: serviceDn,
      bindpass: servicePassword,
      use_token_groups: false,
    }
    t.equal((await server.ask('POST', '/v1/auth/ldap/config', config, root)).status, 204)
    for (let team = 0; team < teams; team += 1) {
      const policies = `policy-${team}`
      await server.ask('POST', `/v1/auth/ldap/groups/team${team}`, { policies }, root)
    }
    const some = people.filter((_, at) => at % 39 === 5).slice(0, 50)
    t.equal(some.length, 50)
    await Promise.all(
      some.map(async ({ uid, password, team }) => {
        const answer = await server.ask('POST', `/v1/auth/ldap/login/${uid}`, { password })
        t.equal(answer.status, 200, answer.body)
        t.match(answer.json(), {
          auth: { metadata: { username: uid }, policies: ['default', `policy-${team}`] },
        })
      }),
    )
    const [first, second] = some
    const body = { password: second?.password }
    t.equal((await server.ask('POST', `/v1/auth/ldap/login/${first?.uid}`, body)).status, 400)
  })

  await t.test('a search that finds them all brings them by pages, or refuses', async (t) => {
    const credentials = ['u7', 'password 7'] as const
    const all = {
      groupdn: 'ou=people,dc=test',
      groupfilter: '(objectClass=inetOrgPerson)',
      groupattr: 'uid',
    }
    const paged = await loginTo(t, slapd, credentials, { ...all, maxPageSize: 300 })
    t.equal(new Set(paged.groups).size, people.length)
    t.match(await failureOf(loginTo(t, slapd, credentials, all)), { resultCode: 4 })
    const anyone = { userfilter: '(objectClass=person)' }
    t.match(await failureOf(loginTo(t, slapd, credentials, anyone)), { kind: 'user' })
  })
})

t.test('groups within groups', { skip: !slapdIsThere(t) && 'no slapd' }, async (t) => {
  const awkward = 'Sales, "North" (a*b)'
  const awkwardDn = groupDn(escapeDnValue(awkward))
  const ladder = (name: string, member: string, height: number): readonly string[] =>
    Array.from({ length: height }, (_, at) =>
      group(`${name}${at}`, [at === 0 ? member : groupDn(`${name}${at - 1}`)]),
    )
  const wide = Array.from({ length: 1_200 }, (_, at) => `wide${at}`)
  const people = ['low', 'high', 'diamond', 'round', 'broad'].map((uid) => ({
    uid,
    password: `${uid}-password`,
  }))
  const dnOf = (uid: string): string => personDn({ uid })
  const slapd = await startSlapd(t, {
    ldif: [
      ...people.map((who) => person(who)),
      ...ladder('low', dnOf('low'), walkSearchesMax - 1),
      ...ladder('high', dnOf('high'), walkSearchesMax),
      group('left', [dnOf('diamond')]),
      ldifEntry(awkwardDn, {
        objectClass: 'groupOfNames',
        cn: awkward,
        member: dnOf('diamond'),
      }),
      group('top', [groupDn('left'), awkwardDn]),
      group('a', [dnOf('round'), groupDn('c'), groupDn('a')]),
      group('b', [groupDn('a')]),
      group('c', [groupDn('b')]),
      ...wide.map((name) => group(name, [dnOf('broad')])),
      group('over-the-last', [groupDn('wide1199')]),
    ].join(''),
    sizeLimit: 2_000,
  })
  const groupsOf = async (uid: string, changes: Partial<DirectorySettings> = {}) => {
    const nested = { groupfilter: chain, ...changes }
    const { groups } = await loginTo(t, slapd, [uid, `${uid}-password`], nested)
    return groups.toSorted()
  }
  t.equal((await groupsOf('low')).length, walkSearchesMax - 1, 'as high as the searches reach')
  t.match(await failureOf(groupsOf('high')), { kind: 'groups' }, 'one more refuses the login')
  t.same(await groupsOf('diamond'), [awkward, 'left', 'top'].toSorted(), 'on two ways, once')
  t.same(await groupsOf('round'), ['a', 'b', 'c'], 'a circle ends')
  t.same(await groupsOf('broad'), [...wide, 'over-the-last'].toSorted(), 'more than one search')
  t.same(
    await groupsOf('diamond', { groupfilter: '(member={{.UserDN}})' }),
    [awkward, 'left'].toSorted(),
    'without the rule, none within',
  )
  t.same(
    await groupsOf('diamond', { groupfilter: `(&${chain}(!(cn=left)))` }),
    [awkward, 'top'].toSorted(),
    'the rest of the filter holds at each level',
  )
})
