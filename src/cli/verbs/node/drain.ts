/** `muster node drain`: moves all work off a node, and follows that to its end. */
import { nsPerMs, parseDurationMs } from '../../../lib/duration.ts'
import { listOf, objectOf, textOf } from '../../api/answer.ts'
import { ApiClient, type Answer } from '../../api/client.ts'
import { followPath } from '../../api/follow.ts'
import type { Json, JsonObject } from '../../../lib/exact-json.ts'
import { connectionFlags } from '../../api/settings.ts'
import { misused, type Flags } from '../../flags.ts'
import { shortId } from '../../ids.ts'
import { pairsOfFlag } from '../../items.ts'
import { formatFlags, formatOf } from '../../print/format.ts'
import { exits, type Terminal, type Verb } from '../../verb.ts'
import { showPlan } from './drain-plan.ts'
import { chosenNode, nodeOperand, readNode, selfFlag } from './find.ts'

const deadlineDefault = '1h'

export const nodeDrain: Verb = {
  operands: nodeOperand,
  about: `
Drains a node: it takes no new work, and what runs on it moves to others or is stopped at the
deadline. The command follows the drain to its end, unless -detach is given. -disable stops a
drain; the node takes work again, unless -keep-ineligible is given. -plan drains nothing: it shows
what would move where as things are, and what could not. The exit code is 1 where something could
not.
`,
  flags: {
    enable: { summary: 'Drain the node', value: null },
    disable: { summary: 'Stop draining it', value: null },
    deadline: { summary: `Then everything is stopped [${deadlineDefault}]`, value: 'DURATION' },
    'no-deadline': { summary: 'There is no deadline', value: null },
    force: { summary: 'Everything is stopped at once', value: null },
    'ignore-system': { summary: 'System jobs stay', value: null },
    'keep-ineligible': { summary: 'With -disable: it takes no new work', value: null },
    meta: { summary: 'Kept with the drain; repeatable', value: 'KEY=VALUE' },
    plan: { summary: 'Only show what -enable would do', value: null },
    monitor: { summary: 'Only follow a drain that is under way', value: null },
    detach: { summary: 'Do not follow it', value: null },
    yes: { summary: "Accepted, as Nomad's users give it; nothing is asked", value: null },
    ...selfFlag,
    ...formatFlags,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, terminal } = call
    const words = ['enable', 'disable', 'monitor', 'plan'].filter((word) => flags.has(word))
    if (words.length !== 1) misused('say one of -enable, -disable, -plan and -monitor')
    const spec = flags.has('enable') ? specOf(flags) : null
    if (formatOf(flags).type !== 'table' && !flags.has('plan'))
      misused('-json and -t go with -plan')
    const client = await ApiClient.open(call)
    const id = await chosenNode(client, call)
    if (flags.has('plan')) return showPlan(call, client, id)
    if (flags.has('monitor')) {
      return followDrain(client, id, terminal)
    }
    await client.ask('PUT', `/v1/node/${id}/drain`, {
      json: {
        DrainSpec: spec,
        MarkEligible: spec === null && !flags.has('keep-ineligible'),
        Meta: Object.fromEntries(pairsOfFlag(flags, 'meta')),
      },
    })
    terminal.out(`Node ${JSON.stringify(id)} drain strategy ${spec === null ? 'unset' : 'set'}\n`)
    if (spec === null || flags.has('detach')) return exits.ok
    return followDrain(client, id, terminal)
  },
}

/** Until the node is not draining; its last drain says how that ended. Meanwhile what it waits for, as that changes. */
async function followDrain(client: ApiClient, id: string, terminal: Terminal): Promise<number> {
  let told: ReadonlyMap<string, string> = new Map()
  const indexOf = ({ headers }: Answer) => [headers['x-service-index'] ?? '0'].flat()[0] ?? '0'
  await followPath(client, { path: `/v1/node/${id}/drain`, indexOf }, (drain) => {
    if (drain['Drain'] !== true) return true
    told = tell(listOf(drain['Waiting']).map(objectOf), told, terminal)
    return null
  })
  const node = await readNode(client, id)
  terminal.out(`Node ${JSON.stringify(id)} drain ${wordOf(node['LastDrain'])}\n`)
  return exits.ok
}

/** Returns what is known now, by allocation. */
function tell(
  waiting: readonly JsonObject[],
  before: ReadonlyMap<string, string>,
  terminal: Terminal,
): ReadonlyMap<string, string> {
  const now = new Map(waiting.map((one) => [textOf(one, 'ID'), lineOf(one)]))
  for (const [id, line] of now) if (before.get(id) !== line) terminal.out(`${line}\n`)
  for (const id of before.keys()) {
    if (!now.has(id)) terminal.out(`Allocation ${shortId(id)} is gone from the node\n`)
  }
  return now
}

function lineOf(one: JsonObject): string {
  return `Allocation ${shortId(textOf(one, 'ID'))} ${textOf(one, 'Name')}: ${textOf(one, 'Reason')}`
}

function wordOf(lastDrain: Json | undefined): string {
  if (lastDrain === null || lastDrain === undefined) return 'is over'
  return textOf(objectOf(lastDrain), 'Status')
}

function specOf(flags: Flags): JsonObject {
  const ways = ['deadline', 'no-deadline', 'force'].filter((word) => flags.has(word))
  if (ways.length > 1) misused('say one of -deadline, -no-deadline and -force')
  const text = flags.last('deadline') ?? deadlineDefault
  const ms = parseDurationMs(text)
  if (ms === undefined || ms <= 0) misused(`-deadline is a duration such as 30m, not ${text}`)
  const deadline = flags.has('force') ? -1 : flags.has('no-deadline') ? 0 : ms * nsPerMs
  return { Deadline: deadline, IgnoreSystemJobs: flags.has('ignore-system') }
}
