/**
 * What callers may do at a client agent, and who they are in its audit log: asked of a server, kept for a moment, and
 * judged by the same rules.
 */
import t, { type Test } from 'tap'
import { clientCallers } from '../../src/client-agent/permissions.ts'
import { systemClock, type Clock } from '../../src/lib/clock.ts'
import { silentLogger } from '../../src/lib/log.ts'
import type { Permissions } from '../../src/rpc/authorizer.ts'
import type { AclSettings } from '../../src/domains/acl/authorizer.ts'
import type { Requirement } from '../../src/rpc/method.ts'
import { serverStandIn, upstreamTo } from './server-stand-in.ts'

type Answer = { status: number; body: unknown }

async function stage(
  t: Test,
  answers: Record<string, Answer>,
  downPolicy: AclSettings['downPolicy'] = 'deny',
) {
  const seen = { asked: 0, isUp: true, hangs: false, nowMs: 0 }
  const place = await serverStandIn(t, (request, response) => {
    // Whether it is there at all is another question.
    if (request.url !== '/v1/status/leader?stale') seen.asked += 1
    if (seen.hangs) return
    const token = request.headers['x-service-token']
    const { status, body } = answers[typeof token === 'string' ? token : ''] ?? none
    response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  const upstream = upstreamTo(t, () => (seen.isUp ? [place] : []))
  const clock: Clock = { ...systemClock, monotonicMs: () => seen.nowMs }
  const settings = { enabled: true, defaultPolicy: 'deny', downPolicy } as const
  const callers = clientCallers({ settings, upstream, self: null, clock, log: silentLogger })
  const resolve = async (token: string | null, remote = ''): Promise<Permissions> =>
    callers.authorizer.resolve({ token, remote, requestId: '' })
  return { seen, resolve, bearers: callers.bearers }
}

const none = { status: 403, body: 'ACL token not found' }
const writes = (service: string): Requirement => ({
  resource: 'service',
  namespace: 'default',
  service,
  access: 'write',
})
const tokenWith = (...rules: string[]) => ({
  status: 200,
  body: {
    AccessorID: 'accessor',
    AuditHash: 'hash',
    Type: 'client',
    ExpandedPolicies: rules.map((Rules, at) => ({ Name: `p${at}`, Rules })),
  },
})

t.test('rules decide, a manager may everything, and who is unknown nothing', async (t) => {
  const { resolve, seen } = await stage(t, {
    web: tokenWith('service "web" { policy = "write" }', 'node_prefix "" { policy = "read" }'),
    root: { status: 200, body: { AccessorID: 'root', Type: 'management', ExpandedPolicies: [] } },
    newer: tokenWith('service "web" { policy = "write" }', 'nobody knows this'),
    '': { ...tokenWith(), body: { AccessorID: '', Type: 'client', ExpandedPolicies: [] } },
    broken: { status: 200, body: 'no json' },
    list: { status: 200, body: [] },
    down: { status: 500, body: 'No cluster leader' },
  })
  const web = await resolve('web')
  t.same([web.may(writes('web')), web.may(writes('db')), web.accessor], [true, false, 'accessor'])
  t.ok((await resolve('root')).may(writes('db')))
  t.notOk((await resolve('newer')).may(writes('web')), 'what cannot be read might deny')
  const anonymous = await resolve(null)
  t.same([anonymous.may(writes('web')), anonymous.accessor], [false, undefined])
  await t.rejects(resolve('unknown'), { code: 'unauthenticated' })
  await t.rejects(resolve('broken'), { code: 'unavailable' })
  await t.rejects(resolve('list'), { code: 'unavailable' })
  await t.rejects(resolve('down'), { code: 'unavailable', message: /500: No cluster leader/ })
  const before = seen.asked
  await Promise.all([resolve('web'), resolve('web'), resolve('root')])
  t.equal(seen.asked, before, 'they are kept')
})

t.test('a token that is bound to networks is refused from everywhere else', async (t) => {
  const { body } = tokenWith('service "web" { policy = "write" }')
  const { resolve, bearers } = await stage(t, {
    web: { status: 200, body: { ...body, BoundCIDRs: ['10.0.0.0/8'] } },
  })
  for (const turn of ['asked', 'kept']) {
    await t.rejects(resolve('web', '192.0.2.1'), { code: 'permission_denied' }, turn)
    t.ok((await resolve('web', '10.0.0.1')).may(writes('web')), turn)
  }
  t.equal(bearers.accessorOf('web'), 'accessor', 'the audit log knows whose it is')
})

t.test('what is kept stands for a second alone when nobody answers', async (t) => {
  const { resolve, seen } = await stage(t, { web: tokenWith() })
  await resolve('web')
  seen.isUp = false
  seen.nowMs = 999
  t.ok(await resolve('web'))
  seen.nowMs = 1_000
  await t.rejects(resolve('web'), { code: 'no_leader' })
})

t.test('with extend-cache it is asked again, and stands for a while longer', async (t) => {
  const answers: Record<string, Answer> = { web: tokenWith('service "web" { policy = "write" }') }
  const { resolve, seen } = await stage(t, answers, 'extend-cache')
  await Promise.all([resolve('web'), resolve('web')])
  t.equal(seen.asked, 1, 'asked once for both')
  seen.nowMs = 999
  await resolve('web')
  t.equal(seen.asked, 1, 'kept for a moment')
  seen.nowMs = 1_000
  answers['web'] = tokenWith('service "web" { policy = "read" }')
  t.notOk((await resolve('web')).may(writes('web')), 'a policy that changed')
  seen.isUp = false
  seen.nowMs = 30_000
  t.ok(await resolve('web'), 'no server answers')
  seen.nowMs = 40_000
  await t.rejects(resolve('web'), { code: 'no_leader' })
  const anonymous = await resolve(null)
  t.same([anonymous.may({ resource: 'none' }), anonymous.may(writes('web'))], [true, false])
  seen.isUp = true
  answers['web'] = none
  await t.rejects(resolve('web'), { code: 'unauthenticated' }, 'revoked')
  seen.isUp = false
  seen.nowMs = 41_000
  await t.rejects(resolve('web'), { code: 'no_leader' }, 'and is not brought back by silence')
})

t.test(
  'the audit log learns who brings a token, and does not wait for silent servers',
  async (t) => {
    const { bearers, resolve, seen } = await stage(t, {
      web: tokenWith(),
      down: { status: 500, body: 'No cluster leader' },
    })
    const known = { accessor: 'accessor', hash: 'hash' }
    const unknown = { accessor: null, hash: null }
    t.equal(bearers.accessorOf('web'), null, 'nobody asked yet')
    let shown = await bearers.shown(new Set(['web', 'stranger']))
    t.same([shown.get('web'), shown.get('stranger')], [known, unknown])
    t.equal(bearers.accessorOf('web'), 'accessor')
    t.equal(seen.asked, 2)
    await resolve('web')
    await bearers.shown(new Set(['web']))
    t.equal(seen.asked, 2, 'what one of them learnt the other knows')

    seen.nowMs = 31_000
    await bearers.shown(new Set(['web']))
    t.equal(
      seen.asked,
      3,
      'after a while it is asked again, for another cluster key makes another hash',
    )

    await bearers.shown(new Set(['down']))
    t.equal(seen.asked, 4)
    shown = await bearers.shown(new Set(['down', 'web', 'other']))
    t.same([shown.get('down'), shown.get('web')], [unknown, known])
    t.equal(seen.asked, 4, 'servers that do not answer are left alone for a moment')
    seen.nowMs = 32_100
    await bearers.shown(new Set(['other']))
    t.equal(seen.asked, 5)
  },
)

t.test('a server that hangs holds up no line for longer than a second', async (t) => {
  const { bearers, seen } = await stage(t, { web: tokenWith() })
  seen.hangs = true
  const shown = await bearers.shown(new Set(['web']))
  t.same(shown.get('web'), { accessor: null, hash: null })
  await bearers.shown(new Set(['other']))
  t.equal(seen.asked, 1)
})

t.test('without access control everybody may everything, and nobody is asked', async (t) => {
  const { authorizer, bearers } = clientCallers({
    settings: { enabled: false, defaultPolicy: 'deny', downPolicy: 'deny' },
    upstream: upstreamTo(t, () => []),
    self: null,
    clock: systemClock,
    log: silentLogger,
  })
  const caller = { token: 'x', remote: '', requestId: '' }
  t.ok((await authorizer.resolve(caller)).may(writes('web')))
  const shown = await bearers.shown(new Set(['x']))
  t.same([bearers.accessorOf('x'), shown.get('x')], [null, { accessor: null, hash: null }])
})
