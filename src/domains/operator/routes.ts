/** `/v1/status/*`, `/v1/operator/raft/*`, `/v1/operator/snapshot` and Consul's `/v1/snapshot`. */
import type { ApiRequest, Route } from '../../api/route.ts'
import { operatorMethods } from './methods.ts'
import { archiveType } from './archive.ts'
import { consulArchiveType, unwrapArchive } from './consul-archive.ts'
import { consulSaver, restorer } from './services.ts'
import { snapshotMethods } from './snapshot.ts'

/** Protocol version in members' entries: what peers' tools print beside each server. */
const raftProtocol = '3'

/** Of routes that any page may GET: peers' tools ask them without a token. */
export const statusPaths = ['/v1/status/leader', '/v1/status/peers'] as const

/** An archive's size; its content is streamed, never held. */
export const archiveBytesMax = 2 ** 40

const restore = async (request: ApiRequest) => {
  await request.call(snapshotMethods.mayRestore, {})
  return request.service(restorer).restore(unwrapArchive(request.stream()), {
    begin: (args) => request.call(snapshotMethods.begin, args),
    chunk: (args) => request.call(snapshotMethods.chunk, args),
    commit: (args) => request.call(snapshotMethods.commit, args),
    abort: (args) => request.call(snapshotMethods.abort, args),
  })
}

export const operatorRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: statusPaths[0],
    public: true,
    handle: async (request) => {
      const { leaderId, members } = await request.call(operatorMethods.status, {})
      return { json: members.find(({ id }) => id === leaderId)?.address ?? '' }
    },
  },
  {
    method: 'GET',
    path: statusPaths[1],
    public: true,
    handle: async (request) => {
      const { members } = await request.call(operatorMethods.status, {})
      return { json: members.map(({ address }) => address) }
    },
  },
  {
    method: 'GET',
    path: '/v1/operator/raft/configuration',
    handle: async (request) => {
      const { index, leaderId, members } = await request.call(operatorMethods.configuration, {})
      const servers = members.map(({ id, name, address, role, status }) => ({
        ID: id,
        Node: name,
        Address: address,
        Leader: id === leaderId,
        Voter: role === 'voter',
        RaftProtocol: raftProtocol,
        ProtocolVersion: raftProtocol,
        Status: status,
      }))
      return { json: { Index: index, Servers: servers }, index: Math.max(1, index) }
    },
  },
  {
    method: 'PUT',
    path: '/v1/operator/raft/transfer-leadership',
    body: 'none',
    handle: async (request) => {
      await request.call(operatorMethods.transferLeadership, targetOf(request))
      return { json: { Success: true } }
    },
  },
  {
    // Consul's name for it.
    method: 'POST',
    path: '/v1/operator/raft/transfer-leader',
    switches: 'presence',
    body: 'none',
    handle: async (request) => {
      await request.call(operatorMethods.transferLeadership, targetOf(request))
      return { json: { Success: true } }
    },
  },
  {
    method: 'DELETE',
    path: '/v1/operator/raft/peer',
    handle: async (request) => {
      const { index } = await request.call(operatorMethods.removePeer, targetOf(request))
      return { index }
    },
  },
  {
    method: 'GET',
    path: '/v1/operator/snapshot',
    handle: async (request) => {
      const { value } = await request.query(snapshotMethods.save, {})
      return { stream: value, type: archiveType }
    },
  },
  {
    method: 'PUT',
    path: '/v1/operator/snapshot',
    body: 'stream',
    bodyBytesMax: archiveBytesMax,
    handle: async (request) => {
      const { rows, index } = await restore(request)
      return { json: { Index: index, Rows: rows }, index }
    },
  },
  // Consul's, which takes and gives archives in its own container.
  {
    method: 'GET',
    path: '/v1/snapshot',
    switches: 'presence',
    handle: async (request) => {
      const { value } = await request.query(snapshotMethods.save, {})
      return { stream: request.service(consulSaver).save(value), type: consulArchiveType }
    },
  },
  {
    method: 'PUT',
    path: '/v1/snapshot',
    switches: 'presence',
    body: 'stream',
    bodyBytesMax: archiveBytesMax,
    handle: async (request) => ({ index: (await restore(request)).index }),
  },
]

function targetOf(request: ApiRequest) {
  return { id: request.search.text('id') || null, address: request.search.text('address') || null }
}
