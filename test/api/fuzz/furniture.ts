/** A server with something of everything in it, and what is known of it: the ground on which hostile requests land. */
import { Fields } from '../../../src/api/fields.ts'
import type { Route } from '../../../src/api/route.ts'
import { Search } from '../../../src/api/search.ts'
import type { Known } from './requests.ts'
import type { Sender } from './sender.ts'

export function nameOf({ method, path }: Route): string {
  return `${method} ${path}`
}

const key = Buffer.alloc(32).toString('base64')
const check = { Name: 'alive', CheckID: 'alive', Status: 'passing', Notes: 'n', ServiceID: 'web' }
const operation = { Key: 'app/a', Value: 'YQ==', Flags: 1, Index: 0, Session: '' }

/** Good bodies of routes that take one; the others are sent `{}`. */
const bodies: Readonly<Record<string, readonly unknown[]>> = {
  'PUT /v1/namespace': [{ Name: 'team', Description: 'd', Meta: { a: 'b' } }],
  'PUT /v1/namespace/:name': [{ Description: 'd', Meta: { a: 'b' } }],
  'PUT /v1/acl/bootstrap': [{ BootstrapSecret: '' }],
  'PUT /v1/acl/token': [
    {
      Name: 't',
      Policies: ['all'],
      Roles: [{ Name: 'some' }],
      Type: 'client',
      ExpirationTTL: '1h',
    },
    { Type: 'management', ExpirationTime: '2030-01-31T12:00:00Z' },
  ],
  'PUT /v1/acl/token/:accessor': [{ Name: 't', Description: 'd', Policies: ['all'], Roles: [] }],
  'PUT /v1/acl/policy/:name': [
    { Description: 'd', Rules: 'key "app/*" { policy = "write" }' },
    { Rules: '{"session": {"": {"capabilities": ["write"]}}}' },
  ],
  'PUT /v1/acl/role/:name': [{ Description: 'd', Policies: ['all', { Name: 'all' }] }],
  'PUT /v1/acl/explain': [
    { Token: 'x', Method: 'GET', Path: '/v1/kv/app/a', Query: 'recurse' },
    { Method: 'PUT', Path: '/v1/session/create', Body: { Node: 'n' } },
    { Method: 'PUT', Path: '/v1/txn', Body: '[{"KV":{"Verb":"get","Key":"a"}}]' },
  ],
  'PUT /v1/catalog/agent': [
    {
      Node: 'n',
      ID: '0f3f2b62-1d1c-4a5c-9a55-4c0a1a0a0a0a',
      Address: '10.0.0.1',
      NodeMeta: { 'muster-gossip': '10.0.0.1:4648' },
    },
  ],
  'PUT /v1/catalog/register': [
    {
      Node: 'n',
      ID: '0f3f2b62-1d1c-4a5c-9a55-4c0a1a0a0a0a',
      Address: '10.0.0.1',
      Datacenter: 'dc1',
      SkipNodeUpdate: false,
      TaggedAddresses: { lan: '10.0.0.1' },
      NodeMeta: { a: 'b' },
      Service: {
        ID: 'web',
        Service: 'web',
        Tags: ['a'],
        Port: 80,
        Address: '10.0.0.2',
        Meta: { a: 'b' },
        TaggedAddresses: { lan: { Address: '10.0.0.1', Port: 80 } },
        Weights: { Passing: 1, Warning: 1 },
        EnableTagOverride: false,
      },
      Check: { ...check, Definition: { TCP: 'a:1' }, Output: 'o', Type: 'ttl' },
      Checks: [{ Name: 'disk', Status: 'warning' }],
    },
  ],
  'PUT /v1/catalog/deregister': [
    { Node: 'gone' },
    { Node: 'n', ServiceID: 'web', CheckID: 'disk' },
  ],
  'PUT /v1/agent/service/register': [
    {
      Name: 'api',
      ID: 'api-1',
      Port: 80,
      Tags: ['a'],
      Meta: { a: 'b' },
      Check: { TTL: '1h', Status: 'passing' },
      Checks: [{ TCP: '127.0.0.1:1', Interval: '10h', Timeout: '1s' }],
    },
  ],
  'PUT /v1/agent/check/register': [
    { Name: 'beat', ID: 'beat', TTL: '1h', Status: 'passing', Notes: 'n', ServiceID: '' },
    {
      Name: 'http',
      HTTP: 'http://127.0.0.1:1/',
      Method: 'GET',
      Header: { a: ['b'] },
      Body: 'b',
      Interval: '10h',
      Timeout: '1s',
      SuccessBeforePassing: 1,
      FailuresBeforeWarning: 1,
      FailuresBeforeCritical: 2,
      DeregisterCriticalServiceAfter: '10h',
      ServiceID: 'api-1',
    },
    { Name: 'grpc', GRPC: '127.0.0.1:1/x', GRPCUseTLS: false, Interval: '10h' },
    { Name: 'script', Args: ['/bin/true'], Interval: '10h' },
  ],
  'PUT /v1/agent/check/update/*': [{ Status: 'passing', Output: 'o' }],
  'PUT /v1/session/create': [
    {},
    {
      Name: 's',
      Node: 'n',
      TTL: '10m',
      LockDelay: '15s',
      Behavior: 'delete',
      NodeChecks: ['disk'],
      ServiceChecks: [{ ID: 'alive', Namespace: '' }],
      Checks: [],
    },
    { Node: 'n', LockDelay: 15, NodeChecks: [] },
  ],
  'PUT /v1/txn': [
    [
      { KV: { ...operation, Verb: 'set' } },
      { KV: { ...operation, Verb: 'cas' } },
      { KV: { ...operation, Verb: 'get' } },
      { KV: { ...operation, Verb: 'get-tree' } },
      { KV: { ...operation, Verb: 'delete-cas' } },
    ],
    [{ KV: { ...operation, Verb: 'lock' } }, { KV: { ...operation, Verb: 'unlock' } }],
    [
      { KV: { ...operation, Verb: 'check-index' } },
      { KV: { ...operation, Verb: 'check-session' } },
    ],
    [{ KV: { Verb: 'delete-tree', Key: 'b' } }, { KV: { Verb: 'check-not-exists', Key: 'b' } }],
  ],
  'PUT /v1/var/*': [{ Namespace: 'default', Path: 'app/a', Items: { a: 'b', c: 'd' } }],
  'PUT /v1/operator/autopilot/configuration': [
    {
      CleanupDeadServers: true,
      LastContactThreshold: '200ms',
      MaxTrailingLogs: 250,
      MinQuorum: 0,
      ServerStabilizationTime: '10s',
    },
  ],
  'PUT /v1/agent/schedulers/config': [{ num_schedulers: 1, enabled_schedulers: ['_core'] }],
  ...Object.fromEntries(
    ['operator/gossip', 'agent'].flatMap((place) =>
      ['install', 'use', 'remove'].map((word) => [
        `PUT /v1/${place}/keyring/${word}`,
        [{ Key: key }],
      ]),
    ),
  ),
}

export function bodiesOf(route: Route): readonly unknown[] {
  return bodies[nameOf(route)] ?? [{}]
}

const first: readonly (readonly [method: string, path: string, body: unknown])[] = [
  ['PUT', '/v1/namespace', { Name: 'team' }],
  ['PUT', '/v1/acl/policy/all', { Rules: 'key "" { policy = "write" }' }],
  ['PUT', '/v1/acl/role/some', { Policies: ['all'] }],
  ['PUT', '/v1/catalog/register', bodies['PUT /v1/catalog/register']?.[0]],
  ['PUT', '/v1/agent/service/register', bodies['PUT /v1/agent/service/register']?.[0]],
  ['PUT', '/v1/agent/check/register', bodies['PUT /v1/agent/check/register']?.[0]],
  ['PUT', '/v1/kv/app/a', 'text'],
  ['PUT', '/v1/kv/app/b/c?flags=7', 'text'],
  ['PUT', '/v1/var/app/a', { Items: { a: 'b' } }],
]

/** Makes what is not there any more, and resolves with values that stand for something now. */
export async function furnish(sender: Sender, token: string | null): Promise<readonly string[]> {
  const headers: Readonly<Record<string, string>> =
    token === null ? {} : { 'x-service-token': token }
  const ask = async (method: string, path: string, body: unknown): Promise<string> => {
    const outcome = await sender.send({
      method,
      path,
      headers,
      body: Buffer.from(JSON.stringify(body)),
    })
    if (outcome.type === 'broken') throw new Error(`${method} ${path}: ${outcome.why}`)
    return outcome.type === 'answer' && outcome.status === 200 ? outcome.body.toString() : 'null'
  }
  for (const [method, path, body] of first) await ask(method, path, body)
  const session = stringsIn(
    JSON.parse(await ask('PUT', '/v1/session/create', { Node: 'n', NodeChecks: [] })),
  )
  const made = stringsIn(JSON.parse(await ask('PUT', '/v1/acl/token', { Policies: ['all'] })))
  const named =
    'app/a app/ b n one web api api-1 alive disk beat default team all some dc1 global any passing critical s1 leader'
  return [
    ...named.split(' '),
    ...session,
    ...made.slice(0, 1),
    'heap',
    'cmdline',
    'goroutine',
    'block',
  ]
}

function stringsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).filter((member) => typeof member === 'string')
}

type Names = Pick<Known, 'parameters' | 'members'>

/** By the names of routes. */
export type Learned = ReadonlyMap<string, Names>

/** By watching what a route asks for: nothing has to be listed here, and a new parameter is tried from its first day. */
export async function learnNames(routes: readonly Route[], sender: Sender): Promise<Learned> {
  const learned = new Map<string, Names>()
  for (const route of routes) {
    const parameters = new Set<string>()
    const members = new Set<string>()
    const forget = [
      noteCalls(Search.prototype, 'text', (name) => parameters.add(name)),
      noteCalls(Search.prototype, 'all', (name) => parameters.add(name)),
      noteCalls(Fields.prototype, 'raw', (name) => members.add(name)),
    ]
    const path = route.path.replaceAll(/:[a-z_]+|\*/g, 'a')
    const ask = async (query: string): Promise<void> => {
      for (const body of bodiesOf(route)) {
        const bytes = route.method === 'PUT' ? Buffer.from(JSON.stringify(body)) : null
        const url = `${path}?${query}`
        await sender.send({ method: route.method, path: url, headers: {}, body: bytes })
      }
    }
    await ask('pretty')
    const seen = [...parameters]
    for (const name of seen) await ask(`${encodeURIComponent(name)}=`)
    for (const undo of forget) undo()
    learned.set(nameOf(route), { parameters: [...parameters], members: [...members] })
  }
  return learned
}

/** Tells the first argument of every call of a method, until the function that is returned is called. */
function noteCalls(prototype: object, method: string, note: (name: string) => void): () => void {
  const before = Object.getOwnPropertyDescriptor(prototype, method)
  if (before === undefined) throw new Error(`there is no method ${method}`)
  const original = before.value as (this: unknown, ...args: readonly unknown[]) => unknown
  function noting(this: unknown, ...args: readonly unknown[]): unknown {
    note(String(args[0]))
    return original.apply(this, [...args])
  }
  Object.defineProperty(prototype, method, { ...before, value: noting })
  return () => Object.defineProperty(prototype, method, before)
}
