/** `/v1/status/*`, `/v1/operator/raft/*`, `/v1/operator/snapshot` and Consul's `/v1/snapshot`. */
import { Type } from 'typebox'
import type { ApiRequest, DescribedRoute } from '../../api/route.ts'
import { blocking, bytes, done, ok, optionally, text } from '../../api/shape.ts'
import { archiveType } from './archive.ts'
import { consulArchiveType, unwrapArchive } from './consul-archive.ts'
import { operatorMethods } from './methods.ts'
import { consulSaver, restorer } from './services.ts'
import { RaftConfiguration, Restored, server, Transferred } from './shapes.ts'
import { snapshotMethods } from './snapshot.ts'

/** Protocol version in members' entries: what Consul's and Nomad's tools print beside each server. */
const raftProtocol = '3'

/** Of routes that any page may GET: Consul's and Nomad's tools ask them without a token. */
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

export const operatorRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: statusPaths[0],
    summary: 'Address of the leader',
    permission: 'none',
    reply: ok(text('host:port; empty while there is none')),
    example: {},
    public: true,
    handle: async (request) => {
      const { leaderId, members } = await request.call(operatorMethods.status, {})
      return { json: members.find(({ id }) => id === leaderId)?.address ?? '' }
    },
  },
  {
    method: 'GET',
    path: statusPaths[1],
    summary: 'Addresses of the servers',
    permission: 'none',
    reply: ok(Type.Array(text('host:port'))),
    example: {},
    public: true,
    handle: async (request) => {
      const { members } = await request.call(operatorMethods.status, {})
      return { json: members.map(({ address }) => address) }
    },
  },
  {
    method: 'GET',
    path: '/v1/operator/raft/configuration',
    summary: 'Servers of the Raft configuration',
    permission: 'operator:read',
    reply: ok(RaftConfiguration),
    example: {},
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
    summary: 'Hand leadership to another server',
    permission: 'operator:write',
    query: optionally(server),
    reply: ok(Transferred),
    errors: ['not_found', 'conflict'],
    example: {
      url: '/v1/operator/raft/transfer-leadership?id=2c3f',
      shownOnly: 'it takes a second server',
    },
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
    summary: "Hand leadership to another server, by Consul's path",
    permission: 'operator:write',
    query: optionally(server),
    reply: ok(Transferred),
    errors: ['not_found', 'conflict'],
    example: {
      url: '/v1/operator/raft/transfer-leader?id=2c3f',
      shownOnly: 'it takes a second server',
    },
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
    summary: 'Remove a server from the Raft configuration',
    permission: 'operator:write',
    query: optionally(server),
    reply: done,
    errors: ['not_found', 'conflict'],
    example: {
      url: '/v1/operator/raft/peer?address=10.0.0.3:4647',
      shownOnly: 'it takes a second server',
    },
    handle: async (request) => {
      const { index } = await request.call(operatorMethods.removePeer, targetOf(request))
      return { index }
    },
  },
  {
    method: 'GET',
    path: '/v1/operator/snapshot',
    summary: 'Save a snapshot archive',
    permission: 'acl:write',
    query: blocking,
    reply: { 200: { [archiveType]: bytes('The archive') } },
    example: {},
    handle: async (request) => {
      const { value } = await request.query(snapshotMethods.save, {})
      return { stream: value, type: archiveType }
    },
  },
  {
    method: 'PUT',
    path: '/v1/operator/snapshot',
    summary: 'Restore a snapshot archive',
    permission: 'acl:write',
    reply: ok(Restored),
    example: { shownOnly: 'the body is an archive' },
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
    summary: "Save a snapshot archive in Consul's container",
    permission: 'acl:write',
    query: blocking,
    reply: { 200: { [consulArchiveType]: bytes('The archive') } },
    example: {},
    switches: 'presence',
    handle: async (request) => {
      const { value } = await request.query(snapshotMethods.save, {})
      return { stream: request.service(consulSaver).save(value), type: consulArchiveType }
    },
  },
  {
    method: 'PUT',
    path: '/v1/snapshot',
    summary: "Restore a snapshot archive, with Consul's reply",
    permission: 'acl:write',
    reply: done,
    example: { shownOnly: 'the body is an archive' },
    switches: 'presence',
    body: 'stream',
    bodyBytesMax: archiveBytesMax,
    handle: async (request) => ({ index: (await restore(request)).index }),
  },
]

function targetOf(request: ApiRequest) {
  return { id: request.search.text('id') || null, address: request.search.text('address') || null }
}
