/**
 * Whether a node may run a group at all, whatever else runs there: constraints, drivers, host volumes, network modes. What is
 * asked of a class of nodes is asked once for all of them.
 */
import type { TaskGroup, JobSpec } from '../domains/jobs/model.ts'
import {
  jobMembersAttribute,
  laterMembersOfGroup,
  laterMembersVersion,
} from '../domains/jobs/later-model.ts'
import type { Constraint } from '../domains/jobs/placement-model.ts'
import { isUniqueTarget } from './node-targets.ts'
import { isMet, type Patterns } from './operands.ts'
import { networksOf } from './ports.ts'
import type { ScheduledNode } from './scheduled-node.ts'

export type Unfit = { readonly reason: string }

/** Modes that every machine has. */
const plainModes: ReadonlySet<string> = new Set(['', 'host', 'none'])

export class Feasibility {
  readonly #patterns: Patterns
  readonly #ofClass: readonly Constraint[]
  readonly #ofNode: readonly Constraint[]
  readonly #drivers: readonly string[]
  readonly #volumes: readonly { readonly source: string; readonly writes: boolean }[]
  readonly #modes: readonly string[]
  /** Its agent must know members that older ones cannot read. */
  readonly #hasLaterMembers: boolean
  readonly #byClass = new Map<string, Unfit | null>()

  constructor(job: JobSpec, group: TaskGroup, patterns: Patterns) {
    const constraints = constraintsOf(job, group)
    this.#patterns = patterns
    this.#ofClass = constraints.filter((one) => !isUnique(one))
    this.#ofNode = constraints.filter(isUnique)
    this.#drivers = [...new Set(group.Tasks.map(({ Driver }) => Driver))]
    this.#volumes = Object.values(group.Volumes).flatMap(({ Type, Source, ReadOnly }) =>
      Type === 'host' || Type === '' ? [{ source: Source, writes: !ReadOnly }] : [],
    )
    this.#hasLaterMembers = laterMembersOfGroup(group).length > 0
    this.#modes = networksOf(group).flatMap(({ Mode }) => (plainModes.has(Mode) ? [] : [Mode]))
  }

  /** It has constraints on single machines: no class is ruled out as a whole. */
  get isEscaped(): boolean {
    return this.#ofNode.length > 0
  }

  /** By computed class, whether its constraints are met: of the classes that were asked for. */
  get classes(): ReadonlyMap<string, boolean> {
    return new Map([...this.#byClass].map(([name, unfit]) => [name, unfit === null]))
  }

  /** Null: it may run there. */
  unfit(node: ScheduledNode): Unfit | null {
    return (
      this.#unfitClass(node) ?? unmet(this.#ofNode, node, this.#patterns) ?? this.#lacking(node)
    )
  }

  #unfitClass(node: ScheduledNode): Unfit | null {
    const known = this.#byClass.get(node.computedClass)
    if (known !== undefined) return known
    const unfit = unmet(this.#ofClass, node, this.#patterns)
    this.#byClass.set(node.computedClass, unfit)
    return unfit
  }

  /** Drivers, volumes and networks are not part of the class: they come and go while an agent runs. */
  #lacking(node: ScheduledNode): Unfit | null {
    if (this.#hasLaterMembers && !knowsLaterMembers(node)) {
      return { reason: 'older agent' }
    }
    if (!this.#drivers.every((driver) => node.drivers.has(driver))) {
      return { reason: 'missing drivers' }
    }
    for (const { source, writes } of this.#volumes) {
      const readOnly = node.readOnlyByVolume.get(source)
      if (readOnly === undefined || (writes && readOnly)) {
        return { reason: 'missing compatible host volumes' }
      }
    }
    return this.#modes.every((mode) => node.networkModes.has(mode))
      ? null
      : { reason: 'missing network' }
  }
}

function knowsLaterMembers({ attributes }: ScheduledNode): boolean {
  return Number(attributes.get(jobMembersAttribute) ?? 0) >= laterMembersVersion
}

/** Of the job, the group and its tasks. */
export function constraintsOf(job: JobSpec, group: TaskGroup): readonly Constraint[] {
  return [
    ...job.Constraints,
    ...group.Constraints,
    ...group.Tasks.flatMap(({ Constraints }) => Constraints),
  ]
}

function unmet(
  constraints: readonly Constraint[],
  node: ScheduledNode,
  patterns: Patterns,
): Unfit | null {
  const failing = constraints.find((constraint) => !isMet(constraint, node, patterns))
  return failing === undefined ? null : { reason: textOfConstraint(failing) }
}

/** As Nomad's tools show it. */
export function textOfConstraint({ LTarget, Operand, RTarget }: Constraint): string {
  return [LTarget, Operand, RTarget].filter((part) => part !== '').join(' ')
}

function isUnique({ LTarget, RTarget }: Constraint): boolean {
  return isUniqueTarget(LTarget) || isUniqueTarget(RTarget)
}
