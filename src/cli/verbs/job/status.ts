/** `muster job status`: all jobs, or one of them. */
import {
  countOf,
  integerOf,
  listOf,
  membersOf,
  objectOf,
  textOf,
  textsOf,
  timeOf,
} from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { isObject, type JsonObject } from '../../../lib/exact-json.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { shownId } from '../../ids.ts'
import { fromNow } from '../../print/ago.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import type { Style } from '../../print/style.ts'
import { pairs, table } from '../../print/table.ts'
import { exits, type Call, type Verb } from '../../verb.ts'
import { allocationTable } from '../alloc/table.ts'
import { brakeHint } from '../brake/brake.ts'
import { newestDeployment } from '../deployment/find.ts'
import { deploymentText } from '../deployment/table.ts'
import { dueMsOf, isRescheduled } from '../eval/due.ts'
import { failureText, hasFailures } from '../eval/failures.ts'
import { evaluationTable } from '../eval/table.ts'
import { childrenOf, childrenText, isParameterized, isTemplate, nextLaunch } from './children.ts'
import { anyNamespace, findJob, jobPath, statusOf, type FoundJob } from './find.ts'

const counts = ['Queued', 'Starting', 'Running', 'Failed', 'Complete', 'Lost', 'Unknown'] as const

export const jobStatus: Verb = {
  operands: { usage: '[JOB]', countMin: 0, countMax: 1 },
  about: `
Lists the jobs; or shows one, by its id or the front of it, with how many allocations of each group
are in which state, its newest deployment, its allocations, and why some have no place. With
-namespace '*' jobs of all namespaces. -json prints for one job an object of Job, Summary,
Allocations, Evaluations and Deployment.
`,
  flags: {
    evals: { summary: 'Evaluations of one job', value: null },
    'all-allocs': {
      summary: 'Of one job also allocations of a purged one with its id',
      value: null,
    },
    filter: { summary: 'Only jobs that match, as in \'Type == "batch"\'', value: 'EXPRESSION' },
    verbose: { summary: 'Whole ids, and times instead of ages; evaluations', value: null },
    ...formatFlags,
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    formatOf(call.flags)
    const client = await ApiClient.open(call)
    const [given] = call.operands
    if (given === undefined) return listJobs(call, client)
    return showJob(call, client, await findJob(client, given))
  },
}

async function listJobs(call: Call, client: ApiClient): Promise<number> {
  const { namespace } = client.settings
  const json = await client.get('/v1/jobs', { namespace, filter: call.flags.last('filter') })
  const rows = listOf(json).map(objectOf)
  const withNamespace = namespace === anyNamespace
  await show(call, json, (style) => {
    if (rows.length === 0) return ''
    return table(
      style,
      ['ID', ...(withNamespace ? ['Namespace'] : []), 'Type', 'Priority', 'Status', 'Submit Date'],
      rows.map((row) => [
        textOf(row, 'ID'),
        ...(withNamespace ? [textOf(row, 'Namespace')] : []),
        textOf(row, 'Type'),
        integerOf(row, 'Priority'),
        statusOf(row),
        timeOf(row, 'SubmitTime'),
      ]),
    )
  })
  if (rows.length === 0) call.terminal.err('No jobs found\n')
  return exits.ok
}

async function showJob(
  call: Call,
  client: ApiClient,
  { id, namespace, job }: FoundJob,
): Promise<number> {
  const { flags, terminal } = call
  const all = String(flags.has('all-allocs'))
  const [Summary, Allocations, Evaluations, Deployment] = await Promise.all([
    client.get(jobPath(id, '/summary'), { namespace }),
    client.get(jobPath(id, '/allocations'), { namespace, all }),
    client.get(jobPath(id, '/evaluations'), { namespace }),
    newestDeployment(client, { id, namespace }),
  ])
  const verbose = flags.has('verbose')
  const evaluations = listOf(Evaluations).map(objectOf)
  const allocations = listOf(Allocations).map(objectOf)
  const children = isTemplate(job) ? await childrenOf(client, { id, namespace }) : null
  const shown = { Job: job, Summary, Allocations, Evaluations, Deployment }
  await show(call, shown, (style) => {
    if (children !== null) {
      const summary = objectOf(Summary)
      return `${pairs(overviewOf(job, terminal.nowMs()))}\n${childrenText(style, job, { summary, children })}`
    }
    const parts = [
      pairs(overviewOf(job, terminal.nowMs())),
      `${style.heading('Summary')}\n${summaryTable(style, objectOf(Summary))}`,
    ]
    if (verbose || flags.has('evals')) {
      const columns = { verbose, withJob: false, withNamespace: false }
      parts.push(`${style.heading('Evaluations')}\n${evaluationTable(style, evaluations, columns)}`)
    }
    const failed = failuresNow(evaluations)
    if (failed !== undefined) {
      parts.push(`${style.heading('Placement Failures')}\n${failureText(failed)}`)
    }
    const coming = job['Stop'] === true ? [] : reschedulesOf(evaluations, allocations)
    if (coming.length > 0) {
      const rows = coming.map(({ group, evaluation, dueMs }) => [
        group,
        shownId(evaluation, verbose),
        verbose ? new Date(dueMs).toISOString() : fromNow(dueMs, terminal.nowMs()),
      ])
      const title = style.heading('Future Rescheduling Attempts')
      parts.push(`${title}\n${table(style, ['Group', 'Eval ID', 'Eval Time'], rows)}`)
    }
    if (Deployment !== null) {
      const text = deploymentText(style, Deployment, verbose)
      parts.push(`${style.heading('Latest Deployment')}\n${text}`)
    }
    const columns = { nowMs: terminal.nowMs(), verbose }
    parts.push(
      `${style.heading('Allocations')}\n${
        allocations.length === 0
          ? 'No allocations placed\n'
          : allocationTable(style, allocations, columns)
      }`,
    )
    return parts.join('\n')
  })
  if (evaluations.some(isOfNode)) terminal.err(await brakeHint(client))
  return exits.ok
}

/** By group, the evaluations that wait until allocations that failed, or are cut off, are due. The first that is due comes first. */
function reschedulesOf(evaluations: readonly JsonObject[], allocations: readonly JsonObject[]) {
  const mayCome = allocations.filter(isRescheduled)
  return evaluations
    .flatMap((row) => {
      const [evaluation, dueMs] = [textOf(row, 'ID'), dueMsOf(row)]
      if (dueMs === null) return []
      const waiting = mayCome.filter((one) => one['FollowupEvalID'] === evaluation)
      const groups = new Set(waiting.map((one) => textOf(one, 'TaskGroup')))
      return [...groups].map((group) => ({ group, evaluation, dueMs }))
    })
    .toSorted((left, right) => left.dueMs - right.dueMs)
}

/** What became of a node has the job looked at, which may wait for the storm brake. */
function isOfNode(evaluation: JsonObject): boolean {
  return (
    textOf(evaluation, 'Status') === 'pending' &&
    textOf(evaluation, 'TriggeredBy') === 'node-update'
  )
}

function overviewOf(job: JsonObject, nowMs: number): readonly (readonly [string, string])[] {
  const next = nextLaunch(job, nowMs)
  const parent = textOf(job, 'ParentID')
  return [
    ['ID', textOf(job, 'ID')],
    ['Name', textOf(job, 'Name')],
    ['Namespace', textOf(job, 'Namespace')],
    ['Submit Date', timeOf(job, 'SubmitTime')],
    ['Version', integerOf(job, 'Version')],
    ['Type', textOf(job, 'Type')],
    ['Priority', integerOf(job, 'Priority')],
    ['Datacenters', textsOf(job, 'Datacenters').join(', ')],
    ['Status', statusOf(job)],
    ...(parent === '' ? [] : [['Parent', parent] as const]),
    ['Periodic', String(isObject(job['Periodic']))],
    ...(next === null ? [] : [['Next Launch', next] as const]),
    ['Parameterized', String(isParameterized(job))],
  ]
}

function summaryTable(style: Style, summary: JsonObject): string {
  const rows = membersOf(summary, 'Summary').map(([group, numbers]) => [
    group,
    ...counts.map((name) => String(countOf(numbers, name))),
  ])
  return table(style, ['Group', ...counts], rows)
}

/** The newest evaluation that found no place for something, as long as one waits for room. */
function failuresNow(evaluations: readonly JsonObject[]): JsonObject | undefined {
  if (!evaluations.some((row) => textOf(row, 'Status') === 'blocked')) return undefined
  return evaluations
    .filter(hasFailures)
    .toSorted(
      (a, b) => Number(integerOf(b, 'ModifyIndex')) - Number(integerOf(a, 'ModifyIndex')),
    )[0]
}
