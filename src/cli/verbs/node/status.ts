/** `muster node status`: all nodes, or one of them. */
import { flagOf, listOf, objectOf, pairsOf, textOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { isObject, type JsonObject } from '../../../lib/exact-json.ts'
import { connectionFlags } from '../../api/settings.ts'
import { shortId } from '../../ids.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import type { Style } from '../../print/style.ts'
import { pairs, table, type Cell } from '../../print/table.ts'
import { exits, type Call, type Verb } from '../../verb.ts'
import { allocationTable } from '../alloc/table.ts'
import { brakeHint } from '../brake/brake.ts'
import { chosenNode, nodeOperand, readNode, selfFlag } from './find.ts'

export const nodeStatus: Verb = {
  operands: nodeOperand,
  about: `
Lists the client nodes; or shows one, by its id or the front of it, with its last events and its
allocations. -verbose shows whole ids, and of one node its attributes and metadata.
`,
  flags: {
    ...selfFlag,
    filter: { summary: 'Only nodes that match, as in \'Status == "down"\'', value: 'EXPRESSION' },
    verbose: { summary: 'Whole ids; attributes and metadata of one node', value: null },
    ...formatFlags,
    ...connectionFlags,
  },
  async run(call) {
    formatOf(call.flags)
    const client = await ApiClient.open(call)
    return call.flags.has('self') || call.operands.length > 0
      ? showNode(call, client)
      : listNodes(call, client)
  },
}

async function listNodes(call: Call, client: ApiClient): Promise<number> {
  const { flags, terminal } = call
  const json = await client.get('/v1/nodes', { filter: flags.last('filter') })
  const rows = listOf(json).map(objectOf)
  const isWhole = flags.has('verbose')
  await show(call, json, (style) => {
    if (rows.length === 0) return ''
    return table(
      style,
      ['ID', 'DC', 'Name', 'Class', 'Drain', 'Eligibility', 'Status'],
      rows.map((row) => [
        isWhole ? textOf(row, 'ID') : shortId(textOf(row, 'ID')),
        textOf(row, 'Datacenter'),
        textOf(row, 'Name'),
        textOf(row, 'NodeClass') || '<none>',
        String(flagOf(row, 'Drain')),
        textOf(row, 'SchedulingEligibility'),
        statusCell(row, style),
      ]),
    )
  })
  if (rows.length === 0) terminal.err('No nodes found\n')
  const isAway = rows.some((row) => !['ready', 'initializing'].includes(textOf(row, 'Status')))
  if (isAway) terminal.err(await brakeHint(client))
  return exits.ok
}

async function showNode(call: Call, client: ApiClient): Promise<number> {
  const id = await chosenNode(client, call)
  const node = await readNode(client, id)
  const placed = listOf(await client.get(`/v1/node/${encodeURIComponent(id)}/allocations`))
  const allocations = placed.map(objectOf).map(asListed)
  await show(call, node, (style) => {
    const parts = [
      pairs([
        ['ID', textOf(node, 'ID')],
        ['Name', textOf(node, 'Name')],
        ['Class', textOf(node, 'NodeClass') || '<none>'],
        ['DC', textOf(node, 'Datacenter')],
        ['Drain', String(flagOf(node, 'Drain'))],
        ['Eligibility', textOf(node, 'SchedulingEligibility')],
        ['Status', statusCell(node, style)],
        ['API', textOf(node, 'HTTPAddr') || '<none>'],
        ['Host Volumes', Object.keys(objectOf(node['HostVolumes'])).join(', ') || '<none>'],
        ['Drivers', driverNames(node) || '<none>'],
      ]),
      `${style.heading('Events')}\n${eventTable(node, style)}`,
    ]
    if (allocations.length > 0) {
      const columns = { nowMs: call.terminal.nowMs(), verbose: call.flags.has('verbose') }
      const heading = style.heading('Allocations')
      parts.push(`${heading}\n${allocationTable(style, allocations, columns)}`)
    }
    if (call.flags.has('verbose')) {
      const drivers = driverTable(node, style)
      if (drivers !== '') parts.push(`${style.heading('Drivers')}\n${drivers}`)
      for (const name of ['Attributes', 'Meta']) {
        const held = pairsOf(node, name)
        if (held.length > 0) parts.push(`${style.heading(name)}\n${pairs(held)}`)
      }
    }
    return parts.join('\n')
  })
  return exits.ok
}

/** An allocation as lists show it: the whole record has the version in its job. */
function asListed(row: JsonObject): JsonObject {
  const job = row['Job']
  return { ...row, JobVersion: isObject(job) ? (job['Version'] ?? 0) : 0 }
}

/** The newest first. */
function eventTable(node: JsonObject, style: Style): string {
  const rows = listOf(node['Events']).map(objectOf).toReversed()
  return table(
    style,
    ['Time', 'Subsystem', 'Message'],
    rows.map((row) => [
      textOf(row, 'Timestamp').replace(/\.\d+Z$/, 'Z'),
      textOf(row, 'Subsystem'),
      textOf(row, 'Message'),
    ]),
  )
}

/** With those that run nothing here. */
function driverNames(node: JsonObject): string {
  return driversOf(node)
    .map(([name, driver]) => (flagOf(driver, 'Healthy') ? name : `${name} (unhealthy)`))
    .join(', ')
}

function driverTable(node: JsonObject, style: Style): string {
  const rows = driversOf(node).map(([name, driver]) => {
    const { text, paint } = flagOf(driver, 'Healthy')
      ? { text: 'true', paint: style.good }
      : { text: 'false', paint: style.bad }
    return [name, { text, paint }, textOf(driver, 'HealthDescription')]
  })
  return rows.length === 0 ? '' : table(style, ['Driver', 'Healthy', 'Message'], rows)
}

function driversOf(node: JsonObject): readonly (readonly [name: string, driver: JsonObject])[] {
  const drivers = Object.entries(objectOf(node['Drivers']))
  return drivers.map(([name, driver]) => [name, objectOf(driver)] as const)
}

function statusCell(row: JsonObject, style: Style): Cell {
  const status = textOf(row, 'Status')
  return { text: status, paint: status === 'ready' ? style.good : style.bad }
}
