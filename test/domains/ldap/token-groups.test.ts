/** Groups by `tokenGroups`: how many searches they cost, and what becomes of those that the user's domain does not have. */
import t, { type Test } from 'tap'
import { Directory } from '../../../src/domains/ldap/directory.ts'
import { authenticate } from '../../../src/domains/ldap/login.ts'
import { sidsLeftMax, sidsMax, sidsPerSearch } from '../../../src/domains/ldap/token-groups.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { entry, result, startFakeDirectory, tag } from '../../support/fake-directory.ts'
import {
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

const ada = 'uid=ada,OU=People,DC=corp, dc=test'

/** Of the domain 1-2-3, with bytes that filters have to escape. */
function sidOf(account: number): Buffer {
  const bytes = Buffer.from('010500000000000515000000010000002a28295c00000000', 'hex')
  const whole = Buffer.concat([bytes, Buffer.alloc(4)])
  whole.writeUInt32LE(account, whole.length - 4)
  return whole
}

function sidNames(sids: readonly Buffer[]): ReadonlyMap<string, Buffer> {
  return new Map(sids.map((sid) => [`G${sid.readUInt32LE(sid.length - 4)}`, sid]))
}

function many(count: number, from = 1_000): readonly Buffer[] {
  return Array.from({ length: count }, (_, at) => sidOf(from + at))
}

type Held = {
  /** Of the user. */
  readonly tokenGroups: readonly Buffer[]
  /** Whose entries a search of the domain finds. */
  readonly inDomain: readonly Buffer[]
  /** Whose entries are only found by name. */
  readonly elsewhere?: readonly Buffer[]
  /** Result of each search of the domain. */
  readonly resultCode?: number
}

/** A directory with these groups, which is asked about ada. */
async function loginAgainst(t: Test, held: Held, changes = {}) {
  const { tokenGroups, inDomain, elsewhere = [], resultCode = 0 } = held
  const bases: string[] = []
  const asked = { domain: 0, single: 0, all: 0 }
  const fake = await startFakeDirectory(t, ({ id, tag: kind, message, socket }) => {
    if (kind === tag.bind) socket.write(result(id, tag.bound))
    if (kind !== tag.search) return
    const text = message.toString('latin1')
    asked.all += 1
    const answer: Buffer[] = []
    let code = 0
    if (text.includes('<SID=')) {
      asked.single += 1
      const account = /<SID=S-[\d-]*-(\d+)>/.exec(text)?.[1]
      const name = `G${account}`
      if (sidNames(elsewhere).has(name)) answer.push(entry(id, `CN=${name},DC=other`))
      else code = 32
    } else if (text.includes('tokenGroups')) answer.push(entry(id, ada, { tokenGroups }))
    else if (text.includes('objectSid')) {
      asked.domain += 1
      bases.push(/dc=[^\n]*?(?=\n)/.exec(text)?.[0] ?? '')
      code = resultCode
      for (const [name, sid] of resultCode === 0 ? sidNames(inDomain) : []) {
        if (message.includes(sid)) {
          answer.push(entry(id, `CN=${name},DC=corp,DC=test`, { objectSid: [sid] }))
        }
      }
    } else answer.push(entry(id, ada, { uid: ['ada'] }))
    socket.write(Buffer.concat([...answer, result(id, tag.done, code)]))
  })
  const settings = settingsWith({
    url: fake.url,
    binddn: 'cn=service',
    bindpasses: ['secret'],
    useTokenGroups: true,
    ...changes,
  })
  const directory = new Directory(settings, systemClock)
  t.teardown(() => directory.close())
  const outcome = authenticate(directory, 'ada', 'password', budgetOf(30_000))
  return { outcome, asked, bases }
}

void t.test('300 groups cost at most 10 searches', async (t) => {
  const sids = many(300)
  const { outcome, asked, bases } = await loginAgainst(t, { tokenGroups: sids, inDomain: sids })
  const { groups } = await outcome
  t.same(groups, [...sidNames(sids).keys()])
  t.same(asked, { domain: Math.ceil(300 / sidsPerSearch), single: 0, all: 4 })
  t.same([...new Set(bases)], ['dc=corp,dc=test'])
})

void t.test(
  'a group of another domain is asked for by name; malformed values are skipped',
  async (t) => {
    const [own = sidOf(0), other = sidOf(0), unknown = sidOf(0)] = many(3)
    const rubbish = [Buffer.from('rubbish'), Buffer.from('010100000000000500000000', 'hex')]
    const { outcome, asked } = await loginAgainst(t, {
      tokenGroups: [own, ...rubbish, other, unknown],
      inDomain: [own],
      elsewhere: [other],
    })
    t.same((await outcome).groups, ['G1000', 'G1001'])
    t.match(asked, { domain: 1, single: 3 })
  },
)

void t.test('a directory that refuses the search of its domain is asked for each', async (t) => {
  const sids = many(40)
  const held = { tokenGroups: sids, inDomain: [], elsewhere: sids, resultCode: 53 }
  const { outcome, asked } = await loginAgainst(t, held)
  t.equal((await outcome).groups.length, 40)
  t.match(asked, { domain: 1, single: 40 })
})

void t.test('a group that was not asked for counts for nothing', async (t) => {
  const [own = sidOf(0)] = many(1)
  const fake = await startFakeDirectory(t, ({ id, tag: kind, message, socket }) => {
    const text = message.toString('latin1')
    if (kind === tag.bind) socket.write(result(id, tag.bound))
    if (kind !== tag.search) return
    const found = text.includes('tokenGroups')
      ? [entry(id, ada, { tokenGroups: [own] })]
      : text.includes('objectSid')
        ? [
            entry(id, 'CN=own,DC=corp', { objectSid: [own] }),
            entry(id, 'CN=other,DC=corp', { objectSid: [sidOf(7)] }),
            entry(id, 'CN=none,DC=corp'),
          ]
        : [entry(id, ada, { uid: ['ada'] })]
    socket.write(Buffer.concat([...found, result(id, tag.done)]))
  })
  const service = { binddn: 'cn=service', bindpasses: ['secret'] }
  const settings = settingsWith({ url: fake.url, ...service, useTokenGroups: true })
  const directory = new Directory(settings, systemClock)
  t.teardown(() => directory.close())
  const { groups } = await authenticate(directory, 'ada', 'password', budgetOf(30_000))
  t.same(groups, ['own'])
})

void t.test('more than are looked at refuse the login', async (t) => {
  const rows: readonly (readonly [string, Held, boolean])[] = [
    ['all that are looked up', { tokenGroups: many(sidsMax), inDomain: many(sidsMax) }, true],
    ['one more', { tokenGroups: many(sidsMax + 1), inDomain: many(sidsMax + 1) }, false],
    ['all that are left', { tokenGroups: many(sidsLeftMax), inDomain: [] }, true],
    ['one more that is left', { tokenGroups: many(sidsLeftMax + 1), inDomain: [] }, false],
  ]
  for (const [what, held, isAllowed] of rows) {
    const { outcome, asked } = await loginAgainst(t, held)
    const failure = await failureOf(outcome)
    t.equal(failure?.kind ?? null, isAllowed ? null : 'groups', what)
    t.ok(asked.single <= sidsLeftMax, what)
  }
})

void t.test('slapd finds groups by their security identifiers', async (t) => {
  if (!slapdIsThere(t)) return
  const sids = [...sidNames(many(300))]
  const slapd = await startSlapd(t, {
    ldif: [
      person({
        uid: 'ada',
        password: 'ada-password',
        // The last one is in no entry, and this directory refuses names by identifier.
        more: { tokenGroups: [...many(300), sidOf(9)] },
      }),
      ...[...sids, ['other', sidOf(8)] as const].map(([name, sid]) =>
        ldifEntry(groupDn(name), {
          objectClass: ['groupOfNames', 'principal'],
          cn: name,
          member: personDn({ uid: 'ada' }),
          objectSid: sid,
        }),
      ),
    ].join(''),
    sizeLimit: 100,
  })
  const service = { binddn: serviceDn, bindpasses: [servicePassword] }
  for (const maxPageSize of [50, 100]) {
    const directory = new Directory(
      settingsWith({ url: slapd.url, ...service, useTokenGroups: true, maxPageSize }),
      systemClock,
    )
    t.teardown(() => directory.close())
    const { groups } = await authenticate(directory, 'ada', 'ada-password', budgetOf(20_000))
    t.same(groups.toSorted(), sids.map(([name]) => name).toSorted())
  }
})
