/** `muster catalog nodes`. */
import { listOf, objectOf, pairsOf, textOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import type { Json, JsonObject } from '../../../lib/exact-json.ts'
import { connectionFlags } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { table } from '../../print/table.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'
import { catalogFlags, catalogSearch, nodeMetaFlag } from './view.ts'

const idLengthShown = 8

export const catalogNodes: Verb = {
  operands: noOperands,
  flags: {
    service: { summary: 'Only those that have this service', value: 'NAME' },
    detailed: { summary: 'Also whole IDs, tagged addresses and meta', value: null },
    ...nodeMetaFlag,
    ...catalogFlags,
    ...formatFlags,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, terminal } = call
    formatOf(flags)
    const service = flags.last('service')
    const search = catalogSearch(flags)
    const client = await ApiClient.open(call)
    const path = service === undefined ? 'nodes' : `service/${encodeURIComponent(service)}`
    const answer = await client.get(`/v1/catalog/${path}`, search)
    const nodes = service === undefined ? listOf(answer) : nodesOf(answer)
    const rows = nodes.map(objectOf)
    await show(call, [...nodes], (style) => {
      if (rows.length === 0) return ''
      const heading = ['Node', 'ID', 'Address', 'DC']
      return flags.has('detailed')
        ? table(style, [...heading, 'TaggedAddresses', 'Meta'], rows.map(detailedRow))
        : table(style, heading, rows.map(shortRow))
    })
    if (rows.length === 0) terminal.err('No nodes found\n')
    return exits.ok
  },
}

/** Of instances, several of which one node may have. */
function nodesOf(instances: Json): readonly Json[] {
  const seen = new Set<string>()
  return listOf(instances).filter((instance) => {
    const name = textOf(objectOf(instance), 'Node')
    const isNew = !seen.has(name)
    seen.add(name)
    return isNew
  })
}

function shortRow(row: JsonObject): readonly string[] {
  const id = textOf(row, 'ID').slice(0, idLengthShown)
  return [textOf(row, 'Node'), id || '-', textOf(row, 'Address'), textOf(row, 'Datacenter')]
}

function detailedRow(row: JsonObject): readonly string[] {
  const meta = 'NodeMeta' in row ? 'NodeMeta' : 'Meta'
  return [
    textOf(row, 'Node'),
    textOf(row, 'ID') || '-',
    textOf(row, 'Address'),
    textOf(row, 'Datacenter'),
    pairsText(row, 'TaggedAddresses'),
    pairsText(row, meta),
  ]
}

function pairsText(row: JsonObject, name: string): string {
  const text = pairsOf(row, name).map(([key, value]) => `${key}=${value}`)
  return text.length === 0 ? '-' : text.join(', ')
}
