/** The count of a group is changed, by an operator or an autoscaler: not while a deployment of the job goes on. */
import { Type } from 'typebox'
import { assertNever } from '../../lib/assert.ts'
import { MusterError } from '../../lib/errors.ts'
import { defineLeaderMethod, type LeaderContext } from '../../rpc/method.ts'
import { chosen, known, mustTakeJobs, unknownJob } from './known.ts'
import { newestVersionOf } from './queries.ts'
import type { Evaluated } from './registered-methods.ts'
import { isActive } from '../deployments/model.ts'
import { newestDeploymentOf } from '../deployments/queries.ts'
import { inNamespace } from '../../rpc/requirements.ts'
import { scaleJob } from './scale-commands.ts'
import { CountOrNull, messageLengthMax, scaleMetaLengthMax, withCount } from './scale-model.ts'
import { boundsProblem } from './scaling-model.ts'
import type { JobRow } from './table.ts'
import { validateJob } from './validate-model.ts'
import { knowsTimeZone } from './zones.ts'

const Word = Type.String({ maxLength: 1_024 })

const scale = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'jobs.scale',
  args: Type.Object({
    namespace: Word,
    id: Word,
    /** '': it was not said. */
    group: Type.String({ maxLength: 1_024 }),
    count: CountOrNull,
    error: Type.Boolean(),
    message: Type.String({ maxLength: messageLengthMax }),
    meta: Type.String({ maxLength: scaleMetaLengthMax }),
    enforceIndex: Type.Union([
      Type.Null(),
      Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    ]),
  }),
  requires: ({ namespace }) => inNamespace(namespace, 'scale-job'),
  run: async (context, args): Promise<Evaluated> => {
    const { id, group, count } = args
    mustTakeJobs(context)
    if (group === '') throw refused('Target.Group is missing: name the group to scale')
    const job = known(context, args.namespace, id)
    const version = newestVersionOf(context.read(), job)
    const spec = version === null ? null : withCount(version.spec, group, count ?? 0)
    if (version !== null && spec === null) throw unknownGroup(id, group)
    if (count !== null) await mustNotDeploy(context, job)
    if (version !== null && spec !== null && count !== null) {
      const problem = boundsProblem(spec, group, count)
      if (problem !== null) throw refused(problem)
      // A job of before a rule is scaled although it breaks that.
      const before = new Set(validateJob(version.spec, { knowsTimeZone }).texts())
      const texts = validateJob(spec, { knowsTimeZone }).texts()
      const problems = texts.filter((text) => !before.has(text))
      if (problems.length > 0) throw refused(problems.join('; '))
    }
    const { index, outcome } = await context.propose(scaleJob, { ...args, ...chosen(context) })
    switch (outcome.type) {
      case 'scaled': {
        const { row, evaluation } = outcome
        return { index, jobModifyIndex: row.jobModifyIndex, evaluation: evaluation?.id ?? '' }
      }
      case 'unknown':
        throw unknownJob()
      case 'unknownGroup':
        throw unknownGroup(id, group)
      case 'outOfBounds':
        throw refused(outcome.text)
      case 'stopped':
        throw refused(`job ${JSON.stringify(id)} is stopped: register it again`)
      case 'conflict': {
        const text = `the job is at JobModifyIndex ${outcome.jobModifyIndex}, not ${args.enforceIndex}`
        throw new MusterError('conflict', text)
      }
      default:
        return assertNever(outcome)
    }
  },
})

export const scaleMethods = { scale }

/** Its canaries would go, or the count with a version that is reverted. In Nomad's words, which its autoscaler knows. */
async function mustNotDeploy(context: LeaderContext, job: JobRow): Promise<void> {
  if (context.tookEffect || job.stop) return
  const { namespace, id: jobId } = job
  const newest = await newestDeploymentOf(context.read(), { namespace, jobId })
  if (newest === null || newest.jobCreateIndex !== job.createIndex || !isActive(newest)) return
  throw refused('job scaling blocked due to active deployment')
}

function unknownGroup(id: string, group: string): MusterError {
  return refused(`job ${JSON.stringify(id)} has no group ${JSON.stringify(group)}`)
}

function refused(text: string): MusterError {
  return new MusterError('invalid_argument', text)
}
