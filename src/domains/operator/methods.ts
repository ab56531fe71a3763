/** What an operator may ask of consensus. */
import { Type } from 'typebox'
import { MusterError } from '../../lib/errors.ts'
import { defineLeaderMethod, defineLocalMethod } from '../../rpc/method.ts'
import type { RaftControl, RaftMember, ServerStatus } from './raft.ts'
import { raftControl } from './services.ts'

/** How long a handover may take before the old leader goes on. */
const transferMs = 10_000

export type ClusterView = {
  readonly index: number
  readonly leaderId: string | null
  readonly members: readonly (RaftMember & { readonly status: ServerStatus })[]
}

/** An id or an address. */
const Named = Type.String({ maxLength: 256 })

const Target = Type.Object({
  id: Type.Union([Type.Null(), Named]),
  address: Type.Union([Type.Null(), Named]),
})

/** Who leads and who is there: open to all, as tools of Consul and Nomad request it without a token. */
const status = defineLocalMethod({
  kind: 'local',
  name: 'status.cluster',
  ignoresToken: true,
  args: Type.Object({}),
  requires: () => ({ resource: 'none' }),
  run: async (context) => view(context.service(raftControl)),
})

const configuration = defineLocalMethod({
  kind: 'local',
  name: 'operator.raftConfiguration',
  args: Type.Object({}),
  requires: () => ({ resource: 'operator', access: 'read' }),
  run: async (context) => view(context.service(raftControl)),
})

const transferLeadership = defineLeaderMethod({
  kind: 'leader',
  name: 'operator.transferLeadership',
  args: Target,
  requires: () => ({ resource: 'operator', access: 'write' }),
  run: async (context, { id, address }): Promise<{ readonly leaderId: string | null }> => {
    const raft = context.service(raftControl)
    const anyone = id === null && address === null
    const target = anyone ? null : findMember(raft, { id, address })
    if (target !== null && target.role !== 'voter') {
      throw new MusterError(
        'invalid_argument',
        `${target.name} is a learner and cannot lead: name a voter`,
      )
    }
    if (raft.status().configuration.members.filter(({ role }) => role === 'voter').length < 2) {
      throw new MusterError('conflict', 'there is no other voter to hand leadership to')
    }
    if (target === null || target.id !== raft.status().leaderId) {
      const deadlineMs = context.clock.monotonicMs() + transferMs
      await raft.transferLeadership(target?.id ?? null, deadlineMs)
    }
    return { leaderId: raft.status().leaderId }
  },
})

const removePeer = defineLeaderMethod({
  kind: 'leader',
  name: 'operator.removePeer',
  args: Target,
  requires: () => ({ resource: 'operator', access: 'write' }),
  run: async (context, target): Promise<{ readonly index: number }> => {
    const raft = context.service(raftControl)
    if (target.id === null && target.address === null) {
      throw new MusterError('invalid_argument', 'name the server to remove: ?id= or ?address=')
    }
    const member = findMember(raft, target)
    const voters = raft.status().configuration.members.filter(({ role }) => role === 'voter')
    if (member.role === 'voter' && voters.length === 1) {
      throw new MusterError('conflict', `${member.name} is the only voter: it cannot be removed`)
    }
    await raft.changeMembership({ type: 'remove', id: member.id })
    context.log.info('a server was removed from the cluster', {
      id: member.id,
      name: member.name,
    })
    return { index: raft.status().configurationIndex }
  },
})

export const operatorMethods = { status, configuration, transferLeadership, removePeer }

/** A leader whose process is gone is not named, even while consensus still waits for it. */
function view(raft: RaftControl): ClusterView {
  const { leaderId, configuration, configurationIndex } = raft.status()
  return {
    index: configurationIndex,
    leaderId: leaderId === null || raft.isGone(leaderId) ? null : leaderId,
    members: configuration.members.map((member) => ({
      ...member,
      status: raft.statusOf(member.id),
    })),
  }
}

function findMember(
  raft: RaftControl,
  { id, address }: { readonly id: string | null; readonly address: string | null },
): RaftMember {
  if (id !== null && address !== null) {
    throw new MusterError('invalid_argument', 'name a server by id or by address, not by both')
  }
  const { members } = raft.status().configuration
  const found = members.find((member) =>
    id === null ? member.address === address : member.id === id,
  )
  if (found !== undefined) return found
  const named = id === null ? `address ${JSON.stringify(address)}` : `id ${JSON.stringify(id)}`
  throw new MusterError(
    'not_found',
    `no server of this cluster has ${named}: see /v1/operator/raft/configuration`,
  )
}
