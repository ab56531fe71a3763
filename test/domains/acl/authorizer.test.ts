/** Who a caller is found to be, how long that stands, and what ends it. */
import t, { type Test } from 'tap'
import type { Reader } from '../../../src/fsm/domain.ts'
import { codeOf } from '../../../src/lib/errors.ts'
import { transfer } from '../../fsm/toy.ts'
import { AclMachine, mayRead, reads, remote, resolved } from './acl-machine.ts'
import { issuedMembers } from './token-rows.ts'

async function begun(t: Test) {
  const acl = await AclMachine.open(t)
  await acl.putPolicy('app', reads('app/'))
  await acl.putPolicy('ops', reads('ops/'))
  await acl.putRole('operators', ['ops'])
  return acl
}

/** Counts the rows that are looked at. */
function counting(reader: Reader) {
  const seen = { rows: 0 }
  const counted = new Proxy(reader, {
    get(target, name) {
      if (name === 'get') seen.rows += 1
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  return { seen, counted }
}

void t.test('a caller stays found while others come, change and go', async (t) => {
  const acl = await begun(t)
  const { seen, counted } = counting(acl.machine.reader())
  const authorizer = acl.authorizer(undefined, counted)
  const { secret } = await acl.makeToken({ policies: ['app'], roles: ['operators'] })
  const callers = [secret, null]
  const before = await Promise.all(callers.map((token) => resolved(authorizer, token)))

  seen.rows = 0
  for (const token of callers) void authorizer.resolve({ token, remote, requestId: 'r' })
  t.equal(seen.rows, 0, 'while the tables stand still there is nothing to look at')

  const other = await acl.makeToken({ policies: ['app'] })
  await acl.apply('acl.updateToken', {
    accessor: other.accessor,
    name: 'renewed',
    description: null,
    type: null,
    policies: null,
    roles: null,
  })
  await acl.deleteToken(other.accessor)
  for (const [at, token] of callers.entries()) {
    t.equal(await resolved(authorizer, token), before[at], 'the very same after other tokens')
  }
  t.equal(seen.rows, 1, 'one look at the row of the one that has a token')

  await acl.putPolicy('unrelated', reads('x/'))
  await acl.putRole('unrelated', ['unrelated'])
  await acl.apply('acl.deleteRole', { name: 'unrelated' })
  for (const [at, token] of callers.entries()) {
    t.equal(await resolved(authorizer, token), before[at], 'and after policies of others')
  }
})

void t.test('each change of what a caller has is in force with its entry', async (t) => {
  const acl = await begun(t)
  const authorizer = acl.authorizer()
  const { secret, accessor } = await acl.makeToken({ policies: ['app'], roles: ['operators'] })
  const rights = async (token: string | null = secret) => {
    const permissions = await resolved(authorizer, token)
    return ['app/x', 'ops/x'].filter((key) => mayRead(permissions, key))
  }
  t.same(await rights(), ['app/x', 'ops/x'])
  await acl.putPolicy('app', reads('other/'))
  t.same(await rights(), ['ops/x'], 'a policy that says something else')
  await acl.putPolicy('app', reads('app/'))
  t.same(await rights(), ['app/x', 'ops/x'])
  await acl.apply('acl.deletePolicy', { name: 'app' })
  t.same(await rights(), ['ops/x'], 'a policy that is gone')
  await acl.putPolicy('app', reads('app/'))
  await acl.putRole('operators', ['app'])
  t.same(await rights(), ['app/x'], 'a role with other policies')
  await acl.apply('acl.deleteRole', { name: 'operators' })
  t.same(await rights(), ['app/x'], 'a role that is gone')
  const change = { accessor, name: null, description: null, roles: null }
  await acl.apply('acl.updateToken', { ...change, type: null, policies: ['ops'] })
  t.same(await rights(), ['ops/x'], 'a token with other policies')
  await acl.apply('acl.updateToken', { ...change, type: 'management', policies: null })
  t.same(await rights(), ['app/x', 'ops/x'], 'a manager')
  await acl.deleteToken(accessor)
  await t.rejects(rights(), { code: 'unauthenticated' }, 'revoked')

  t.same(await rights(null), [])
  await acl.putPolicy('anonymous', reads('app/'))
  t.same(await rights(null), ['app/x'], 'callers without a token')
  await acl.apply('acl.deletePolicy', { name: 'anonymous' })
  t.same(await rights(null), [])
})

void t.test(
  'tokens with the same policies have the same rights object, others never',
  async (t) => {
    const acl = await begun(t)
    const authorizer = acl.authorizer()
    const tokens = [
      await acl.makeToken({ policies: ['app'] }),
      await acl.makeToken({ policies: ['app'], boundCidrs: ['10.0.0.0/8'] }),
      await acl.makeToken({ policies: ['ops'] }),
      await acl.makeToken({ roles: ['operators'] }),
    ]
    const of = async (at: number) => (await resolved(authorizer, tokens[at]?.secret ?? '')).rights
    t.equal(await of(0), await of(1))
    t.equal(await of(2), await of(3), 'a role is its policies')
    t.not(await of(0), await of(2))
    const before = await of(0)
    await acl.putPolicy('app', reads('app/'))
    t.equal(await of(0), await of(1))
    t.not(await of(0), before, 'a policy that was written again is another one')
  },
)

void t.test('after a restore the same index may stand for other rows', async (t) => {
  // Two clusters of the same history, but for the text of a policy and the type of a token.
  const other = await begun(t)
  const { secret, ...row } = await other.makeToken({ policies: ['app'] })
  const manager = await other.makeToken({ policies: ['app'] })
  const acl = await AclMachine.open(t)
  await acl.putPolicy('app', reads('abc/'))
  await acl.putPolicy('ops', reads('ops/'))
  await acl.putRole('operators', ['ops'])
  await acl.apply('acl.createToken', row)
  const { secret: managing, ...managingRow } = manager
  await acl.apply('acl.createToken', { ...managingRow, type: 'management' })
  const authorizer = acl.authorizer()
  const rights = async (token: string) => {
    const permissions = await resolved(authorizer, token)
    return ['abc/x', 'app/x'].filter((key) => mayRead(permissions, key))
  }
  t.same([await rights(secret), await rights(managing)], [['abc/x'], ['abc/x', 'app/x']])
  await acl.restore(await other.archive())
  t.same([await rights(secret), await rights(managing)], [['app/x'], ['app/x']])
  await acl.restore(await (await AclMachine.open(t)).archive())
  await t.rejects(resolved(authorizer, secret), { code: 'unauthenticated' }, 'not in the archive')
})

void t.test('a snapshot that takes the state’s place takes revoked tokens with it', async (t) => {
  const leader = await begun(t)
  const kept = await leader.makeToken({ policies: ['app'] })
  const revoked = await leader.makeToken({ policies: ['app'] })
  const behind = await AclMachine.open(t)
  const authorizer = behind.authorizer()
  const follow = async () => {
    const source = await leader.machine.snapshot()
    await transfer(source, behind.machine)
    await source.close()
  }
  await follow()
  for (const { secret } of [kept, revoked]) await resolved(authorizer, secret)
  await leader.deleteToken(revoked.accessor)
  await leader.putPolicy('app', reads('other/'))
  t.ok(await resolved(authorizer, revoked.secret), 'this server has not heard of it')
  await follow()
  await t.rejects(resolved(authorizer, revoked.secret), { code: 'unauthenticated' })
  t.ok(mayRead(await resolved(authorizer, kept.secret), 'other/x'))
})

void t.test('a token ends to the millisecond, by its lease or its explicit maximum', async (t) => {
  const acl = await begun(t)
  const authorizer = acl.authorizer()
  const fromMs = acl.nowMs
  const lease = { ...issuedMembers.lease, renewTimeMs: null }
  const expiring = await acl.makeToken({ expirationTimeMs: fromMs + 5_000 })
  const leased = await acl.makeToken({ expirationTimeMs: fromMs + 5_000, lease })
  const capped = await acl.makeToken({ lease: { ...lease, explicitMaxTtlMs: 5_000 } })
  for (const { secret } of [expiring, leased, capped]) {
    acl.nowMs = fromMs + 4_999
    t.ok(await resolved(authorizer, secret))
    t.type(authorizer.accessorOf(secret), 'string')
    acl.nowMs = fromMs + 5_000
    await t.rejects(resolved(authorizer, secret), { code: 'unauthenticated' })
    t.equal(authorizer.accessorOf(secret), null)
  }
  const found = acl.authorizer()
  await t.rejects(resolved(found, leased.secret), { code: 'unauthenticated' }, 'found too late')
})

void t.test('a token without uses left is refused', async (t) => {
  const acl = await begun(t)
  const authorizer = acl.authorizer()
  const spent = await acl.makeToken({ type: 'management', usesLeft: 0 })
  await t.rejects(resolved(authorizer, spent.secret), { code: 'unauthenticated' })
  t.equal(authorizer.accessorOf(spent.secret), null)
  const { secret } = await acl.makeToken({ policies: ['app'], usesLeft: 1 })
  t.ok(mayRead(await resolved(authorizer, secret), 'app/x'))
})

void t.test('a token that is bound to networks is refused from everywhere else', async (t) => {
  const acl = await begun(t)
  const authorizer = acl.authorizer()
  const table: readonly (readonly [cidrs: readonly string[], from: string, admitted: boolean])[] = [
    [['10.0.0.0/8'], '10.255.0.1', true],
    [['10.0.0.0/8'], '11.0.0.1', false],
    [['10.0.0.0/8'], '::ffff:10.0.0.1', true],
    [['10.0.0.0/8'], '2001:db8::1', false],
    [['10.0.0.0/8'], '', false],
    [['10.0.0.0/8'], 'a name', false],
    [['192.0.2.7'], '192.0.2.7', true],
    [['192.0.2.7'], '192.0.2.8', false],
    [['2001:db8::/32'], '2001:db8:1::1', true],
    [['2001:db8::/32'], '2001:db9::1', false],
    [['fe80::/10'], 'fe80::1%eth0', true],
    [['::/0'], '10.0.0.1', false],
    [['0.0.0.0/0'], '192.0.2.1', true],
    [['192.0.2.0/24', '10.0.0.0/8'], '10.0.0.1', true],
    [['10.0.0.0/33'], '10.0.0.1', false],
    [['nonsense', '10.0.0.0/8/8', ''], '10.0.0.1', false],
    [['nonsense', '10.0.0.0/8'], '10.0.0.1', true],
  ]
  for (const [boundCidrs, from, admitted] of table) {
    const { secret, accessor } = await acl.makeToken({ type: 'management', boundCidrs })
    for (const turn of ['found', 'known']) {
      const outcome = await resolved(authorizer, secret, from).then(() => 'admitted', codeOf)
      const wanted = admitted ? 'admitted' : 'permission_denied'
      t.equal(outcome, wanted, `${boundCidrs.join()} from ${from}, ${turn}`)
    }
    t.equal(authorizer.accessorOf(secret), accessor, 'the audit log knows whose it is')
  }
})

void t.test(
  'a token that is unknown here is looked for at the leader, once each time',
  async (t) => {
    const acl = await begun(t)
    let asked = 0
    let arrives: () => Promise<void> = async () => {}
    const authorizer = acl.authorizer(async () => {
      asked += 1
      await arrives()
    })
    await t.rejects(resolved(authorizer, 'wrong'), { code: 'unauthenticated' })
    t.equal(asked, 1)
    const { secret, ...row } = await (await begun(t)).makeToken({ policies: ['app'] })
    arrives = async () => {
      await acl.apply('acl.createToken', row)
    }
    t.ok(mayRead(await resolved(authorizer, secret), 'app/x'), 'made at the leader a moment ago')
    t.equal(asked, 2)
    await resolved(authorizer, secret)
    t.equal(asked, 2, 'a known one is answered at once')
    await acl.deleteToken(row.accessor)
    arrives = () => Promise.reject(new Error('there is no leader'))
    await t.rejects(
      resolved(authorizer, secret),
      { code: 'unauthenticated' },
      'without a leader too',
    )
  },
)

void t.test('what is known at once is no promise', async (t) => {
  const acl = await begun(t)
  const authorizer = acl.authorizer()
  const { secret } = await acl.makeToken({ policies: ['app'], boundCidrs: ['10.0.0.0/8'] })
  for (const token of [secret, secret, null]) {
    t.notOk(authorizer.resolve({ token, remote, requestId: 'r' }) instanceof Promise)
  }
})
