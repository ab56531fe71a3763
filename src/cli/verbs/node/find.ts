/** The node that a command is about: by its whole id or the front of it, or the one of the agent asked. */
import { MusterError } from '../../../lib/errors.ts'
import { listOf, objectOf, textOf } from '../../api/answer.ts'
import type { ApiClient } from '../../api/client.ts'
import type { Json, JsonObject } from '../../api/json.ts'
import { misused, type FlagTable } from '../../flags.ts'
import type { Call } from '../../verb.ts'

export const selfFlag: FlagTable = {
  self: { summary: 'The node of the agent asked, which is a client agent', value: null },
}

export const nodeOperand = { usage: '[NODE]', countMin: 0, countMax: 1 } as const

const uuidLength = 36
const shownMax = 20

/** Throws what says that the command was not understood where neither names one. */
export async function chosenNode(client: ApiClient, { flags, operands }: Call): Promise<string> {
  const [given] = operands
  if (flags.has('self')) {
    if (given !== undefined) misused('name a node or -self, not both')
    return ownNode(client)
  }
  if (given === undefined) misused('name a node by its id, or -self')
  return findNode(client, given)
}

async function ownNode(client: ApiClient): Promise<string> {
  const stats = objectOf(objectOf(await client.get('/v1/agent/self'))['stats'])
  const own = stats['client']
  if (own !== undefined) return textOf(objectOf(own), 'node_id')
  throw new MusterError('invalid_argument', 'the agent asked is a server, which is no node')
}

/** By the front of its id, as lists show it. */
async function findNode(client: ApiClient, given: string): Promise<string> {
  const id = given.toLowerCase()
  if (id.length >= uuidLength) return id
  if (!/^[0-9a-f-]+$/.test(id)) {
    throw new MusterError('invalid_argument', `${JSON.stringify(given)} is no id of a node`)
  }
  // The API takes whole bytes: what is odd is asked for with a digit less, and sorted out here.
  const isOdd = id.replaceAll('-', '').length % 2 === 1
  const json = await client.get('/v1/nodes', { prefix: isOdd ? id.slice(0, -1) : id })
  const found = listOf(json)
    .map(objectOf)
    .filter((row) => textOf(row, 'ID').startsWith(id))
  const [first] = found
  if (first === undefined) {
    throw new MusterError(
      'not_found',
      `no node has an id that begins with ${JSON.stringify(given)}`,
    )
  }
  if (found.length === 1) return textOf(first, 'ID')
  const shown = found
    .slice(0, shownMax)
    .map((row) => `${textOf(row, 'ID')} (${textOf(row, 'Name')})`)
  throw new MusterError(
    'invalid_argument',
    `${found.length} nodes have ids that begin with ${JSON.stringify(given)}: ${shown.join(', ')}`,
  )
}

export async function readNode(client: ApiClient, id: string): Promise<JsonObject> {
  const json: Json = await client.get(`/v1/node/${encodeURIComponent(id)}`)
  return objectOf(json)
}
