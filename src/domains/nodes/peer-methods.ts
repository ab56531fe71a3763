/** What servers ask one another about client nodes and their uplinks. */
import { Type } from 'typebox'
import { MusterError } from '../../lib/errors.ts'
import { definePeerMethod } from '../../rpc/method.ts'
import { computedClassOf } from './computed-class.ts'
import { registerNode, setDrain } from './commands.ts'
import { DrainSpec, NodeId, NodeSpec, SecretHash } from './model.ts'
import { nodeById } from './queries.ts'
import { nodeAdmission, nodeHeartbeats, nodeUplinks } from './services.ts'
import { reportedMax } from './uplinks.ts'

const kind = 'peer'

/** Who was heard over the uplinks of a server. */
export const heardMethod = definePeerMethod({
  kind,
  name: 'nodes.heard',
  at: 'leader',
  args: Type.Object({ ids: Type.Array(NodeId, { maxItems: reportedMax }) }),
  reply: Type.Object({ unknown: Type.Array(NodeId), ttlMs: Type.Integer({ minimum: 1 }) }),
  run: ({ service }, { ids }) => {
    const { unknown, ttlMs } = service(nodeHeartbeats).heard(ids)
    return { unknown: [...unknown], ttlMs }
  },
})

/** Whose uplinks a server holds. */
export const holdingMethod = definePeerMethod({
  kind,
  name: 'nodes.holding',
  args: Type.Object({
    ids: Type.Array(NodeId, { maxItems: reportedMax }),
    /** Only those whose agents answer now. */
    ask: Type.Boolean(),
  }),
  reply: Type.Object({
    ids: Type.Array(NodeId),
    /** Whose agents said that they stop. Absent: the server's program does not know. */
    stopped: Type.Optional(Type.Array(NodeId)),
  }),
  run: async ({ service }, { ids, ask }) => {
    const uplinks = service(nodeUplinks)
    return { ids: [...(await uplinks.holding(ids, ask))], stopped: [...uplinks.stopped(ids)] }
  },
})

/** What an agent told the server that holds its uplink. Refused with `permission_denied` for another secret. */
export const registeredMethod = definePeerMethod({
  kind,
  name: 'nodes.registered',
  at: 'leader',
  args: Type.Object({ id: NodeId, spec: NodeSpec, secretHash: SecretHash }),
  reply: Type.Object({ index: Type.Integer() }),
  run: async (context, { id, spec, secretHash }) => {
    const known = nodeById(context.read(), id)
    if (known === null) context.service(nodeAdmission).take()
    else if (known.secretHash !== secretHash) throw otherSecret(id)
    else if (isSame(known.spec, spec)) return { index: known.modifyIndex }
    else context.service(nodeAdmission).takeChange(id)
    const { index, outcome } = await context.propose(registerNode, {
      id,
      spec,
      secretHash,
      computedClass: computedClassOf(spec),
      nowMs: Math.floor(context.clock.wallMs()),
    })
    if (outcome.type === 'otherSecret') throw otherSecret(id)
    context.log.info('a node registered', { node: spec.name, id, new: outcome.created })
    return { index }
  },
})

/** The agent of a node goes for good, and wants its work moved away before. */
export const leavingMethod = definePeerMethod({
  kind,
  name: 'nodes.leaving',
  at: 'leader',
  args: Type.Object({ id: NodeId, secretHash: SecretHash, spec: DrainSpec }),
  reply: Type.Object({ index: Type.Integer() }),
  run: async (context, { id, secretHash, spec }) => {
    const known = nodeById(context.read(), id)
    if (known === null) throw new MusterError('not_found', 'node not found')
    if (known.secretHash !== secretHash) throw otherSecret(id)
    context.service(nodeAdmission).takeChange(id)
    const { index } = await context.propose(setDrain, {
      id,
      spec,
      markEligible: false,
      accessor: '',
      meta: [['message', 'the agent stops']],
      nowMs: Math.floor(context.clock.wallMs()),
    })
    context.log.info('a node is drained, for its agent stops', { node: known.spec.name, id })
    return { index }
  },
})

export const nodePeerMethods = [heardMethod, holdingMethod, registeredMethod, leavingMethod]

export function otherSecret(id: string): MusterError {
  const text = `node ${id} is known by another secret: its agent's data folder holds the right one`
  return new MusterError('permission_denied', text)
}

/** Both are from this program's schema, so their members come in one order. */
function isSame(one: NodeSpec, other: NodeSpec): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
