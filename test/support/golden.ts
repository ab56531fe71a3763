/**
 * Golden data: the data folder and the snapshot archive of an earlier version of the program, with what that version answered to
 * reads of all that is in it. test/golden/README.md says how they are made and what is in them.
 */
import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Cluster, ClusterOptions } from './cluster.ts'
import { eventually, eventuallyTrue } from './eventually.ts'
import {
  fillGoldenJobs,
  fillGoldenWork,
  GoldenNodes,
  goldenWorkGoesOn,
  goldenWorkReads,
  type AskJson,
} from './golden-work.ts'
import type { Reply } from './http-client.ts'

const run = promisify(execFile)

const goldenFolder = fileURLToPath(new URL('../golden', import.meta.url))

/** Made up for these folders, and used nowhere else. */
const managementToken = 'golden-management-token-that-opens-only-golden-folders'
const clusterKey = Buffer.from('a made-up key for golden folders').toString('base64')

export type Golden = {
  /** Secrets of tokens by what they are, and the ids of sessions. */
  readonly ids: Readonly<Record<string, string>>
  /** What a read was answered, by its path: JSON, or text that is none. */
  readonly answers: Readonly<Record<string, unknown>>
}

export async function goldenNames(): Promise<readonly string[]> {
  const entries = await readdir(goldenFolder, { withFileTypes: true })
  return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).toSorted()
}

/** Of a server that reads golden data; the caller has written the key. */
export function goldenOptions(keyFile: string): ClusterOptions {
  return {
    servers: 1,
    writeFirst: false,
    config: { acl: { enabled: true, bootstrap_token: managementToken } },
    server: { keyring_key_file: keyFile },
  }
}

/** Writes the key to the folder, for this process's user alone. Returns its path. */
export async function writeGoldenKey(folder: string): Promise<string> {
  const file = join(folder, 'golden.key')
  await writeFile(file, `${clusterKey}\n`, { mode: 0o600 })
  return file
}

export async function readGolden(name: string): Promise<Golden> {
  const text = await readFile(join(goldenFolder, name, 'answers.json'), 'utf8')
  return withoutEnded(JSON.parse(text) as Golden, Date.now())
}

/** A lease whose end comes while the test runs counts as over. */
const testMs = 600_000

type ListedToken = { readonly AccessorID: string; readonly ExpirationTime?: string }

/** Without tokens whose time is over by now: they are gone, whatever the version. */
function withoutEnded({ ids, answers }: Golden, nowMs: number): Golden {
  const tokens = answers['/v1/acl/tokens'] as readonly ListedToken[]
  const ended = tokens.flatMap(({ AccessorID, ExpirationTime }) => {
    const isOver = ExpirationTime !== undefined && Date.parse(ExpirationTime) <= nowMs + testMs
    return isOver ? [AccessorID] : []
  })
  const standing = (one: unknown): boolean => {
    const accessor = typeof one === 'string' ? one : (one as Partial<ListedToken>)?.AccessorID
    return accessor === undefined || !ended.includes(accessor)
  }
  const rest = JSON.stringify(answers, (_name, value: unknown) =>
    Array.isArray(value) ? value.filter(standing) : value,
  )
  const { leasedToken, ...others } = ids
  const leaseStands = standing(ids['leasedAccessor'])
  return {
    ids: leasedToken !== undefined && leaseStands ? ids : others,
    answers: JSON.parse(rest) as Golden['answers'],
  }
}

export async function readGoldenArchive(name: string): Promise<Buffer> {
  return readFile(join(goldenFolder, name, 'archive.tgz'))
}

export async function unpackGoldenData(name: string, dataFolder: string): Promise<void> {
  await mkdir(dataFolder, { recursive: true })
  await run('tar', ['-xzf', join(goldenFolder, name, 'data.tgz'), '-C', dataFolder])
}

export async function writeGolden(
  name: string,
  golden: Golden,
  archive: Buffer,
  dataFolder: string,
): Promise<void> {
  const folder = join(goldenFolder, name)
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'answers.json'), `${JSON.stringify(golden, null, 2)}\n`)
  await writeFile(join(folder, 'archive.tgz'), archive)
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--sort=name']
  const file = join(folder, 'data.tgz')
  await run('tar', [
    '-czf',
    file,
    ...owner,
    '--exclude=LOG',
    '--exclude=LOG.old',
    '--exclude=muster.pid',
    '-C',
    dataFolder,
    '.',
  ])
}

/** Asks with the management token, again while there is no leader or no key yet. */
export async function askGolden(
  cluster: Cluster,
  of: string,
  body?: unknown,
  token: string = managementToken,
): Promise<Reply> {
  const [method = '', path = ''] = of.split(' ')
  return eventually(of, async () => {
    const reply = await cluster
      .http(0)
      .request(method, path, {
        headers: { 'x-service-token': token },
        ...(body !== undefined && { body: bytesOf(body) }),
      })
      .catch(() => undefined)
    return reply === undefined || reply.status >= 500 ? undefined : reply
  })
}

function bytesOf(body: unknown): string | Buffer {
  return typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
}

/** Resolves once the leader has made the management token. */
export async function goldenTokenStands(cluster: Cluster): Promise<void> {
  await eventuallyTrue('the management token stands', async () => {
    return (await askGolden(cluster, 'GET /v1/acl/policies')).status === 200
  })
}

/** The JSON of a 200, null of a 204. Anything else throws. */
async function doneJson(cluster: Cluster, of: string, body?: unknown): Promise<unknown> {
  const { status, body: answer } = await askGolden(cluster, of, body)
  if (status === 204) return null
  if (status !== 200) throw new Error(`${of}: ${status} ${answer.toString()}`)
  return jsonOf(answer)
}

async function memberOf(
  cluster: Cluster,
  of: string,
  body: unknown,
  member: string,
): Promise<string> {
  const answer = (await doneJson(cluster, of, body)) as Readonly<Record<string, unknown>>
  const value = answer[member]
  if (typeof value !== 'string') throw new Error(`${of}: no ${member}`)
  return value
}

/** JSON, or the text itself. */
export function jsonOf(body: Buffer): unknown {
  const text = body.toString()
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

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
    Address: '10.0.0.9',
    Port: 8080,
    Meta: { version: '2' },
    TaggedAddresses: { lan: { Address: '10.0.0.9', Port: 80 } },
    Weights: { Passing: 3, Warning: 1 },
  },
  Checks: [
    { CheckID: 'disk', Name: 'disk', Status: 'passing', Notes: 'of the node' },
    { CheckID: 'answers', Name: 'answers', Status: 'warning', ServiceID: 'api1', Output: 'slow' },
  ],
}

const rules = 'key_prefix "" { policy = "read" }\nsession_prefix "" { policy = "write" }'

/** Who and what there is: written before the server is stopped in order and started again. */
export async function fillGoldenNames(cluster: Cluster): Promise<Record<string, string>> {
  await goldenTokenStands(cluster)
  const put = (path: string, body?: unknown) => doneJson(cluster, `PUT ${path}`, body)
  await put('/v1/namespace/prod', { Description: 'live', Meta: { team: 'a' } })
  await put('/v1/catalog/register', registration)
  await put('/v1/acl/policy/reads', { Description: 'reads keys', Rules: rules })
  await put('/v1/acl/role/readers', { Description: 'who reads', Policies: [{ Name: 'reads' }] })
  const byPolicy = { Name: 'by policy', Policies: ['reads'] }
  const byRole = { Name: 'by role', Roles: [{ Name: 'readers' }] }
  const of = 'PUT /v1/acl/token'
  return {
    policyToken: await memberOf(cluster, of, byPolicy, 'SecretID'),
    roleToken: await memberOf(cluster, of, byRole, 'SecretID'),
  }
}

/** What they hold: in the log only, where the server is killed right after. */
export async function fillGoldenHoldings(cluster: Cluster): Promise<Record<string, string>> {
  const put = (path: string, body?: unknown) => doneJson(cluster, `PUT ${path}`, body)
  await put('/v1/operator/autopilot/configuration', { MaxTrailingLogs: 100 })
  await put('/v1/var/app/db', { Items: { password: 'made up', user: 'u' } })
  await put('/v1/operator/keyring/rotate')
  await put('/v1/var/app/cache?namespace=prod', { Items: { size: '1' } })
  await put('/v1/kv/short?flags=18446744073709551615', 'v')
  await put('/v1/kv/long', 'v'.repeat(2_000))
  await put('/v1/kv/prod/own?namespace=prod', 'its own')
  await put('/v1/kv/gone', 'v')
  await doneJson(cluster, 'DELETE /v1/kv/gone')
  const session = { Node: 'box', LockDelay: '15s', TTL: '24h', Behavior: 'delete', Name: 'holder' }
  const of = 'PUT /v1/session/create'
  const checks = { NodeChecks: ['disk'], ServiceChecks: [{ ID: 'answers' }] }
  const holder = await memberOf(cluster, of, { ...session, ...checks }, 'ID')
  const endless = await memberOf(
    cluster,
    of,
    { Node: 'box', NodeChecks: [], Name: 'endless' },
    'ID',
  )
  await put(`/v1/kv/held?acquire=${holder}`, 'held')
  await put(`/v1/kv/kept?acquire=${endless}`, 'kept')
  await put('/v1/txn', [
    { KV: { Verb: 'set', Key: 'txn/a', Value: 'YQ==' } },
    { KV: { Verb: 'set', Key: 'txn/b', Value: 'Yg==' } },
  ])
  return { holder, endless }
}

/** Rows that came with logins; an earlier version has no such endpoints and is asked nothing of it. */
export async function fillGoldenLogins(cluster: Cluster): Promise<Record<string, string>> {
  if ((await askGolden(cluster, 'GET /v1/sys/auth')).status === 404) return {}
  const post = (path: string, body: unknown) => doneJson(cluster, `POST ${path}`, body)
  await post('/v1/sys/auth/people', { type: 'ldap', description: 'people' })
  const directory = { url: 'ldap://127.0.0.1:1', binddn: 'cn=service', bindpass: 'made up' }
  await post('/v1/auth/people/config', directory)
  await post('/v1/auth/people/groups/team', { policies: 'reads' })
  await post('/v1/auth/people/users/ada', { policies: 'reads', groups: 'team' })
  await post('/v1/auth/orchestrator/config', {
    pem_keys: [
      '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA8wgXTUKP7Rz8jvmFt9aqWLCOEd6hGF2nuAI9fU4OIZk=\n-----END PUBLIC KEY-----',
    ],
    orchestrator_host: 'https://orchestrator.test',
  })
  await post('/v1/auth/orchestrator/role/till', {
    bound_service_account_names: 'till',
    bound_service_account_namespaces: 'shop',
    token_policies: 'till',
    token_ttl: '1h',
  })
  await post('/v1/auth/token/roles/ci', { allowed_policies: 'reads', token_period: '1h' })
  // As long as a lease can be, which is 32 days: afterwards the token is gone, see `withoutEnded`.
  const lease = { policies: ['reads'], period: '87600h', display_name: 'golden' }
  const made = (await post('/v1/auth/token/create', lease)) as {
    readonly auth: { readonly client_token: string; readonly accessor: string }
  }
  return { leasedToken: made.auth.client_token, leasedAccessor: made.auth.accessor }
}

/** Rows that came with workloads; `goesOn`: those that are written after a restart. */
export async function fillGoldenWorkloads(
  cluster: Cluster,
  { goesOn }: { readonly goesOn: boolean },
): Promise<Golden['ids']> {
  const ask = askOf(cluster)
  if ((await askGolden(cluster, 'GET /v1/jobs')).status === 404) return {}
  const nodes = await GoldenNodes.open(cluster.server(0).spec.ports.http, managementToken)
  try {
    return await (goesOn ? fillGoldenWork(ask) : fillGoldenJobs(ask))
  } finally {
    nodes.close()
  }
}

/** What can be done with them. */
export function goldenWorkloadsGoOn(cluster: Cluster, ids: Golden['ids']): Promise<void> {
  return goldenWorkGoesOn(askOf(cluster), ids)
}

function askOf(cluster: Cluster): AskJson {
  return (of, body) => doneJson(cluster, of, body)
}

/** All that can be read of these rows and does not change by itself. */
function goldenReads(ids: Golden['ids']): readonly string[] {
  const { holder = '', endless = '', leasedAccessor } = ids
  return [
    '/v1/namespaces',
    '/v1/namespace/prod',
    '/v1/acl/tokens',
    '/v1/acl/policies',
    '/v1/acl/policy/reads',
    '/v1/acl/roles',
    '/v1/catalog/node/box',
    '/v1/catalog/service/api',
    '/v1/health/node/box',
    '/v1/health/checks/api',
    '/v1/health/service/api',
    '/v1/session/list?namespace=*',
    `/v1/session/info/${holder}`,
    `/v1/session/info/${endless}`,
    '/v1/session/node/box',
    '/v1/kv/?recurse',
    '/v1/kv/?keys&separator=/',
    '/v1/kv/?recurse&namespace=prod',
    '/v1/kv/long?raw',
    '/v1/vars?namespace=*',
    '/v1/var/app/db',
    '/v1/var/app/cache?namespace=prod',
    '/v1/operator/autopilot/configuration',
    ...(leasedAccessor === undefined ? [] : loginReads),
    ...goldenWorkReads(ids),
  ]
}

const loginReads = [
  '/v1/sys/auth',
  '/v1/auth/people/config',
  '/v1/auth/people/groups/team',
  '/v1/auth/people/users/ada',
  '/v1/auth/orchestrator/config',
  '/v1/auth/orchestrator/role/till',
  '/v1/auth/token/roles/ci',
  '/v1/auth/token/accessors?list=true',
]

/** What the server answers to each of the reads. */
export async function goldenAnswers(
  cluster: Cluster,
  ids: Golden['ids'],
): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {}
  for (const path of goldenReads(ids)) {
    const answer = await doneJson(cluster, `GET ${path}`)
    answers[path] = JSON.parse(JSON.stringify(answer, withoutRequestId)) as unknown
  }
  return answers
}

/** The id is another for every request. */
function withoutRequestId(name: string, value: unknown): unknown {
  return name === 'request_id' ? undefined : value
}
