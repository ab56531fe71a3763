/**
 * `/v1/agent/members`, `join`, `force-leave`, and the gossip keyring, under Consul's path and our own.
 *
 * Nomad's shapes are the law. Consul has the same paths with others: they are served to its tools where a request
 * shows that it is theirs, by a parameter or a path that Nomad's do not have.
 */
import { Type } from 'typebox'
import {
  type ApiReply,
  type ApiRequest,
  type DescribedRoute,
  smallBodyBytesMax,
} from '../../api/route.ts'
import { done, flag, ok, optionally, text } from '../../api/shape.ts'
import { dateText } from '../../lib/date-text.ts'
import { MusterError } from '../../lib/errors.ts'
import { keyringRoutesOfConsul } from './consul-keyring-routes.ts'
import { membersMethods } from './methods.ts'
import type { KeyReport, PoolMember, PoolSuspicion } from './pool.ts'
import {
  changeSummaries,
  ConsulMember,
  exampleKey,
  Joined,
  KeyBody,
  KeyReport as KeyReportShape,
  Members,
} from './shapes.ts'
import { shownForConsul, shownVersions } from './shown.ts'

const keyringPaths = ['/v1/operator/gossip/keyring', '/v1/agent/keyring'] as const
const changes = ['install', 'use', 'remove'] as const

const join = (
  request: ApiRequest,
  texts: readonly string[],
  method: typeof membersMethods.join,
) => {
  const addresses = texts.filter((address) => address !== '')
  if (addresses.length === 0) {
    throw new MusterError('invalid_argument', 'name whom to join: ?address=host:port')
  }
  return request.call(method, { addresses })
}
const forceLeave = async (request: ApiRequest, node: string): Promise<ApiReply> => {
  if (node === '') {
    throw new MusterError('invalid_argument', 'name the member to give up: ?node=name')
  }
  await request.call(membersMethods.forceLeave, { node, prune: request.search.flag('prune') })
  return {}
}
const prune = optionally({ prune: flag('Also forgets it') })
const keysRead = {
  summary: 'Keys of the gossip',
  permission: 'keyring:read',
  reply: ok(KeyReportShape),
  example: {},
}

export const membersRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: '/v1/agent/members',
    summary: 'Members of the gossip pool',
    permission: 'node:read',
    query: optionally({ segment: text("Present: the list alone, in Consul's shape") }),
    reply: ok(Type.Union([Members, Type.Array(ConsulMember)])),
    example: {},
    handle: async (request) => {
      const { server, region, datacenter, members } = await request.call(membersMethods.list, {})
      if (request.search.has('segment')) {
        return { json: members.map((member) => shownForConsul(member)) }
      }
      return {
        json: {
          ServerName: server,
          ServerRegion: region,
          ServerDC: datacenter,
          Members: members.map(shownMember),
        },
      }
    },
  },
  {
    method: 'GET',
    path: '/v1/agent/members',
    summary: "Members of the gossip pool, in Consul's shape",
    permission: 'node:read',
    reply: ok(Type.Array(ConsulMember)),
    example: {},
    dialect: 'consul',
    handle: async (request) => {
      const { region, members } = await request.call(membersMethods.list, {})
      const ofNode = (name: string) =>
        name.endsWith(`.${region}`) ? name.slice(0, -region.length - 1) : name
      return { json: members.map((member) => shownForConsul(member, ofNode(member.name))) }
    },
  },
  {
    method: 'PUT',
    path: '/v1/agent/join',
    summary: 'Join members',
    permission: 'none',
    query: { address: text('host:port, once or several times') },
    reply: ok(Joined),
    example: { url: '/v1/agent/join?address=10.0.0.2:4648' },
    anyRegion: true,
    body: 'none',
    handle: async (request) => {
      const { joined, errors } = await join(
        request,
        request.search.all('address'),
        membersMethods.join,
      )
      const text = errors.join('; ')
      // Who joined somewhere has no error; what failed besides is a warning, which only newer tools read.
      if (joined === 0) return { json: { num_joined: 0, error: text } }
      const warning = text === '' ? {} : { warning: text }
      return { json: { num_joined: joined, error: '', ...warning } }
    },
  },
  {
    method: 'PUT',
    path: '/v1/agent/join/:address',
    summary: "Join a member, by Consul's path",
    permission: 'agent:write',
    params: { address: text('host:port') },
    reply: done,
    example: { url: '/v1/agent/join/10.0.0.2:4648' },
    anyRegion: true,
    body: 'none',
    handle: async (request) => {
      const { joined, errors } = await join(
        request,
        [request.parameter('address')],
        membersMethods.joinAsWriter,
      )
      // Its tools read no body: what went wrong has to be an error.
      if (joined === 0 && errors.length > 0) throw new MusterError('unavailable', errors.join('; '))
      return {}
    },
  },
  {
    method: 'PUT',
    path: '/v1/agent/force-leave',
    summary: 'Give up a failed member',
    permission: 'agent:write',
    query: { node: text('Its name, with or without the region'), ...prune },
    reply: done,
    example: { url: '/v1/agent/force-leave?node=web-1' },
    anyRegion: true,
    body: 'none',
    handle: (request) => forceLeave(request, request.search.text('node') ?? ''),
  },
  {
    method: 'PUT',
    path: '/v1/agent/force-leave/:node',
    summary: "Give up a failed member, by Consul's path",
    permission: 'agent:write',
    params: { node: text('Its name, with or without the region') },
    query: prune,
    reply: done,
    example: { url: '/v1/agent/force-leave/web-1' },
    anyRegion: true,
    body: 'none',
    handle: (request) => forceLeave(request, request.parameter('node')),
  },
  ...keyringPaths.flatMap((path) => keyringRoutes(path)),
  ...keyringRoutesOfConsul,
]

function keyringRoutes(path: (typeof keyringPaths)[number]): DescribedRoute[] {
  const list = async (request: ApiRequest): Promise<ApiReply> => ({
    json: shownKeys(await request.call(membersMethods.keys, {})),
  })
  return [
    { method: 'GET', path, ...keysRead, anyRegion: true, handle: list },
    { method: 'GET', path: `${path}/list`, ...keysRead, anyRegion: true, handle: list },
    ...changes.map((type): DescribedRoute => ({
      method: 'PUT',
      path: `${path}/${type}`,
      summary: changeSummaries[type],
      permission: 'keyring:write',
      errors: ['conflict'],
      bodySchema: KeyBody,
      reply: ok(KeyReportShape),
      example: { url: `${path}/${type}`, body: { Key: exampleKey } },
      bodyBytesMax: smallBodyBytesMax,
      anyRegion: true,
      handle: async (request) => {
        const key = request.fields().text('Key') ?? ''
        if (key === '') throw new MusterError('invalid_argument', 'Key is missing: a key in base64')
        return { json: shownKeys(await request.call(membersMethods.changeKey, { type, key })) }
      },
    })),
  ]
}

function shownKeys({ members, answered, errors, keys, primaryKeys }: KeyReport) {
  return {
    Messages: Object.fromEntries(errors),
    NumNodes: members,
    NumResp: answered,
    Keys: Object.fromEntries(keys),
    PrimaryKeys: Object.fromEntries(primaryKeys),
  }
}

function shownMember(member: PoolMember) {
  return {
    Name: member.name,
    Addr: member.address,
    Port: member.port,
    Tags: Object.fromEntries(member.tags),
    Status: member.status,
    ...shownVersions(member),
    // Ours alone: what the failure detector thinks, and why.
    ChangedAt: dateText(member.changedAtMs),
    GoneAt: member.goneAtMs === null ? null : dateText(member.goneAtMs),
    GoneBy: member.goneBy,
    Suspected: member.suspected,
    UDPBlocked: member.udpBlocked,
    Suspicion: member.suspicion === null ? null : shownSuspicion(member.suspicion),
  }
}

/** Who suspected the member last, why, by which path, and the result. */
function shownSuspicion(suspicion: PoolSuspicion) {
  const { ended } = suspicion
  return {
    By: suspicion.by,
    Why: suspicion.why,
    Path: suspicion.path,
    ToldBy: suspicion.toldBy,
    ConfirmedBy: suspicion.confirmedBy,
    Incarnation: suspicion.incarnation,
    At: dateText(suspicion.atMs),
    Ended: ended?.how ?? null,
    EndedAt: ended === null ? null : dateText(ended.atMs),
    EndedBy: ended?.by ?? null,
  }
}
