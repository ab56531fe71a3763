/** What a dispatch gives a parameterized job, and the jobs that templates start. */
import { assertNever } from '../../lib/assert.ts'
import type { JobKind } from './kind-model.ts'
import type { JobSpec } from './model.ts'

export const payloadBytesMax = 16 * 1024
/** Of it in base64. */
export const payloadLengthMax = 4 * Math.ceil(payloadBytesMax / 3)
/** Of keys and values together. */
export const metaBytesMax = 16 * 1024
export const prefixLengthMax = 64
export const tokenLengthMax = 256
/** What the id of a dispatched job has behind that of its template; with the longest prefix. */
const dispatchedSuffixLengthMax = '/dispatch-'.length + prefixLengthMax + '-1234567890-'.length + 8
export const launchedSuffixLength = '/periodic-1234567890'.length

/** What the longest id of a job that a template leads to has behind that of the template. */
export function childSuffixLengthMax(kind: JobKind): number {
  switch (kind) {
    case 'plain':
      return 0
    case 'periodic':
    case 'parameterized':
      return dispatchedSuffixLengthMax
    case 'periodic and parameterized':
      return dispatchedSuffixLengthMax + launchedSuffixLength
    default:
      return assertNever(kind)
  }
}

export type DispatchInput = {
  /** In bytes; 0: there is none. */
  readonly payloadBytes: number
  readonly meta: readonly (readonly [string, string])[]
}

/** What is wrong with what a dispatch gives; null: nothing. */
export function dispatchProblem(spec: JobSpec, { payloadBytes, meta }: DispatchInput) {
  const rules = spec.ParameterizedJob
  if (rules === null) return `job ${JSON.stringify(spec.ID)} is not parameterized`
  if (payloadBytes > payloadBytesMax) {
    return `Payload has ${payloadBytes} bytes, at most ${payloadBytesMax} are possible`
  }
  if (rules.Payload === 'required' && payloadBytes === 0) return 'Payload is required by the job'
  if (rules.Payload === 'forbidden' && payloadBytes > 0) return 'Payload is forbidden by the job'
  const given = new Set(meta.map(([key]) => key))
  const missing = rules.MetaRequired.filter((key) => !given.has(key))
  if (missing.length > 0) return `Meta lacks what the job requires: ${shown(missing)}`
  const known = new Set([...rules.MetaRequired, ...rules.MetaOptional])
  const odd = [...given].filter((key) => !known.has(key))
  return odd.length > 0
    ? `Meta has what the job does not take: ${shown(odd)}; it takes ${shown([...known])}`
    : null
}

function shown(keys: readonly string[]): string {
  return keys.length === 0 ? 'none' : keys.map((key) => JSON.stringify(key)).join(', ')
}

/** As Nomad names it. `random`: eight hexadecimal digits. */
export function dispatchedId(
  parent: string,
  { prefix, nowMs, random }: { prefix: string; nowMs: number; random: string },
): string {
  const front = prefix === '' ? '' : `${prefix}-`
  return `${parent}/dispatch-${front}${Math.floor(nowMs / 1_000)}-${random}`
}

/** As Nomad names it. */
export function launchedId(parent: string, launchMs: number): string {
  return `${launchedFront(parent)}${Math.floor(launchMs / 1_000)}`
}

/** Of the ids of all jobs that it starts by time. */
export function launchedFront(parent: string): string {
  return `${parent}/periodic-`
}

/** What a job runs that the leader starts by time. */
export function launchedSpec(spec: JobSpec, id: string): JobSpec {
  return { ...spec, ID: id, Name: id, Periodic: null }
}

/** What a dispatched job runs; or starts, where its template is periodic too. */
export function dispatchedSpec(
  spec: JobSpec,
  id: string,
  meta: readonly (readonly [string, string])[],
  priority = spec.Priority,
): JobSpec {
  // fromEntries defines members, so `__proto__` is a name like any other.
  const Meta = Object.fromEntries([...Object.entries(spec.Meta), ...meta])
  return { ...spec, ID: id, Name: id, Meta, Priority: priority }
}
