/** `muster catalog services`. */
import { objectOf, textOf, textsOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import type { Json } from '../../../lib/exact-json.ts'
import { connectionFlags } from '../../api/settings.ts'
import { MusterError } from '../../../lib/errors.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { table, visible } from '../../print/table.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'
import { catalogFlags, catalogSearch, nodeMetaFlag } from './view.ts'

type Named = readonly [name: string, tags: readonly string[]]

export const catalogServices: Verb = {
  operands: noOperands,
  flags: {
    node: { summary: 'Only those on this node, by its name or id', value: 'NODE' },
    tags: { summary: 'Also the tags of each', value: null },
    ...nodeMetaFlag,
    ...catalogFlags,
    ...formatFlags,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, terminal } = call
    formatOf(flags)
    const node = flags.last('node')
    const search = catalogSearch(flags)
    const client = await ApiClient.open(call)
    const path = node === undefined ? 'services' : `node/${encodeURIComponent(node)}`
    const json = await client.get(`/v1/catalog/${path}`, search)
    const services = node === undefined ? namedIn(json) : onNode(json, node)
    await show(call, json, (style) => {
      if (services.length === 0) return ''
      if (!flags.has('tags')) return services.map(([name]) => `${visible(name)}\n`).join('')
      const rows = services.map(([name, tags]) => [name, tags.join(', ') || '-'])
      return table(style, ['Service', 'Tags'], rows)
    })
    if (services.length === 0) terminal.err('No services found\n')
    return exits.ok
  },
}

function namedIn(json: Json): readonly Named[] {
  const object = objectOf(json)
  return Object.keys(object)
    .sort()
    .map((name) => [name, textsOf(object, name)])
}

/** By name, with the tags of all its instances there. */
function onNode(json: Json, node: string): readonly Named[] {
  if (json === null) throw new MusterError('not_found', `there is no node ${JSON.stringify(node)}`)
  const tags = new Map<string, Set<string>>()
  for (const service of Object.values(objectOf(objectOf(json)['Services'])).map(objectOf)) {
    const name = textOf(service, 'Service')
    tags.set(name, new Set([...(tags.get(name) ?? []), ...textsOf(service, 'Tags')]))
  }
  return [...tags].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, all]) => [name, [...all]])
}
