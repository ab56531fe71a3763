/** `muster alloc status`: all allocations, or one of them. */
import {
  flagOf,
  integerOf,
  listOf,
  membersOf,
  objectOf,
  textOf,
  textsOf,
  timeOf,
} from '../../api/answer.ts'
import { ApiClient, ApiRefusal } from '../../api/client.ts'
import { isObject, type Json, type JsonObject } from '../../../lib/exact-json.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { hostPort } from '../../../lib/host-port.ts'
import { shownId } from '../../ids.ts'
import { fromNow } from '../../print/ago.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import type { Style } from '../../print/style.ts'
import { pairs, table, type Cell } from '../../print/table.ts'
import { exits, type Call, type Verb } from '../../verb.ts'
import { dueMsOf, isRescheduled } from '../eval/due.ts'
import { allocationPath, findAllocation } from './find.ts'
import { allocationTable } from './table.ts'
import { usagesOf } from './usage.ts'

export const allocStatus: Verb = {
  operands: { usage: '[ALLOCATION]', countMin: 0, countMax: 1 },
  about: `
Lists the allocations; or shows one, by its id or the front of it, with its ports, its tasks and
what last happened to them.
`,
  flags: {
    filter: {
      summary: 'Only allocations that match, as in \'ClientStatus == "failed"\'',
      value: 'EXPRESSION',
    },
    stats: { summary: 'Of one: also what its tasks take of their node', value: null },
    verbose: { summary: 'Whole ids, and times instead of ages', value: null },
    ...formatFlags,
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    formatOf(call.flags)
    const client = await ApiClient.open(call)
    const [given] = call.operands
    return given === undefined ? listAllocations(call, client) : showAllocation(call, client, given)
  },
}

async function listAllocations(call: Call, client: ApiClient): Promise<number> {
  const { flags, terminal } = call
  const { namespace } = client.settings
  const json = await client.get('/v1/allocations', { namespace, filter: flags.last('filter') })
  const rows = listOf(json).map(objectOf)
  const columns = { nowMs: terminal.nowMs(), verbose: flags.has('verbose') }
  await show(call, json, (style) =>
    rows.length === 0 ? '' : allocationTable(style, rows, columns),
  )
  if (rows.length === 0) terminal.err('No allocations found\n')
  return exits.ok
}

async function showAllocation(call: Call, client: ApiClient, given: string): Promise<number> {
  const id = await findAllocation(client, given)
  const allocation = objectOf(await client.get(allocationPath(id)))
  const usages = call.flags.has('stats')
    ? await usagesOf(client, id, allocation)
    : new Map<string, never>()
  const verbose = call.flags.has('verbose')
  const dueMs = await followUpDueMs(client, allocation)
  const due = dueMs === null ? null : fromNow(dueMs, call.terminal.nowMs())
  await show(call, allocation, (style) => {
    const parts = [pairs(overviewOf(allocation, { verbose, due }))]
    const ports = portsOf(allocation)
    if (ports.length > 0) {
      const header = ['Label', 'Address', 'To']
      parts.push(`${style.heading('Allocation Addresses')}\n${table(style, header, ports)}`)
    }
    for (const [task, state] of membersOf(allocation, 'TaskStates')) {
      const title = style.heading(`Task ${JSON.stringify(task)} is ${textOf(state, 'State')}`)
      parts.push(
        `${title}\n${pairs([...(usages.get(task) ?? []), ...taskOf(state)])}\n${eventTable(state, style)}`,
      )
    }
    return parts.join('\n')
  })
  return exits.ok
}

/** When the evaluation is due that looks at it again; null: none waits for that, or the caller may not read it. */
async function followUpDueMs(client: ApiClient, row: JsonObject): Promise<number | null> {
  const [id, next] = [row['FollowupEvalID'], row['NextAllocation']]
  if (
    !isRescheduled(row) ||
    typeof id !== 'string' ||
    id === '' ||
    (typeof next === 'string' && next !== '')
  )
    return null
  try {
    return dueMsOf(objectOf(await client.get(`/v1/evaluation/${encodeURIComponent(id)}`)))
  } catch (error) {
    if (error instanceof ApiRefusal && [403, 404].includes(error.status)) return null
    throw error
  }
}

function overviewOf(
  row: JsonObject,
  { verbose, due }: { readonly verbose: boolean; readonly due: string | null },
): readonly (readonly [string, Cell])[] {
  const shown = (id: string): string => shownId(id, verbose)
  const linked = (name: string): string => (row[name] === undefined ? '' : textOf(row, name))
  const health = row['DeploymentStatus']
  const job = row['Job']
  return [
    ['ID', shown(textOf(row, 'ID'))],
    ['Eval ID', shown(textOf(row, 'EvalID'))],
    ['Name', textOf(row, 'Name')],
    ['Namespace', textOf(row, 'Namespace')],
    ['Node ID', shown(textOf(row, 'NodeID'))],
    ['Node Name', textOf(row, 'NodeName')],
    ['Job ID', textOf(row, 'JobID')],
    ['Job Version', isObject(job) ? integerOf(job, 'Version') : '<none>'],
    ['Client Status', textOf(row, 'ClientStatus')],
    ['Client Description', textOf(row, 'ClientDescription') || '<none>'],
    ['Desired Status', textOf(row, 'DesiredStatus')],
    ['Desired Description', textOf(row, 'DesiredDescription') || '<none>'],
    ['Created', timeOf(row, 'CreateTime')],
    ['Modified', timeOf(row, 'ModifyTime')],
    ['Deployment ID', shown(linked('DeploymentID'))],
    ['Healthy', healthOf(health)],
    ...(due === null ? [] : [[dueLabel(row), due] as const]),
    ['Replacement Alloc ID', shown(linked('NextAllocation'))],
    ['Replaces Alloc ID', shown(linked('PreviousAllocation'))],
    ...preemptionOf(row, shown),
  ]
}

/** One that is cut off may come back until then. */
function dueLabel(row: JsonObject): string {
  return textOf(row, 'ClientStatus') === 'unknown' ? 'Lost Unless Back' : 'Reschedule Eligibility'
}

function preemptionOf(
  row: JsonObject,
  shown: (id: string) => string,
): readonly (readonly [string, Cell])[] {
  const lines: (readonly [string, Cell])[] = []
  if (row['PreemptedByAllocation'] !== undefined) {
    lines.push(['Preempted By Alloc ID', shown(textOf(row, 'PreemptedByAllocation'))])
  }
  if (row['PreemptedAllocations'] !== undefined) {
    const ids = textsOf(row, 'PreemptedAllocations').map(shown)
    lines.push(['Preempts Alloc IDs', ids.join(', ')])
  }
  return lines
}

function healthOf(health: Json | undefined): string {
  if (!isObject(health) || health['Healthy'] === null) return 'not known'
  return `${flagOf(health, 'Healthy')}${health['Canary'] === true ? ' (canary)' : ''}`
}

function portsOf(row: JsonObject): readonly (readonly string[])[] {
  const shared = objectOf(objectOf(row['AllocatedResources'])['Shared'])
  return listOf(shared['Ports'])
    .map(objectOf)
    .map((port) => {
      const [host, to] = [textOf(port, 'HostIP'), integerOf(port, 'To')]
      const address = hostPort(host, Number(integerOf(port, 'Value')))
      return [textOf(port, 'Label'), address, to === '0' ? '' : to]
    })
}

function taskOf(state: JsonObject): readonly (readonly [string, Cell])[] {
  const at = (name: string): string => {
    const value = state[name]
    return typeof value === 'string' ? value.replace(/\.\d+Z$/, 'Z') : '<none>'
  }
  return [
    ['Started At', at('StartedAt')],
    ['Finished At', at('FinishedAt')],
    ['Total Restarts', integerOf(state, 'Restarts')],
    ['Last Restart', at('LastRestart')],
  ]
}

/** The newest first. */
function eventTable(state: JsonObject, style: Style): string {
  const rows = listOf(state['Events']).map(objectOf).toReversed()
  return table(
    style,
    ['Time', 'Type', 'Description'],
    rows.map((row) => [timeOf(row, 'Time'), textOf(row, 'Type'), textOf(row, 'DisplayMessage')]),
  )
}
