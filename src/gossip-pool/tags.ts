/**
 * A process's part in the gossip pool: joining, keys, tags, user events. May import `gossip`, `lib`, the identity of `runtime` and
 * the contracts of `domains`; `server` and `client-agent` import it.
 *
 * This file: the tags that a server or a client agent carries, and the reading of those of others. A pool may hold anything; what
 * does not read as a member of this region is none, and nothing follows from it.
 */
import { clientRole } from '../domains/members/pool.ts'
import type { MemberView } from '../gossip/gossip.ts'
import { hostPort, type HttpAddress } from '../lib/host-port.ts'
import { isServerName } from '../lib/server-name.ts'
import { uuidPattern } from '../lib/uuid.ts'

const role = 'muster'
/** Of the meaning of the tags. */
const tagsVersion = '1'
/** Of the consensus protocol, as Nomad's tools show it beside each member. */
const raftVersion = '3'
const expectMax = 9
const hostPattern = /^[A-Za-z0-9._:-]{1,253}$/
/** The host is told only where it is another than that of the RPC listener: all tags together have 512 bytes. */
const httpPattern = /^(https?):(?:\/\/([A-Za-z0-9._:-]{1,253}):)?(\d{1,5})$/

export type ServerTags = {
  readonly id: string
  readonly region: string
  readonly datacenter: string
  readonly rpcHost: string
  readonly rpcPort: number
  readonly bootstrapExpect: number
  /** Empty before it belongs to one. */
  readonly clusterId: string
  /** Null before its API listens. */
  readonly http: HttpAddress | null
  /** Of the program. */
  readonly version: string
}

export type GossipServer = {
  readonly id: string
  /** Without the region. */
  readonly name: string
  /** host:port of the RPC listener */
  readonly address: string
  readonly expect: number
  readonly version: string
  /** Null: it does not say where its API is. */
  readonly http: HttpAddress | null
  readonly member: MemberView
}

export type ClientTags = Pick<ServerTags, 'id' | 'region' | 'datacenter' | 'version'>

export type GossipClient = Pick<GossipServer, 'id' | 'name' | 'version' | 'member'>

/** Unique in a pool of several regions. */
export function memberName(name: string, region: string): string {
  return `${name}.${region}`
}

export function tagsOf(server: ServerTags): ReadonlyMap<string, string> {
  const tags = new Map([
    ['role', role],
    ['region', server.region],
    ['dc', server.datacenter],
    ['id', server.id],
    ['rpc_addr', server.rpcHost],
    ['port', String(server.rpcPort)],
    ['build', server.version],
    ['vsn', tagsVersion],
    ['raft_vsn', raftVersion],
  ])
  if (server.bootstrapExpect > 0) tags.set('expect', String(server.bootstrapExpect))
  if (server.clusterId !== '') tags.set('cluster', server.clusterId)
  if (server.http !== null) {
    const { secure, host, port: httpPort } = server.http
    const elsewhere = host === server.rpcHost ? '' : `//${host}:`
    tags.set('http', `${secure ? 'https' : 'http'}:${elsewhere}${httpPort}`)
  }
  return tags
}

/** Null: no server, or of another region, or nothing that can be used. */
export function serverOf(member: MemberView, region: string): GossipServer | null {
  const { tags } = member
  const known = knownAs(role, member, region)
  if (known === null) return null
  const host = tags.get('rpc_addr') ?? member.address
  const port = wholeNumber(tags.get('port') ?? '', 65_535)
  const expect = wholeNumber(tags.get('expect') ?? '0', expectMax)
  if (!hostPattern.test(host) || port === null || port === 0 || expect === null) return null
  const http = httpOf(tags.get('http') ?? '', host)
  return { ...known, address: hostPort(host, port), expect, http }
}

function httpOf(text: string, rpcHost: string): HttpAddress | null {
  const match = httpPattern.exec(text)
  const port = wholeNumber(match?.[3] ?? '', 65_535)
  if (match === null || port === null || port === 0) return null
  return { secure: match[1] === 'https', host: match[2] ?? rpcHost, port }
}

export function clientTagsOf(client: ClientTags): ReadonlyMap<string, string> {
  return new Map([
    ['role', clientRole],
    ['region', client.region],
    ['dc', client.datacenter],
    ['id', client.id],
    ['build', client.version],
    ['vsn', tagsVersion],
  ])
}

/** Null: no client agent, or of another region. */
export function clientOf(member: MemberView, region: string): GossipClient | null {
  return knownAs(clientRole, member, region)
}

function knownAs(wanted: string, member: MemberView, region: string): GossipClient | null {
  const { tags } = member
  if (tags.get('role') !== wanted || tags.get('region') !== region) return null
  const suffix = memberName('', region)
  if (!member.name.endsWith(suffix)) return null
  const name = member.name.slice(0, -suffix.length)
  const id = tags.get('id') ?? ''
  if (!isServerName(name) || !uuidPattern.test(id)) return null
  return { id, name, version: (tags.get('build') ?? '').slice(0, 32), member }
}

/** Why a member is kept out of the pool of a server that carries `own`: it belongs to another cluster of the region. */
export function strangerTo(
  own: Pick<ServerTags, 'region' | 'clusterId'>,
  member: {
    readonly name: string
    readonly endpoint: string
    readonly tags: ReadonlyMap<string, string>
  },
): string | null {
  const { name, endpoint, tags } = member
  const cluster = tags.get('cluster') ?? ''
  const isServer = tags.get('role') === role && tags.get('region') === own.region
  if (!isServer || own.clusterId === '' || cluster === '' || cluster === own.clusterId) return null
  return `${name} at ${endpoint} is of cluster ${cluster.slice(0, 64)}, this server of cluster ${own.clusterId}`
}

function wholeNumber(text: string, max: number): number | null {
  if (!/^\d{1,5}$/.test(text)) return null
  const value = Number(text)
  return value <= max ? value : null
}
