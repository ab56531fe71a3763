/** Requests that leave rows in all tables, and requests that meet rows of all tables. */
import { applyPlan } from '../../src/domains/allocations/plan-commands.ts'
import type { PlanOutcome } from '../../src/domains/allocations/plan-model.ts'
import { registerNode, updateStatus } from '../../src/domains/nodes/commands.ts'
import { clusterKeyring } from '../../src/domains/variables/services.ts'
import { commandVersion } from '../../src/fsm/codec.ts'
import { allowAll } from '../../src/rpc/authorizer.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { placedOn } from './allocations/workloads.ts'
import { specOf } from './nodes/spec.ts'
import type { Answer, ServerOfOne, ServerOfOneOptions } from './server-of-one.ts'

/** Tokens can be written, and none is needed: a restore takes nobody's rights. */
export const everyTableOptions: ServerOfOneOptions = {
  acl: { enabled: true },
  authorizer: allowAll,
  // `fillEveryTable` raises it: there are rows that only clusters with older servers write.
  commandVersion: 1,
}

const brakePath = '/v1/operator/scheduler/brake'
const longValue = 'v'.repeat(2_000)
const later = 8_000_000_000_000_000

const registration = {
  Node: 'box',
  ID: '0f3f2b62-1d1c-4a5c-9a55-4c0a1a0a0a0a',
  Address: '10.0.0.9',
  TaggedAddresses: { lan: '10.0.0.9', wan: '192.0.2.9' },
  NodeMeta: { rack: 'r1' },
  Service: {
    ID: 'api1',
    Service: 'api',
    Tags: ['blue', 'v2'],
    Port: 8080,
    Meta: { version: '2' },
    TaggedAddresses: { lan: { Address: '10.0.0.9', Port: 80 } },
    Weights: { Passing: 3, Warning: 1 },
  },
  Checks: [
    { CheckID: 'disk', Status: 'passing', Notes: 'of the node', Definition: { HTTP: 'x' } },
    { CheckID: 'Answers', Status: 'passing', ServiceID: 'api1', Output: 'ok' },
  ],
}

const clientNode = {
  id: '0f3f2b62-1d1c-4a5c-9a55-4c0a1a0a0a0b',
  spec: specOf('box'),
  secretHash: 'a'.repeat(64),
  computedClass: 'v1:1',
  nowMs: 1,
}

const orchestratorConfig = {
  orchestrator_host: 'o.test',
  pem_keys: [
    '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA8wgXTUKP7Rz8jvmFt9aqWLCOEd6hGF2nuAI9fU4OIZk=\n-----END PUBLIC KEY-----',
  ],
  token_reviewer_jwt: 'reviewer',
}
const orchestratorRole = {
  bound_service_account_names: 'till',
  bound_service_account_namespaces: 'shop',
  audience: 'muster',
  token_policies: 'till',
  token_bound_cidrs: '10.0.0.0/8',
  token_ttl: '1h',
}

const policy = { Description: 'reads', Rules: 'key_prefix "" { policy = "read" }' }

/** Throws for an answer that is none of success. */
async function done(server: ServerOfOne, method: string, url: string, body?: unknown) {
  const answer = await server.ask(method, url, body)
  if (answer.status === 200) return answer
  throw new Error(`${method} ${url}: ${answer.status} ${answer.body}`)
}

async function sessionOf(server: ServerOfOne, body: object): Promise<string> {
  const answer = await done(server, 'PUT', '/v1/session/create', body)
  return (answer.json() as { readonly ID: string }).ID
}

/** With `everyTableOptions`. */
export async function fillEveryTable(server: ServerOfOne): Promise<void> {
  const put = (url: string, body?: unknown) => done(server, 'PUT', url, body)
  await put('/v1/namespace/prod', { Description: 'live', Meta: { team: 'a', __proto__x: 'b' } })
  await put('/v1/catalog/register', registration)
  await put('/v1/acl/bootstrap')
  await put('/v1/acl/policy/reads', policy)
  await put('/v1/acl/role/readers', { Policies: [{ Name: 'reads' }] })
  const ttl = { Name: 'for a while', Policies: ['reads'], ExpirationTTL: '24h' }
  const { AccessorID: parent } = (await put('/v1/acl/token', ttl)).json() as {
    readonly AccessorID: string
  }
  await put('/v1/operator/autopilot/configuration', { MaxTrailingLogs: 100 })
  await put('/v1/var/app/db', { Items: { password: 'secret', user: 'u' } })
  await put('/v1/var/app/cache?namespace=prod', { Items: { size: '1' } })
  await put('/v1/kv/gone', 'v')
  await done(server, 'DELETE', '/v1/kv/gone')
  const args = { tombstonesBeforeMs: later, delaysBeforeMs: 0 }
  await server.propose({ type: 'kv.reap', args })
  await put('/v1/kv/short?flags=18446744073709551615', 'v')
  await put('/v1/kv/long', longValue)
  await put('/v1/kv/gone', 'v')
  await done(server, 'DELETE', '/v1/kv/gone')
  await server.propose({ type: 'state.raiseVersion', args: { version: commandVersion } })
  await put('/v1/operator/scheduler/configuration', { SchedulerAlgorithm: 'spread' })
  await server.propose({ type: registerNode.type, args: clientNode })
  await put(`/v1/node/${clientNode.id}/drain`, {
    DrainSpec: { Deadline: 60_000_000_000 },
    Meta: { why: 'disk' },
  })
  await placeWork(server)
  await loseNode(server)
  for (const path of ['ldap', 'orchestrator']) {
    const tuned = await server.ask('POST', `/v1/sys/auth/${path}/tune`, { max_lease_ttl: '1h' })
    if (tuned.status !== 204) throw new Error(tuned.body)
  }
  await server.ask('POST', '/v1/auth/orchestrator/config', orchestratorConfig)
  await server.ask('POST', '/v1/auth/orchestrator/role/till', orchestratorRole)
  const lock = { mountId: 'first-ldap', name: 'ada', nowMs: 1, untilMs: 4_000_000_000_000 }
  await server.propose({ type: 'logins.lock', args: lock })
  const aliases = [{ rule: 'dn', name: longValue.slice(0, 1_000) }]
  const identity = { mountId: 'first-ldap', aliases, id: parent, nowMs: 1 }
  await server.propose({ type: 'entities.identify', args: identity })
  const tokenRole = {
    allowed_policies: ['reads'],
    token_period: '1h',
    allowed_entity_aliases: 'ci',
  }
  await server.ask('POST', '/v1/auth/token/roles/ci', tokenRole)
  for (const [path, body] of directoryWrites) {
    const written = await server.ask('POST', `/v1/auth/ldap/${path}`, body)
    if (written.status !== 204) throw new Error(written.body)
  }
  const child = { hash: 'h'.repeat(43), accessor: 'child', name: '', description: '' }
  const rights = { type: 'client', policies: ['reads'], roles: [] }
  const token = { ...child, ...rights, createTimeMs: 1, expirationTimeMs: null }
  await server.propose({ type: 'acl.createChildToken', args: { token, parent } })
  const ServiceChecks = [{ ID: 'Answers', Namespace: 'default' }]
  const session = { Node: 'box', NodeChecks: ['disk'], TTL: '24h', Behavior: 'delete' }
  const held = await sessionOf(server, { ...session, ServiceChecks, LockDelay: '60s' })
  await put(`/v1/kv/held?acquire=${held}`, longValue)
  await put(`/v1/kv/locked?acquire=${held}`, 'v')
  await done(server, 'DELETE', '/v1/kv/locked')
  const over = await sessionOf(server, { ...session, NodeChecks: [], Behavior: 'release' })
  await put(`/v1/kv/over?acquire=${over}`, 'v')
  await put(`/v1/session/destroy/${over}`)
}

/** The storm brake is on for it. */
async function loseNode(server: ServerOfOne): Promise<void> {
  await done(server, 'PUT', brakePath, { SharePercent: 1, MinNodes: 1, MaxHold: '0' })
  const node = '0f3f2b62-1d1c-4a5c-9a55-4c0a1a0a0a0e'
  await server.propose({ type: registerNode.type, args: { ...clientNode, id: node } })
  const updates = [{ id: node, status: 'down', cause: 'heartbeat' }]
  await server.propose({ type: updateStatus.type, args: { updates, nowMs: 1 } })
}

type Evaluated = { readonly ID: string; readonly Status: string }

/** A job whose driver no node has waits for one; a plan places it all the same. */
async function placeWork(server: ServerOfOne): Promise<void> {
  const node = '0f3f2b62-1d1c-4a5c-9a55-4c0a1a0a0a0c'
  await server.propose({ type: registerNode.type, args: { ...clientNode, id: node } })
  const updates = [{ id: node, status: 'ready', cause: 'heartbeat' }]
  await server.propose({ type: updateStatus.type, args: { updates, nowMs: 1 } })
  const task = { Name: 'main', Driver: 'docker' }
  const TaskGroups = [{ Name: 'g', Tasks: [task] }]
  const Job = { ID: 'web', Datacenters: ['dc1'], TaskGroups }
  const { EvalID: evaluation, JobModifyIndex: jobModifyIndex } = (
    await done(server, 'PUT', '/v1/jobs', { Job })
  ).json() as { readonly EvalID: string; readonly JobModifyIndex: number }
  const isOpen = ({ Status }: Evaluated) => Status === 'blocked' || Status === 'pending'
  const waiting = async () => {
    const found = (await done(server, 'GET', '/v1/evaluations')).json()
    return (found as readonly Evaluated[]).find(isOpen)?.ID
  }
  const placed = placedOn({ jobId: 'web', index: jobModifyIndex, evaluation }, node, 0)
  const none = { update: [], stop: [], evaluations: [] }
  const wanted = { autoRevert: true, autoPromote: false, progressDeadlineMs: 1_000 }
  const deployment = {
    id: '0f3f2b62-1d1c-4a5c-9a55-4c0a1a0a0a0d',
    groups: [{ group: 'g', ...wanted, desiredCanaries: 1, desiredTotal: 1 }],
  }
  const place = [{ ...placed, deploymentId: deployment.id, canary: true }]
  const plan = { jobModifyIndex, ...none, deployment, place, nowMs: 1 }
  // The scheduler may end the first evaluation meanwhile; the one that waits stays open.
  await eventuallyTrue('it is placed', async () => {
    const args = { ...plan, evaluation: await waiting() }
    const { outcome } = await server.propose({ type: applyPlan.type, args })
    return !(outcome as PlanOutcome).stale
  })
  await done(server, 'PUT', '/v1/job/web/scale', { Target: { Group: 'g' }, Message: 'as it is' })
}

const directoryWrites = [
  ['config', { url: 'ldap://127.0.0.1:1', binddn: 'cn=service', bindpass: 'secret' }],
  ['groups/ou=team,dc=test', { policies: 'reads' }],
  ['users/ada', { policies: 'reads', groups: 'team' }],
] as const

type Asked = { readonly request: string; readonly answer: Answer }

/** Reads of all there is, then writes over it, then removal of all of it, each of whatever it finds. */
export async function meetEveryTable(server: ServerOfOne): Promise<readonly Asked[]> {
  const asked: Asked[] = []
  const ask = async (method: string, url: string, body?: unknown) => {
    const answer = await server.ask(method, url, body)
    asked.push({ request: `${method} ${url}`, answer })
    return answer
  }
  const list = async (url: string): Promise<readonly Listed[]> => {
    const answer = await ask('GET', url)
    const found: unknown = answer.status === 200 ? answer.json() : []
    return Array.isArray(found) ? (found as Listed[]) : []
  }
  const put = (url: string, body?: unknown) => ask('PUT', url, body)
  const remove = (url: string) => ask('DELETE', url)

  for (const url of reads) await ask('GET', url)
  const tokens = await list('/v1/acl/tokens')
  const policies = await list('/v1/acl/policies')
  const roles = await list('/v1/acl/roles')
  const sessions = await list('/v1/session/list?namespace=*')
  const nodes = await list('/v1/catalog/nodes')
  const variables = await list('/v1/vars?namespace=*')
  const namespaces = await list('/v1/namespaces')
  for (const { AccessorID } of tokens) await ask('GET', `/v1/acl/token/${part(AccessorID)}`)
  for (const { Name } of policies) await ask('GET', `/v1/acl/policy/${part(Name)}`)
  for (const { Name } of roles) await ask('GET', `/v1/acl/role/${part(Name)}`)
  for (const { Path, Namespace } of variables) {
    await ask('GET', `/v1/var/${part(Path)}?namespace=${part(Namespace)}`)
  }
  for (const { ID } of sessions) {
    await put(`/v1/session/renew/${part(ID)}`)
    await put(`/v1/kv/short?acquire=${part(ID)}`, 'mine')
    await put(`/v1/kv/short?release=${part(ID)}`, 'ours')
  }

  await put(brakePath, { SharePercent: 2, MinNodes: 1 })
  await remove(brakePath)
  await ask('GET', '/v1/auth/orchestrator/config')
  await ask('GET', '/v1/auth/orchestrator/role?list=true')
  await ask('GET', '/v1/auth/orchestrator/role/till')
  await put('/v1/auth/orchestrator/login', { role: 'till', jwt: 'a.b.c' })
  await put('/v1/auth/orchestrator/role/till', { token_ttl: '1m' })
  await remove('/v1/auth/orchestrator/role/till')
  await put('/v1/auth/orchestrator/role/till', orchestratorRole)
  // As above: the token of the reviewer is sealed.
  await put('/v1/auth/orchestrator/config', { ...orchestratorConfig, token_reviewer_jwt: '' })
  await ask('GET', '/v1/sys/auth')
  await ask('GET', '/v1/sys/locked-users')
  await put('/v1/sys/auth/ldap/tune', { default_lease_ttl: '1m' })
  for (const [path, body] of directoryWrites) {
    await ask('GET', `/v1/auth/ldap/${path}`)
    await put(`/v1/auth/ldap/${path}`, body)
  }
  await ask('LIST', '/v1/auth/ldap/groups')
  await ask('LIST', '/v1/auth/ldap/users')
  await ask('POST', '/v1/auth/ldap/login/ada', { password: 'secret' })
  await remove('/v1/auth/ldap/groups/ou=team,dc=test')
  await remove('/v1/auth/ldap/users/ada')
  await remove('/v1/sys/auth/ldap')
  await remove('/v1/sys/auth/orchestrator')
  await put('/v1/namespace/prod', { Description: 'more' })
  await put('/v1/namespace/default', { Description: 'still' })
  await put('/v1/catalog/register', registration)
  await put('/v1/catalog/register', {
    ...registration,
    Service: { ...registration.Service, Service: 'other', Tags: [] },
    Checks: [{ CheckID: 'disk', Status: 'critical' }],
  })
  await put('/v1/catalog/register', { ...registration, Node: 'renamed', Checks: [] })
  const made = await put('/v1/session/create', { Node: 'renamed', NodeChecks: [] })
  if (made.status === 200) {
    const { ID } = made.json() as Listed
    await put(`/v1/kv/held?acquire=${part(ID)}`, 'w')
    await put(`/v1/kv/over?acquire=${part(ID)}`, 'w')
    await put(`/v1/kv/gone?acquire=${part(ID)}`, longValue)
    await put(`/v1/session/destroy/${part(ID)}`)
  }
  for (const key of ['short', 'long', 'held', 'gone']) {
    await put(`/v1/kv/${key}`, longValue)
    await put(`/v1/kv/${key}`, 'v')
    await ask('GET', `/v1/kv/${key}`)
  }
  await put('/v1/txn', [
    { KV: { Verb: 'get-tree', Key: '' } },
    { KV: { Verb: 'set', Key: 'long', Value: 'dg==' } },
    { KV: { Verb: 'delete', Key: 'short' } },
  ])
  // Without a key that this server can open, a write waits for one.
  const ring = server.services.get(clusterKeyring)
  if ((await ring.activeClusterKey(server.machine.reader())) !== null) {
    await put('/v1/var/app/db', { Items: { password: 'changed' } })
    await put('/v1/var/app/db?cas=1', { Items: { password: 'changed' } })
    await put('/v1/operator/keyring/rotate')
  }
  await put('/v1/operator/autopilot/configuration', { MinQuorum: 3 })
  await put('/v1/acl/policy/reads', policy)
  await put('/v1/acl/role/readers', { Policies: [{ Name: 'reads' }] })
  for (const { AccessorID } of tokens) {
    await put(`/v1/acl/token/${part(AccessorID)}`, { Name: 'changed' })
  }
  await put('/v1/acl/token', { Roles: [{ Name: 'readers' }] })

  for (const { AccessorID } of tokens) await remove(`/v1/acl/token/${part(AccessorID)}`)
  for (const { Name } of policies) await remove(`/v1/acl/policy/${part(Name)}`)
  for (const { Name } of roles) await remove(`/v1/acl/role/${part(Name)}`)
  for (const { Node } of nodes) {
    await ask('GET', `/v1/health/node/${part(Node)}`)
    await put('/v1/catalog/deregister', { Node, ServiceID: 'api1' })
    await put('/v1/catalog/deregister', { Node, CheckID: 'disk' })
    await put('/v1/catalog/deregister', { Node })
  }
  for (const { ID } of sessions) await put(`/v1/session/destroy/${part(ID)}`)
  for (const { Path, Namespace } of variables) {
    await remove(`/v1/var/${part(Path)}?namespace=${part(Namespace)}`)
  }
  await remove('/v1/kv/?recurse')
  await remove('/v1/kv/?recurse&namespace=prod')
  for (const { Name } of namespaces) await remove(`/v1/namespace/${part(Name)}`)
  const args = { tombstonesBeforeMs: later, delaysBeforeMs: later }
  await server.propose({ type: 'kv.reap', args })
  await put('/v1/kv/short', 'v')
  for (const url of reads) await ask('GET', url)
  return asked
}

type Listed = Readonly<
  Record<'AccessorID' | 'Name' | 'ID' | 'Node' | 'Path' | 'Namespace', string | undefined>
>

function part(text = ''): string {
  return encodeURIComponent(text.toWellFormed())
}

const reads = [
  '/v1/namespaces',
  '/v1/namespace/prod',
  '/v1/acl/tokens',
  '/v1/acl/policies',
  '/v1/acl/roles',
  brakePath,
  '/v1/catalog/nodes',
  '/v1/catalog/node/box',
  '/v1/catalog/node-services/box',
  '/v1/catalog/services',
  '/v1/catalog/service/api',
  '/v1/health/node/box',
  '/v1/health/checks/api',
  '/v1/health/service/api?passing',
  '/v1/health/state/any',
  '/v1/session/list?namespace=*',
  '/v1/session/node/box',
  '/v1/kv/?recurse',
  '/v1/kv/?keys&separator=/',
  '/v1/kv/?recurse&namespace=prod',
  '/v1/kv/long',
  '/v1/kv/short?raw',
  '/v1/vars?namespace=*',
  '/v1/vars?prefix=app&per_page=1',
  '/v1/var/app/db',
  '/v1/var/app/cache?namespace=prod',
  '/v1/operator/autopilot/configuration',
  '/v1/operator/scheduler/configuration',
  '/v1/operator/keyring/keys',
]
