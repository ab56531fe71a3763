/** `/v1/nodes` and `/v1/node/:id`: shapes of HTTP to methods and back. */
import { Type } from 'typebox'
import type { Fields } from '../../api/fields.ts'
import { refuseOutOfScope } from '../../api/out-of-scope.ts'
import { listReply, pageOf } from '../../api/pages.ts'
import {
  smallBodyBytesMax,
  type ApiReply,
  type ApiRequest,
  type DescribedRoute,
} from '../../api/route.ts'
import { blocking, exampleId, flag, listing, ok, optionally, text } from '../../api/shape.ts'
import { site } from '../../api/site.ts'
import { MusterError } from '../../lib/errors.ts'
import { nodeMethods, type NodeEvaluated as Evaluated, type NodeWritten } from './methods.ts'
import { DrainBody, EligibilityBody, Node, NodeEvaluated, NodeStub, NodeUpdated } from './shapes.ts'
import { shownNode, shownStub } from './shown.ts'

const named = { node_id: text('The whole UUID of the node') }
const noNode = 'a server alone has no client nodes'

export const nodeRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: '/v1/nodes',
    summary: 'List client nodes',
    permission: 'node:read',
    query: {
      ...blocking,
      ...listing,
      ...optionally({
        resources: flag('With `NodeResources` and `ReservedResources`'),
        os: flag('With the attribute `os.name`'),
      }),
    },
    reply: ok(Type.Array(NodeStub)),
    example: {},
    handle: async (request) => {
      const { value } = await request.query(nodeMethods.list, pageOf(request))
      const extras = {
        resources: request.search.boolean('resources'),
        os: request.search.boolean('os'),
      }
      return listReply(value, (row) => shownStub(row, extras))
    },
  },
  {
    method: 'GET',
    path: '/v1/node/:node_id',
    summary: 'Read a client node',
    permission: 'node:read',
    params: named,
    query: blocking,
    reply: ok(Node),
    errors: ['not_found'],
    example: { url: `/v1/node/${exampleId}`, status: 404 },
    handle: async (request) => {
      // `/v1/node/pools` is no node.
      refuseOutOfScope(request.path)
      const { value } = await request.query(nodeMethods.read, { id: idOf(request) })
      if (value === null) return { status: 404, text: 'node not found' }
      return { jsonOf: () => shownNode(value) }
    },
  },
  {
    method: 'PUT',
    path: '/v1/node/:node_id/evaluate',
    summary: 'Look again at the jobs of a client node',
    permission: 'node:write',
    params: named,
    reply: ok(NodeEvaluated),
    errors: ['not_found'],
    example: { url: `/v1/node/${exampleId}/evaluate`, shownOnly: noNode },
    body: 'none',
    handle: async (request) =>
      evaluated(request, await request.call(nodeMethods.evaluate, { id: idOf(request) })),
  },
  {
    method: 'PUT',
    path: '/v1/node/:node_id/eligibility',
    summary: 'Let a client node take new work or not',
    permission: 'node:write',
    params: named,
    bodySchema: EligibilityBody,
    bodyBytesMax: smallBodyBytesMax,
    reply: ok(NodeUpdated),
    errors: ['not_found', 'conflict'],
    example: {
      url: `/v1/node/${exampleId}/eligibility`,
      body: { Eligibility: 'ineligible' },
      shownOnly: noNode,
    },
    handle: async (request) => {
      const word = request.fields().text('Eligibility')
      if (word !== 'eligible' && word !== 'ineligible') {
        throw new MusterError('invalid_argument', 'Eligibility must be eligible or ineligible')
      }
      const args = { id: idOf(request), eligible: word === 'eligible' }
      return updated(await request.call(nodeMethods.eligibility, args))
    },
  },
  {
    method: 'PUT',
    path: '/v1/node/:node_id/drain',
    summary: 'Drain a client node, or stop that',
    permission: 'node:write',
    params: named,
    bodySchema: DrainBody,
    bodyBytesMax: smallBodyBytesMax,
    reply: ok(NodeUpdated),
    errors: ['not_found'],
    example: {
      url: `/v1/node/${exampleId}/drain`,
      body: { DrainSpec: { Deadline: 3_600_000_000_000, IgnoreSystemJobs: false } },
      shownOnly: noNode,
    },
    handle: async (request) => {
      const fields = request.fields()
      const spec = fields.object('DrainSpec')
      return updated(
        await request.call(nodeMethods.drain, {
          id: idOf(request),
          spec: spec === undefined ? null : drainSpecOf(spec),
          markEligible: fields.boolean('MarkEligible') ?? false,
          meta: (fields.textPairs('Meta') ?? []).map(([key, value]): [string, string] => [
            key,
            value,
          ]),
        }),
      )
    },
  },
  {
    method: 'PUT',
    path: '/v1/node/:node_id/purge',
    summary: 'Forget a client node; a living one registers again',
    permission: 'node:write',
    params: named,
    reply: ok(NodeEvaluated),
    errors: ['not_found'],
    example: { url: `/v1/node/${exampleId}/purge`, shownOnly: noNode },
    body: 'none',
    handle: async (request) =>
      evaluated(request, await request.call(nodeMethods.purge, { id: idOf(request) })),
  },
]

function idOf(request: ApiRequest): string {
  return request.parameter('node_id')
}

function drainSpecOf(fields: Fields) {
  const deadlineNs = fields.wideInteger('Deadline')
  if (deadlineNs === undefined) {
    throw new MusterError(
      'invalid_argument',
      'DrainSpec.Deadline is missing: nanoseconds, 0 for none',
    )
  }
  if (deadlineNs > Number.MAX_SAFE_INTEGER) {
    const most = `${Number.MAX_SAFE_INTEGER} nanoseconds, which is 104 days`
    throw new MusterError(
      'invalid_argument',
      `DrainSpec.Deadline must be at most ${most}, or 0 for none`,
    )
  }
  return {
    // Below 0 they all mean the same.
    deadlineNs: Math.max(Number.MIN_SAFE_INTEGER, deadlineNs),
    ignoreSystemJobs: fields.boolean('IgnoreSystemJobs') ?? false,
  }
}

function updated({ index, modifyIndex, evaluations }: NodeWritten): ApiReply {
  return {
    index,
    json: { ...evaluationsShown(index, evaluations), Index: index, NodeModifyIndex: modifyIndex },
  }
}

function evaluated(request: ApiRequest, given: Evaluated): ApiReply {
  const { index, modifyIndex, evaluations, leader, nodeCount, servers } = given
  const { datacenter } = request.service(site)
  return {
    index,
    json: {
      ...evaluationsShown(index, evaluations),
      HeartbeatTTL: 0,
      Index: index,
      KnownLeader: leader !== '',
      LastContact: 0,
      LeaderRPCAddr: leader,
      NodeModifyIndex: modifyIndex,
      NumNodes: nodeCount,
      Servers: servers.map((address) => ({
        Datacenter: datacenter,
        RPCAdvertiseAddr: address,
        RPCMajorVersion: 1,
        RPCMinorVersion: 1,
      })),
    },
  }
}

function evaluationsShown(index: number, ids: readonly string[]) {
  return ids.length === 0
    ? { EvalCreateIndex: 0, EvalIDs: null }
    : { EvalCreateIndex: index, EvalIDs: ids }
}
