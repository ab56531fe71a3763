/**
 * Every route of the product with no token, a wrong one, one that may do all but what the route requires, and one that
 * may do just that. A new route is refused to callers without a token, or stands in one of the lists below with a reason.
 * What each requires is the table in docs/access-control.md; TAP_SNAPSHOT=1 writes it anew.
 */
import t, { type Test } from 'tap'
import { hasJsonErrors } from '../../../src/api/errors.ts'
import type { Route } from '../../../src/api/route.ts'
import { AclAuthorizer } from '../../../src/domains/acl/authorizer.ts'
import { familyNames, rulesOf, type Family } from '../../../src/domains/acl/capabilities-model.ts'
import { capabilityName, questionOf } from '../../../src/domains/acl/authorize.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { MusterError } from '../../../src/lib/errors.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import type { Authorizer } from '../../../src/rpc/authorizer.ts'
import type { Requirement } from '../../../src/rpc/method.ts'
import { documentTable } from '../../support/document-table.ts'
import { serverOfOne } from '../server-of-one.ts'

/** Routes that anybody may ask, and why. */
const open: Readonly<Record<string, string>> = {
  'PUT /v1/acl/bootstrap': 'there is no token yet',
  'PUT /v1/acl/bootstrap (consul)': 'there is no token yet',
  'PUT /v1/agent/join': 'the specification requires none',
  'GET /v1/agent/health': 'load balancers ask it',
  'GET /v1/regions': 'it names what every certificate names',
  'GET /v1/status/leader': 'clients look for the leader',
  'GET /v1/status/peers': 'clients look for servers',
  'GET /v1/metrics': 'collectors have no token; it holds figures',
  'GET /v1/agent/metrics': 'collectors have no token; it holds figures',
  'GET /v1/catalog/datacenters': 'it names the one there is',
  'GET /v1/openapi.json': 'it is the same for all',
  'POST /v1/auth/ldap/login/*': 'who logs in has no token yet',
  'GET /v1/sys/health': 'load balancers ask it',
  'GET /v1/sys/seal-status': 'clients ask before they have a token',
  'GET /v1/sys/init': 'clients ask before they have a token',
  'GET /v1/sys/leader': 'clients look for the leader',
  ...Object.fromEntries(
    ['GET', 'PUT', 'DELETE', 'LIST'].map((method) => [
      `${method} /v1/auth/*`,
      'nothing is mounted at x; what is asks for itself',
    ]),
  ),
  'POST /v1/auth/orchestrator/login': 'who logs in has no token yet',
}

/** Lists and reads that show each caller what it may see. */
const filtered: ReadonlySet<string> = new Set([
  'GET /v1/acl/policies',
  'GET /v1/namespaces',
  'GET /v1/vars',
  'GET /v1/jobs',
  'GET /v1/scaling/policies',
  'GET /v1/evaluations',
  'GET /v1/allocations',
  'GET /v1/evaluation/:eval_id/allocations',
  'GET /v1/deployments',
  'GET /v1/deployment/allocations/:deployment_id',
  'GET /v1/catalog/nodes',
  'GET /v1/catalog/services',
  'GET /v1/catalog/service/*',
  'GET /v1/catalog/node/:node',
  'GET /v1/catalog/node-services/:node',
  'GET /v1/health/node/:node',
  'GET /v1/health/checks/*',
  'GET /v1/health/state/:state',
  'GET /v1/health/service/*',
  'GET /v1/agent/services',
  'GET /v1/agent/checks',
  'GET /v1/session/info/:uuid',
  'GET /v1/session/node/:node',
  'GET /v1/session/list',
  'GET /v1/event/stream',
  'GET /v1/event/list',
  'GET /v1/coordinate/nodes',
  'GET /v1/coordinate/node/:node',
  'GET /v1/coordinate/datacenters',
  'GET /v1/sys/internal/ui/mounts',
  'GET /v1/sys/internal/ui/mounts/*',
])

/** What they require follows from the check that the agent has. */
const ofItsService: ReadonlySet<string> = new Set(
  ['deregister', 'pass', 'warn', 'fail', 'update'].flatMap((change) => [
    `PUT /v1/agent/check/${change}/*`,
    `GET /v1/agent/check/${change}/* (consul)`,
  ]),
)

/** Whoever has a token at all. */
const anyToken: ReadonlySet<string> = new Set([
  'GET /v1/acl/policy/self',
  'GET /v1/acl/token/self',
  'GET /v1/acl/token/self (consul)',
  'POST /v1/sys/capabilities-self',
])

/** Open routes that look at a token all the same. */
const looksAtToken: ReadonlySet<string> = new Set([
  'PUT /v1/acl/bootstrap',
  'PUT /v1/acl/bootstrap (consul)',
])

/** Routes that look at no token: a wrong one is as good as none. */
const unasked: ReadonlySet<string> = new Set(
  Object.keys(open).filter((name) => !looksAtToken.has(name)),
)

/** What a route must be sent so that it comes to ask: parameters of the path are `x` and bodies `{}` without. */
const examples: Readonly<Record<string, { readonly url?: string; readonly body?: unknown }>> = {
  'PUT /v1/namespace': { body: { Name: 'x' } },
  'PUT /v1/deployment/pause/:deployment_id': { body: { Pause: true } },
  'PUT /v1/deployment/promote/:deployment_id': { body: { All: true } },
  'PUT /v1/deployment/allocation-health/:deployment_id': {
    body: { HealthyAllocationIDs: ['x'] },
  },
  'POST /v1/jobs/parse': { body: { JobHCL: 'job "x" {}' } },
  'POST /v1/validate/job': { body: { Job: {} } },
  'PUT /v1/jobs': { body: { Job: {} } },
  'PUT /v1/job/:job_id': { body: { Job: { ID: 'x' } } },
  'PUT /v1/job/:job_id/plan': { body: { Job: { ID: 'x' } } },
  'PUT /v1/job/:job_id/revert': { body: { JobVersion: 0 } },
  'PUT /v1/acl/policy/:name': { body: { Rules: '' } },
  'PUT /v1/acl/token': { body: { Policies: ['x'] } },
  'PUT /v1/acl/role/:name': { body: { Policies: ['x'] } },
  'POST /v1/sys/capabilities-self': { body: { paths: ['x'] } },
  'POST /v1/sys/capabilities': { body: { token: 'x', paths: ['x'] } },
  'POST /v1/sys/capabilities-accessor': { body: { accessor: 'x', paths: ['x'] } },
  'GET /v1/sys/mounts/auth/*': { url: '/v1/sys/mounts/auth/x/tune' },
  'POST /v1/sys/mounts/auth/*': { url: '/v1/sys/mounts/auth/x/tune' },
  'PUT /v1/sys/policies/acl/*': { body: { policy: '' } },
  'PUT /v1/sys/policy/*': { body: { policy: '' } },
  'PUT /v1/catalog/register': { body: { Node: 'n', Address: '10.0.0.1' } },
  'PUT /v1/catalog/agent': { body: { Node: 'n', Address: '10.0.0.1' } },
  'PUT /v1/node/:node_id/eligibility': { body: { Eligibility: 'eligible' } },
  'PUT /v1/catalog/deregister': { body: { Node: 'n' } },
  'PUT /v1/agent/service/register': { body: { Name: 'x' } },
  'PUT /v1/agent/check/register': { body: { Name: 'x', TTL: '10s' } },
  'PUT /v1/agent/maintenance': { url: '/v1/agent/maintenance?enable=true' },
  'PUT /v1/agent/service/maintenance/*': { url: '/v1/agent/service/maintenance/x?enable=true' },
  'PUT /v1/agent/check/update/*': { body: { Status: 'passing' } },
  'PUT /v1/session/destroy/:uuid': { url: '/v1/session/destroy/{session}' },
  'PUT /v1/session/renew/:uuid': { url: '/v1/session/renew/{session}' },
  'GET /v1/acl/explain': { url: '/v1/acl/explain?path=/v1/kv/x' },
  'PUT /v1/txn': { body: [{ KV: { Verb: 'set', Key: 'k', Value: '' } }] },
  'PUT /v1/var/*': { body: { Items: { a: 'b' } } },
  'DELETE /v1/operator/raft/peer': { url: '/v1/operator/raft/peer?id=x' },
  'PUT /v1/operator/raft/transfer-leadership': {
    url: '/v1/operator/raft/transfer-leadership?id=x',
  },
  'POST /v1/operator/raft/transfer-leader': {
    url: '/v1/operator/raft/transfer-leader?id=x',
  },
  'PUT /v1/agent/force-leave': { url: '/v1/agent/force-leave?node=x' },
  'PUT /v1/agent/join': { url: '/v1/agent/join?address=127.0.0.1' },
  'PUT /v1/agent/schedulers/config': { body: { num_schedulers: 1, enabled_schedulers: ['_core'] } },
  // Refused once the caller is known: a stream that is granted would not end.
  'GET /v1/event/stream': { url: '/v1/event/stream?topic=x' },
  'GET /v1/agent/pprof/:name': { url: '/v1/agent/pprof/cmdline' },
  ...Object.fromEntries(
    ['lookup', 'renew', 'revoke', 'revoke-orphan'].map((verb) => [
      `POST /v1/auth/token/${verb}`,
      { body: { token: 'x' } },
    ]),
  ),
  ...Object.fromEntries(
    ['lookup', 'renew', 'revoke'].map((verb) => [
      `POST /v1/auth/token/${verb}-accessor`,
      { body: { accessor: 'x' } },
    ]),
  ),
  ...Object.fromEntries(
    ['POST', 'PUT', 'DELETE'].map((method) => [
      `${method} /v1/operator/keyring`,
      { body: { Key: Buffer.alloc(32).toString('base64') } },
    ]),
  ),
  ...Object.fromEntries(
    ['operator/gossip', 'agent'].flatMap((place) =>
      ['install', 'use', 'remove'].map((change) => [
        `PUT /v1/${place}/keyring/${change}`,
        { body: { Key: Buffer.alloc(32).toString('base64') } },
      ]),
    ),
  ),
}

/** Clients of the secrets service know one text. */
const jsonRefusal = '{"errors":["permission denied"]}'

void t.test('every route asks who is there', async (t) => {
  const asked: Requirement[] = []
  let inner: Authorizer | null = null
  /** What is granted ends there with 503: the walk changes nothing, and no stream has to be ended. */
  const authorizer: Authorizer = {
    resolve: async (caller) => {
      const permissions = await inner?.resolve(caller)
      if (permissions === undefined) throw new Error('not wired yet')
      return {
        ...permissions,
        // Lists that require a right to something, whatever it is.
        maySome: (right) => {
          if (permissions.maySome?.(right) === true) return true
          if (right.resource === 'node') asked.push({ resource: 'node', access: right.access })
          return false
        },
        may: (requirement) => {
          if (!permissions.may(requirement)) {
            asked.push(requirement)
            return false
          }
          if (requirement.resource === 'none' || setUp) return true
          throw new MusterError('unavailable', 'granted')
        },
      }
    },
  }
  let setUp = true
  const server = await serverOfOne(t, { begin: false, acl: { enabled: true }, authorizer })
  const settings = { enabled: true, defaultPolicy: 'deny', downPolicy: 'deny' } as const
  inner = new AclAuthorizer({
    settings,
    reader: server.machine.reader(),
    freshen: async () => {},
    confirm: () => null,
    batch: { open: () => null, stands: () => false },
    spend: async () => true,
    clock: systemClock,
    log: silentLogger,
  })
  const root = secretOf((await server.ask('PUT', '/v1/acl/bootstrap')).json())
  const manage = async (method: string, path: string, body: unknown): Promise<unknown> => {
    const answer = await server.ask(method, path, body, root)
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.body}`)
    return answer.body === '' ? null : answer.json()
  }
  await manage('PUT', '/v1/catalog/register', {
    Node: 'n',
    Address: '10.0.0.1',
    Service: { Service: 'web' },
    Check: { Name: 'c', Status: 'passing' },
  })
  const session = await manage('PUT', '/v1/session/create', { Node: 'n', NodeChecks: [] })
  const sessionId = String((session as { readonly ID: unknown }).ID)
  let policies = 0
  const tokenWith = async (rules: string): Promise<string> => {
    setUp = true
    const name = `least-${(policies += 1)}`
    await manage('PUT', `/v1/acl/policy/${name}`, { Rules: rules })
    const made = secretOf(await manage('PUT', '/v1/acl/token', { Policies: [name] }))
    setUp = false
    return made
  }
  const ask = (route: Route, token?: string) => {
    const { url, body } = requestOf(route)
    const headers = route.dialect === undefined ? {} : { 'x-service-dialect': route.dialect }
    return server.ask(route.method, url.replace('{session}', sessionId), body, token, headers)
  }
  setUp = false

  const names = new Set(server.composed.routes.map(nameOf))
  for (const name of [
    ...Object.keys(open),
    ...filtered,
    ...anyToken,
    ...looksAtToken,
    ...Object.keys(examples),
  ]) {
    t.ok(names.has(name), `${name} is listed here, so it is there`)
  }

  const documented: [name: string, requires: string][] = []
  for (const route of server.composed.routes) {
    const name = nameOf(route)
    const wrong = await ask(route, 'wrong')
    const unknown = hasJsonErrors(route.path)
      ? jsonRefusal
      : /^ACL token not found: .*\(ACL not found\), request [-\w]+$/
    if (unasked.has(name)) t.notMatch(wrong.body, unknown, `${name} looks at no token`)
    else {
      t.match(wrong.body, unknown)
      t.equal(wrong.status, 403, `${name} with a wrong token: ${wrong.body.slice(0, 200)}`)
    }
    asked.length = 0
    const nobody = await ask(route)
    if (name in open) {
      const text = /^Permission denied: the request has no token/
      t.notMatch(nobody.body, hasJsonErrors(route.path) ? jsonRefusal : text, `${name} is open`)
      documented.push([name, 'none'])
      t.equal(route.permission, 'none', `${name} says so`)
      continue
    }
    if (!filtered.has(name)) {
      t.equal(nobody.status, 403, `${name} without a token: ${nobody.body.slice(0, 200)}`)
      const text = /^Permission denied: the request has no token.*, request [-\w]+$/
      t.match(nobody.body, hasJsonErrors(route.path) ? jsonRefusal : text)
    }
    const required = [...asked]
    const requires = requirementText(name, required)
    documented.push([name, requires])
    t.equal(route.permission, requires.replaceAll('`', ''), `${name} says what it requires`)
    t.ok(
      required.length > 0 || filtered.has(name) || anyToken.has(name),
      `${name} requires something`,
    )
    const least = await tokenWith(policyFor(required))
    t.not((await ask(route, least)).status, 403, `${name} with the least token`)
    if (filtered.has(name) || anyToken.has(name)) continue
    const other = await tokenWith(allBut(required))
    const refused = await ask(route, other)
    t.equal(refused.status, 403, `${name} with all rights but the one: ${refused.body}`)
    const text = /^Permission denied: token with .* lacks permission '.*, request [-\w]+$/
    t.match(refused.body, hasJsonErrors(route.path) ? jsonRefusal : text)
  }
  await compareTable(t, documented)
})

function requirementText(name: string, required: readonly Requirement[]): string {
  if (filtered.has(name)) return 'filtered'
  if (anyToken.has(name)) return 'any token'
  if (ofItsService.has(name)) return '`service:write` of its service, else `node:write`'
  const names = required.flatMap((one) => {
    const question = questionOf(one)
    return question === null ? [] : [`\`${capabilityName(question)}\``]
  })
  return [...new Set(names)].join(', ')
}

const document = new URL('../../../docs/access-control.md', import.meta.url)

function compareTable(
  t: Test,
  documented: readonly (readonly [name: string, requires: string])[],
): Promise<void> {
  const rows = documented
    .toSorted(([left], [right]) => (pathOf(left) < pathOf(right) ? -1 : 1))
    .map(([name, requires]) => [`\`${name}\``, requires])
  return documentTable(t, {
    document,
    name: 'requirements',
    writtenBy: 'test/domains/acl/every-route.test.ts',
    rows: [['request', 'requires'], ...rows],
  })
}

/** Paths in front, so that what belongs together stands together. */
function pathOf(name: string): string {
  const [method = '', path = ''] = name.split(' ')
  return `${path} ${method}`
}

/** With the dialect of a route that has one. */
function nameOf({ method, path, dialect }: Route): string {
  return `${method} ${path}${dialect === undefined ? '' : ` (${dialect})`}`
}

function secretOf(answer: unknown): string {
  return String((answer as { readonly SecretID: unknown }).SecretID)
}

function requestOf(route: Route): { readonly url: string; readonly body?: unknown } {
  const example = examples[nameOf(route)]
  const url = example?.url ?? route.path.replaceAll(/:[a-z_]+/g, 'x').replace('*', 'x')
  if (example?.body !== undefined) return { url, body: example.body }
  return ['GET', 'DELETE', 'LIST'].includes(route.method) ? { url } : { url, body: {} }
}

type Rules = Partial<Record<string, object[]>>

/** Just these, in the policy language as JSON. */
function policyFor(required: readonly Requirement[]): string {
  const rules: Rules = {}
  for (const requirement of required) {
    const question = questionOf(requirement)
    if (question === null) continue
    const { target, capability } = question
    const { family, namespace } = target
    const grant = { capabilities: [`${family}:${capability}`] }
    const name = target.below ? `${target.name}*` : target.name
    if (!rulesOf(family).named) add(rules, family, grant)
    else if (namespace === null) add(rules, family, { [name]: grant })
    else if (family === 'variables') {
      add(rules, 'namespace', { [namespace]: { variables: { path: { [name]: grant } } } })
    } else add(rules, 'namespace', { [namespace]: { [family]: { [name]: grant } } })
  }
  return JSON.stringify(rules)
}

/** All rights there are, in all families but those that are required. */
function allBut(required: readonly Requirement[]): string {
  const needed = new Set<Family>(required.flatMap((one) => questionOf(one)?.target.family ?? []))
  // Where no rule is for the keyring, the agent's is.
  if (needed.has('keyring')) needed.add('agent')
  const all = { policy: 'write' }
  const rules: Rules = {}
  const inside: Record<string, object> = {}
  for (const family of familyNames.filter((name) => !needed.has(name))) {
    const { named, scoped, words } = rulesOf(family)
    if (words['write'] === undefined) {
      add(rules, family, { '*': { policy: Object.keys(words)[0] } })
    } else if (family === 'namespace') Object.assign(inside, all)
    else if (family === 'variables') inside[family] = { path: { '*': all } }
    else if (scoped) inside[family] = { '*': all }
    else add(rules, family, named ? { '*': all } : all)
  }
  // Any right inside of a namespace is also one to know of it.
  if (!needed.has('namespace')) add(rules, 'namespace', { '*': inside })
  return JSON.stringify(rules)
}

function add(rules: Rules, family: string, rule: object): void {
  rules[family] = [...(rules[family] ?? []), rule]
}
