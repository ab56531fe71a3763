/** What may be asked about client nodes. */
import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import { assertNever } from '../../lib/assert.ts'
import { MusterError } from '../../lib/errors.ts'
import { uuidPattern } from '../../lib/uuid.ts'
import type { AgentIdentity } from '../../rpc/agent-identity.ts'
import { clusterServers } from '../../rpc/agents.ts'
import { onePage, Page, type May } from '../../rpc/list.ts'
import {
  defineLeaderMethod,
  defineLocalMethod,
  defineQuery,
  type LeaderContext,
} from '../../rpc/method.ts'
import { mustMay } from '../../rpc/refusal.ts'
import { checkIdPrefix, checkWholeId } from '../evaluations/id-model.ts'
import { evaluationsMadeAt } from '../evaluations/queries.ts'
import { evaluateNode, purgeNode, setDrain, setEligibility, type NodeOutcome } from './commands.ts'
import { DrainMeta, DrainSpec, nodeNameLengthMax, type NodeRow } from './model.ts'
import { otherSecret } from './peer-methods.ts'
import { nodeById, nodesWithPrefix } from './queries.ts'
import { leastForNodes, readsNode, writesNode } from './rights.ts'
import { nodeUplinks } from './services.ts'
import { filteredNode, nodeFilters } from './shown.ts'
import { nodes } from './table.ts'
import { secretPattern, uplinkVersion } from './uplink-words.ts'

/** Of a write: the entry, the row's index, and the evaluations that the entry made. */
export type NodeWritten = {
  readonly index: number
  readonly modifyIndex: number
  readonly evaluations: readonly string[]
}

const list = defineQuery({
  kind: 'query',
  name: 'nodes.list',
  args: Type.Object(Page),
  requires: () => ({ resource: 'none' }),
  least: leastForNodes,
  needsLeast: true,
  query: async (reader, { prefix, filter, nextToken, perPage }, context) => {
    const show = (row: NodeRow, may: May) => (may(readsNode(row.spec.name)) ? row : null)
    const value = await onePage(
      context,
      { nextToken, perPage },
      {
        pages: nodesWithPrefix(reader, checkIdPrefix(prefix)),
        keyOf: nodes.key,
        show,
        filter: nodeFilters.compile(filter),
        recordOf: filteredNode,
      },
    )
    return { value, index: reader.tableIndex(nodes) }
  },
})

const read = defineQuery({
  kind: 'query',
  name: 'nodes.read',
  args: Type.Object({ id: Type.String() }),
  requires: () => ({ resource: 'none' }),
  query: (reader, { id }, context) => {
    const row = nodeById(reader, id.toLowerCase())
    mustMay(context, readsNode(row?.spec.name ?? ''), "'node:read' on the node")
    checkWholeId('node', id)
    return { value: row, index: row?.modifyIndex ?? reader.tableIndex(nodes) }
  },
})

const eligibility = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'nodes.eligibility',
  args: Type.Object({ id: Type.String(), eligible: Type.Boolean() }),
  requires: () => ({ resource: 'none' }),
  run: async (context, { id, eligible }): Promise<NodeWritten> => {
    const node = writable(context, id)
    const nowMs = Math.floor(context.clock.wallMs())
    const args = { id: node, eligible, nowMs }
    const { index, outcome } = await context.propose(setEligibility, args)
    return writtenOf(context, index, outcome)
  },
})

const drain = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'nodes.drain',
  args: Type.Object({
    id: Type.String(),
    spec: Type.Union([Type.Null(), DrainSpec]),
    markEligible: Type.Boolean(),
    meta: DrainMeta,
  }),
  requires: () => ({ resource: 'none' }),
  run: async (context, { id, ...args }): Promise<NodeWritten> => {
    const node = writable(context, id)
    const nowMs = Math.floor(context.clock.wallMs())
    const accessor = context.accessor ?? ''
    const { index, outcome } = await context.propose(setDrain, {
      ...args,
      id: node,
      accessor,
      nowMs,
    })
    return writtenOf(context, index, outcome)
  },
})

export type NodeEvaluated = {
  readonly index: number
  /** Of the node; of one that is gone the entry's. */
  readonly modifyIndex: number
  readonly evaluations: readonly string[]
  readonly leader: string
  readonly nodeCount: number
  readonly servers: readonly string[]
}

const purge = defineLeaderMethod({
  kind: 'leader',
  name: 'nodes.purge',
  args: Type.Object({ id: Type.String() }),
  requires: () => ({ resource: 'none' }),
  run: async (context, { id }): Promise<NodeEvaluated> => {
    const node = writable(context, id)
    const nowMs = Math.floor(context.clock.wallMs())
    const { index, outcome } = await context.propose(purgeNode, { id: node, nowMs })
    if (!outcome.purged) throw unknownNode()
    context.log.info('a node was purged', { node })
    return evaluatedAt(context, node, { index, modifyIndex: index })
  },
})

const evaluate = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'nodes.evaluate',
  args: Type.Object({ id: Type.String() }),
  requires: () => ({ resource: 'none' }),
  run: async (context, { id }): Promise<NodeEvaluated> => {
    const node = writable(context, id)
    const nowMs = Math.floor(context.clock.wallMs())
    const { index, outcome } = await context.propose(evaluateNode, { id: node, nowMs })
    if (outcome.modifyIndex === null) throw unknownNode()
    return evaluatedAt(context, node, { index, modifyIndex: outcome.modifyIndex })
  },
})

async function evaluatedAt(
  context: LeaderContext,
  node: string,
  { index, modifyIndex }: { readonly index: number; readonly modifyIndex: number },
): Promise<NodeEvaluated> {
  let nodeCount = 0
  for await (const page of nodesWithPrefix(context.read(), '')) nodeCount += page.length
  const servers = context.service(clusterServers)
  return {
    index,
    modifyIndex,
    evaluations: await evaluationsMadeAt(context.read(), node, index),
    leader: servers.leader()?.address ?? '',
    nodeCount,
    servers: servers.all().map(({ address }) => address),
  }
}

/** As it was sent. */
const Asked = Type.String({ maxLength: 1_024 })

/** Before a client agent's request becomes an uplink. */
const openUplink = defineLocalMethod({
  kind: 'local',
  name: 'nodes.openUplink',
  args: Type.Object({ id: Asked, name: Asked, secret: Asked, version: Asked }),
  requires: ({ name }) => writesNode(name),
  run: async (context, { id, name, secret, version }): Promise<AgentIdentity> => {
    checkRequest({ id, name, secret, version })
    const secretHash = createHash('sha256').update(secret).digest('hex')
    const uplinks = context.service(nodeUplinks)
    const known = nodeById(context.read(), id)
    // This server's copy may lack the record: registration at the leader looks again.
    if (known !== null && known.secretHash !== secretHash) {
      const error = otherSecret(id)
      uplinks.refused(`${name} (${id}) at ${context.caller.remote}`, error)
      throw error
    }
    uplinks.admit(context.caller.remote)
    return { nodeId: id, name, secretHash }
  },
})

type UplinkRequest = Record<'id' | 'name' | 'secret' | 'version', string>

/** Throws `invalid_argument`. */
function checkRequest({ id, name, secret, version }: UplinkRequest): void {
  if (version !== String(uplinkVersion)) {
    const shown = JSON.stringify(version.slice(0, 20))
    const text = `this server speaks version ${uplinkVersion} of the uplink, not ${shown}`
    throw new MusterError('invalid_argument', text)
  }
  if (!uuidPattern.test(id) || name === '' || name.length > nodeNameLengthMax) {
    throw new MusterError('invalid_argument', 'the headers of an uplink name the node and its id')
  }
  if (!secretPattern.test(secret)) {
    throw new MusterError(
      'invalid_argument',
      'the headers of an uplink bear the secret of the node',
    )
  }
}

export const nodeMethods = { list, read, eligibility, drain, purge, evaluate, openUplink }

/** The id of a node that the caller may write. */
function writable(context: LeaderContext, given: string): string {
  const row = nodeById(context.read(), given.toLowerCase())
  mustMay(context, writesNode(row?.spec.name ?? ''), "'node:write' on the node")
  const id = checkWholeId('node', given)
  if (row === null) throw unknownNode()
  return id
}

async function writtenOf(
  context: LeaderContext,
  index: number,
  outcome: NodeOutcome,
): Promise<NodeWritten> {
  switch (outcome.type) {
    case 'changed': {
      const { id, modifyIndex } = outcome.row
      return { index, modifyIndex, evaluations: await evaluationsMadeAt(context.read(), id, index) }
    }
    case 'same':
      return { index: outcome.row.modifyIndex, modifyIndex: 0, evaluations: [] }
    case 'unknown':
      throw unknownNode()
    case 'draining':
      throw new MusterError(
        'conflict',
        'the node is draining: stop the drain before it is marked eligible',
      )
    default:
      return assertNever(outcome)
  }
}

function unknownNode(): MusterError {
  return new MusterError('not_found', 'node not found')
}
