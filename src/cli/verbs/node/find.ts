/** The node that a command is about: by its whole id or the front of it, or the one of the agent asked. */
import { MusterError } from '../../../lib/errors.ts'
import { objectOf, textOf } from '../../api/answer.ts'
import type { ApiClient } from '../../api/client.ts'
import type { Json, JsonObject } from '../../../lib/exact-json.ts'
import { misused, type FlagTable } from '../../flags.ts'
import { findId, type Listed } from '../../ids.ts'
import type { Call } from '../../verb.ts'

export const selfFlag: FlagTable = {
  self: { summary: 'The node of the agent asked, which is a client agent', value: null },
}

export const nodeOperand = { usage: '[NODE]', countMin: 0, countMax: 1 } as const

const nodes: Listed = {
  what: 'node',
  path: '/v1/nodes',
  nameOf: (row) => textOf(row, 'Name'),
}

/** Throws what says that the command was not understood where neither names one. */
export async function chosenNode(client: ApiClient, { flags, operands }: Call): Promise<string> {
  const [given] = operands
  if (flags.has('self')) {
    if (given !== undefined) misused('name a node or -self, not both')
    return ownNode(client)
  }
  if (given === undefined) misused('name a node by its id, or -self')
  return findId(client, given, nodes)
}

async function ownNode(client: ApiClient): Promise<string> {
  const stats = objectOf(objectOf(await client.get('/v1/agent/self'))['stats'])
  const own = stats['client']
  if (own !== undefined) return textOf(objectOf(own), 'node_id')
  throw new MusterError('invalid_argument', 'the agent asked is a server, which is no node')
}

export async function readNode(client: ApiClient, id: string): Promise<JsonObject> {
  const json: Json = await client.get(`/v1/node/${encodeURIComponent(id)}`)
  return objectOf(json)
}
