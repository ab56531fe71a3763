/** `/v1/agent/members`, `join`, `force-leave`, and the gossip keyring, under the peer's path and our own. */
import type { ApiReply, ApiRequest, Route } from '../../api/route.ts'
import { MusterError } from '../../lib/errors.ts'
import type { MembersMethods } from './methods.ts'
import type { KeyReport, PoolMember, PoolSuspicion } from './pool.ts'

const keyringPaths = ['/v1/operator/gossip/keyring', '/v1/agent/keyring'] as const
const changes = ['install', 'use', 'remove'] as const

export function membersRoutes(methods: MembersMethods): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/agent/members',
      handle: async (request) => {
        const { server, region, datacenter, members } = await request.call(methods.list, {})
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
      method: 'PUT',
      path: '/v1/agent/join',
      body: 'none',
      handle: async (request) => {
        const addresses = request.search.all('address').filter((address) => address !== '')
        if (addresses.length === 0) {
          throw new MusterError('invalid_argument', 'name whom to join: ?address=host:port')
        }
        const { joined, errors } = await request.call(methods.join, { addresses })
        return { json: { num_joined: joined, error: joined > 0 ? '' : errors.join('; ') } }
      },
    },
    {
      method: 'PUT',
      path: '/v1/agent/force-leave',
      body: 'none',
      handle: async (request) => {
        const node = request.search.text('node') ?? ''
        if (node === '') {
          throw new MusterError('invalid_argument', 'name the member to give up: ?node=name')
        }
        await request.call(methods.forceLeave, { node, prune: request.search.flag('prune') })
        return {}
      },
    },
    ...keyringPaths.flatMap((path) => keyringRoutes(methods, path)),
  ]
}

function keyringRoutes(methods: MembersMethods, path: (typeof keyringPaths)[number]): Route[] {
  const list = async (request: ApiRequest): Promise<ApiReply> => ({
    json: shownKeys(await request.call(methods.keys, {})),
  })
  return [
    { method: 'GET', path, handle: list },
    { method: 'GET', path: `${path}/list`, handle: list },
    ...changes.map((type): Route => ({
      method: 'PUT',
      path: `${path}/${type}`,
      handle: async (request) => {
        const key = request.fields().text('Key') ?? ''
        if (key === '') throw new MusterError('invalid_argument', 'Key is missing: a key in base64')
        return { json: shownKeys(await request.call(methods.changeKey, { type, key })) }
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
  const { versions } = member
  return {
    Name: member.name,
    Addr: member.address,
    Port: member.port,
    Tags: Object.fromEntries(member.tags),
    Status: member.status,
    ProtocolMin: versions.protocolMin,
    ProtocolMax: versions.protocolMax,
    ProtocolCur: versions.protocolCurrent,
    DelegateMin: versions.delegateMin,
    DelegateMax: versions.delegateMax,
    DelegateCur: versions.delegateCurrent,
    // Ours alone: what the failure detector thinks, and why.
    ChangedAt: shownTime(member.changedAtMs),
    GoneAt: member.goneAtMs === null ? null : shownTime(member.goneAtMs),
    GoneBy: member.goneBy,
    Suspected: member.suspected,
    UDPBlocked: member.udpBlocked,
    Suspicion: member.suspicion === null ? null : shownSuspicion(member.suspicion),
  }
}

/** Who doubted the member last, why, by which path, and what came of it. */
function shownSuspicion(suspicion: PoolSuspicion) {
  const { ended } = suspicion
  return {
    By: suspicion.by,
    Why: suspicion.why,
    Path: suspicion.path,
    ToldBy: suspicion.toldBy,
    ConfirmedBy: suspicion.confirmedBy,
    Incarnation: suspicion.incarnation,
    At: shownTime(suspicion.atMs),
    Ended: ended?.how ?? null,
    EndedAt: ended === null ? null : shownTime(ended.atMs),
    EndedBy: ended?.by ?? null,
  }
}

function shownTime(ms: number): string {
  return new Date(ms).toISOString()
}
