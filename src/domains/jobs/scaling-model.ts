/**
 * How far a group may be scaled, and by which policy: an autoscaler reads it, this program only keeps counts within the bounds. The
 * policy of a group has an id of its own, which follows from the names of namespace, job and group.
 */
import { isDeepStrictEqual } from 'node:util'
import { Type, type Static } from 'typebox'
import { Count, record } from '../../fsm/row-schema.ts'
import { sha256OfParts, uuidOfHash } from '../../lib/hash-uuid.ts'
import { block, Flag, map, Whole, Word } from './schema-model.ts'

export const scalingType = 'horizontal'
/** No maximum was given. */
export const noMax = -1
/** Hexadecimal digits of an id that all policies of a job share. */
const jobDigits = 12

export const Scaling = block('JobScaling', {
  Enabled: Flag,
  Type: Word,
  Min: Whole,
  Max: Whole,
  /** For the autoscaler alone. */
  Policy: map(Type.Unknown()),
})
export type Scaling = Readonly<Static<typeof Scaling>>

/** A group of the job as it is that has a policy. */
export const ScaledGroup = record({
  /** As the job beside it has it: whether that may be is judged before a job is registered. */
  group: Word,
  /** Of the entry since which it has one. */
  createIndex: Count,
  /** Of the entry since which the policy is what it is. */
  modifyIndex: Count,
})
export type ScaledGroup = Readonly<Static<typeof ScaledGroup>>

type Groups = {
  readonly TaskGroups: readonly { readonly Name: string; readonly Scaling?: Scaling | null }[]
}

type Before = {
  readonly spec: Groups
  /** Absent: it had none, or was stopped. */
  readonly scaled?: readonly ScaledGroup[]
}

/** As a member of the job's row after a change to that specification, which is left out where no group has a policy. */
export function scaledMember(
  spec: Groups,
  before: Before | null,
  index: number,
): { readonly scaled?: ScaledGroup[] } {
  const scaled = spec.TaskGroups.flatMap(({ Name: group, Scaling: policy }): ScaledGroup[] => {
    if (policy === undefined || policy === null) return []
    const known = before?.scaled?.find((one) => one.group === group)
    if (known === undefined) return [{ group, createIndex: index, modifyIndex: index }]
    const isSame = isDeepStrictEqual(before === null ? null : scalingOf(before.spec, group), policy)
    return [isSame ? known : { ...known, modifyIndex: index }]
  })
  return scaled.length === 0 ? {} : { scaled }
}

/** Null: the group has none, or is not there. */
export function scalingOf({ TaskGroups }: Groups, group: string): Scaling | null {
  return TaskGroups.find(({ Name }) => Name === group)?.Scaling ?? null
}

/** Why the group may not have that count, as Nomad words it; null: it may. */
export function boundsProblem(spec: Groups, group: string, count: number): string | null {
  const scaling = scalingOf(spec, group)
  if (scaling === null) return null
  const { Min, Max } = scaling
  if (count < Min) return `group count was less than scaling policy minimum: ${count} < ${Min}`
  return count > Max
    ? `group count was greater than scaling policy maximum: ${count} > ${Max}`
    : null
}

/** The front of the ids of a job's policies, by which the job is found. */
export function policyFront({ namespace, id }: { namespace: string; id: string }): string {
  return sha256OfParts([namespace, id]).slice(0, jobDigits)
}

/** The same of a whole id. */
export function frontOfPolicyId(policyId: string): string {
  return policyId.replaceAll('-', '').slice(0, jobDigits)
}

export function policyIdOf(job: { namespace: string; id: string }, group: string): string {
  return uuidOfHash(policyFront(job) + sha256OfParts([job.namespace, job.id, group]).slice(0, 20))
}
