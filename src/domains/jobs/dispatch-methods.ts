/** A parameterized job is dispatched, or a periodic one is started by hand: a job of its own runs. */
import { randomUUID } from 'node:crypto'
import { Type, type Static } from 'typebox'
import { assertNever } from '../../lib/assert.ts'
import { MusterError } from '../../lib/errors.ts'
import { defineLeaderMethod, type LeaderContext } from '../../rpc/method.ts'
import { jobIdLengthMax, operatorOptionsVersion, Priority } from '../evaluations/model.ts'
import {
  dispatchedId,
  dispatchedSpec,
  dispatchProblem,
  launchedSuffixLength,
  metaBytesMax,
  payloadLengthMax,
  prefixLengthMax,
  tokenLengthMax,
} from './dispatch-model.ts'
import { chosen, known, mustKnow, mustTakeJobs, unknownJob } from './known.ts'
import { isParameterized } from './kind-model.ts'
import { dispatchJob, launchJob, type LaunchOutcome } from './launch-commands.ts'
import { isOverlapped, newestVersionOf } from './queries.ts'
import { inNamespace } from '../../rpc/requirements.ts'
import { specBytesMax, specBytesOf } from './stored-model.ts'

/** While the job is registered anew at the same time. */
const attemptsMax = 5

const Word = Type.String({ maxLength: 1_024 })

const Args = Type.Object({
  namespace: Word,
  id: Word,
  /** In base64; '': none. */
  payload: Type.String({ maxLength: payloadLengthMax + 4 }),
  meta: Type.Immutable(
    Type.Array(Type.Immutable(Type.Tuple([Type.String(), Type.String()])), { maxItems: 1_024 }),
  ),
  /** Of the id, behind `dispatch-`; '': none. */
  prefix: Type.String({ maxLength: prefixLengthMax }),
  /** '': none. */
  token: Type.String({ maxLength: tokenLengthMax }),
  /** Absent: that of the job. */
  priority: Type.Optional(Priority),
})
type Args = Readonly<Static<typeof Args>>

export type Dispatched = {
  readonly index: number
  readonly id: string
  readonly createIndex: number
  /** '': an earlier dispatch with the token started the job, or the job is periodic. */
  readonly evaluation: string
}

const dispatch = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'jobs.dispatch',
  args: Args,
  requires: ({ namespace }) => inNamespace(namespace, 'dispatch-job'),
  run: async (context, args): Promise<Dispatched> => {
    const payload = payloadOf(args.payload)
    checkMeta(args.meta)
    if (!/^[\w.-]*$/.test(args.prefix)) {
      throw refused('IdPrefixTemplate may have letters, digits, dots, dashes and underscores')
    }
    for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
      const { index, outcome } = await propose(context, args, payload)
      switch (outcome.type) {
        case 'launched':
          return {
            index,
            id: outcome.row.id,
            createIndex: outcome.row.createIndex,
            evaluation: outcome.evaluation?.id ?? '',
          }
        case 'repeated': {
          const { id, createIndex } = outcome.row
          return { index, id, createIndex, evaluation: '' }
        }
        case 'changed':
        case 'exists':
        case 'overlaps':
          break
        default:
          assertNever(outcome)
      }
    }
    throw new MusterError('conflict', 'the job is changed at the same time: try again')
  },
})

/** A periodic job is started now, whatever its schedule says. */
const force = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'jobs.force',
  args: Type.Object({ namespace: Word, id: Word }),
  requires: ({ namespace }) => inNamespace(namespace, 'submit-job'),
  run: async (context, { namespace, id: parentId }): Promise<Dispatched> => {
    const parent = known(context, namespace, parentId)
    const name = JSON.stringify(parentId)
    if (parent.stop) throw refused(`job ${name} is stopped: register it again`)
    if (parent.periodic === undefined) {
      const spec = newestVersionOf(context.read(), parent)?.spec
      throw refused(
        spec !== undefined && isParameterized(spec, parent.parent?.dispatched === true)
          ? `job ${name} is parameterized: dispatch it, and start the dispatched job`
          : `job ${name} is not periodic, or not enabled`,
      )
    }
    if (await isOverlapped(context.read(), parent)) throw overlaps(name)
    const more = chosen(context)
    const { index, outcome } = await context.propose(launchJob, {
      namespace,
      parentId,
      parentModifyIndex: parent.jobModifyIndex,
      launchMs: more.nowMs,
      forced: true,
      ...more,
    })
    switch (outcome.type) {
      case 'launched': {
        const { id, createIndex } = outcome.row
        return { index, id, createIndex, evaluation: outcome.evaluation?.id ?? '' }
      }
      case 'overlaps':
        throw overlaps(name)
      case 'exists':
        throw new MusterError('conflict', `job ${name} was started in this second already`)
      default:
        throw new MusterError('conflict', 'the job is changed at the same time: try again')
    }
  },
})

function overlaps(name: string): MusterError {
  const text = `an earlier launch of job ${name} runs, and its prohibit_overlap is true`
  return new MusterError('conflict', text)
}

export const dispatchMethods = { dispatch, force }

async function propose(
  context: LeaderContext,
  { namespace, id: parentId, meta, prefix, token, priority = 0 }: Args,
  payload: Buffer,
): Promise<{ readonly index: number; readonly outcome: LaunchOutcome }> {
  mustTakeJobs(context)
  const parent = known(context, namespace, parentId)
  const version = newestVersionOf(context.read(), parent)
  if (version === null) throw unknownJob()
  if (!isParameterized(version.spec, parent.parent?.dispatched === true)) {
    throw refused(`job ${JSON.stringify(parentId)} is not parameterized`)
  }
  if (parent.stop) throw refused(`job ${JSON.stringify(parentId)} is stopped: register it again`)
  const problem = dispatchProblem(version.spec, { payloadBytes: payload.length, meta })
  if (problem !== null) throw refused(problem)
  const hasOwn = priority > 0 && priority !== parent.priority
  if (hasOwn) mustKnow(context, operatorOptionsVersion, 'Priority')
  const more = chosen(context)
  const random = randomUUID().slice(0, 8)
  const id = dispatchedId(parentId, { prefix, nowMs: more.nowMs, random })
  const launchLength = version.spec.Periodic === null ? 0 : launchedSuffixLength
  if (id.length + launchLength > jobIdLengthMax) {
    throw refused(`the dispatched job's id would have over ${jobIdLengthMax} letters`)
  }
  const longest = id + 'x'.repeat(launchLength)
  if (specBytesOf(dispatchedSpec(version.spec, longest, meta)) > specBytesMax) {
    throw refused(`the job may take ${specBytesMax} bytes together with Meta, under usual names`)
  }
  return context.propose(dispatchJob, {
    namespace,
    parentId,
    parentModifyIndex: parent.jobModifyIndex,
    id,
    meta,
    payload: payload.toString('base64'),
    token,
    ...(hasOwn && { priority }),
    ...more,
  })
}

function payloadOf(text: string): Buffer {
  const payload = Buffer.from(text, 'base64')
  const isBase64 = payload.toString('base64').replaceAll('=', '') === text.replaceAll('=', '')
  if (!isBase64) throw refused('Payload must be base64')
  return payload
}

function checkMeta(meta: Args['meta']): void {
  const bytes = meta.reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  )
  if (bytes > metaBytesMax) {
    throw new MusterError(
      'too_large',
      `Meta has ${bytes} bytes, at most ${metaBytesMax} are possible`,
    )
  }
}

function refused(text: string): MusterError {
  return new MusterError('invalid_argument', text)
}
