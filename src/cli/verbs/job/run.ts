/** `muster job run`: registers a job, and follows what becomes of it. */
import { integerOf, objectOf, textOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { printJson, type JsonObject } from '../../../lib/exact-json.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { countFlag, misused } from '../../flags.ts'
import { visibleByLine } from '../../print/table.ts'
import { exits, type Call, type Verb } from '../../verb.ts'
import { newestDeployment } from '../deployment/find.ts'
import { followDeployment } from '../deployment/follow.ts'
import { nextLaunch } from './children.ts'
import { detachFlags, evalPriorityFlag, evaluationIn } from './evaluation.ts'
import type { FoundJob } from './find.ts'
import { fileOperand, isJson, jobToSend, readSource, variableFlags, wordOf } from './source.ts'

export const jobRun: Verb = {
  operands: fileOperand,
  about: `
Registers the job of a file, HCL or JSON, or gives it a new version, and follows its evaluation and
its deployment to their ends. The exit code is 1 where an allocation has no place, or where the
deployment fails; the job is registered all the same, and what is left is placed once there is room.

The namespace is that of the option, else that of the file, else MUSTER_NAMESPACE.
`,
  flags: {
    ...variableFlags,
    'check-index': {
      summary: 'Only if the job is still at this JobModifyIndex; 0: only if there is none',
      value: 'INDEX',
    },
    json: {
      summary: 'The file is JSON; one that begins with a brace is, unless said',
      value: null,
    },
    'eval-priority': evalPriorityFlag,
    output: { summary: 'Register nothing: print the job as JSON', value: null },
    ...detachFlags,
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, terminal } = call
    const index = countFlag(flags, 'check-index', 0)
    const evalPriority = countFlag(flags, 'eval-priority', 1)
    const source = await readSource(call)
    if (flags.has('json') && !isJson(source)) misused(`${source.path} is not a job in JSON`)
    const client = await ApiClient.open(call)
    const { Job, Namespace } = await jobToSend(client, source, flags)
    if (flags.has('output')) {
      terminal.out(printJson({ Job }))
      return exits.ok
    }
    const { json } = await client.ask('PUT', '/v1/jobs', {
      search: { namespace: Namespace },
      json: {
        Job,
        ...(index !== undefined && { EnforceIndex: true, JobModifyIndex: index }),
        ...(evalPriority !== undefined && { EvalPriority: evalPriority }),
      },
    })
    const answer = objectOf(json)
    const warnings = textOf(answer, 'Warnings')
    if (warnings !== '') terminal.err(`${visibleByLine(warnings)}\n`)
    terminal.out(`Registered job ${JSON.stringify(wordOf(Job, 'ID'))}\n`)
    const next = nextLaunch(Job, terminal.nowMs())
    if (next !== null) terminal.out(`Next launch: ${next}\n`)
    const code = await evaluationIn(answer, client, call)
    if (code !== exits.ok || flags.has('detach')) return code
    const job = { id: wordOf(Job, 'ID'), namespace: wordOf(Job, 'Namespace') || 'default' }
    return deploymentOf(job, answer, client, call)
  },
}

/** Follows that of this registration; there is none where nothing was to be replaced. */
async function deploymentOf(
  job: Pick<FoundJob, 'id' | 'namespace'>,
  answer: JsonObject,
  client: ApiClient,
  call: Call,
): Promise<number> {
  const deployment = await newestDeployment(client, job)
  if (deployment === null) return exits.ok
  const made = integerOf(deployment, 'JobSpecModifyIndex')
  if (made !== integerOf(answer, 'JobModifyIndex')) return exits.ok
  return followDeployment(client, textOf(deployment, 'ID'), call)
}
