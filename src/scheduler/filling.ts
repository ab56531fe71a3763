/** Finds places for what a job lacks. */
import { isTerminal, type NewAllocation } from '../domains/allocations/model.ts'
import type { Plan } from '../domains/allocations/plan-model.ts'
import type { Metrics } from '../domains/evaluations/model.ts'
import type { TaskGroup } from '../domains/jobs/model.ts'
import type { Decision, Placed, ScheduleInput } from './decision.ts'
import type { Placement, Placer } from './place.ts'
import type { NodeSlot } from './reconcile-everywhere.ts'
import type { GroupPlan, ScheduledJob, Slot, Stop } from './scheduled-job.ts'
import { penalizedNodes, rescheduledWith } from './reschedule.ts'
import { noneRoomless, type Roomless } from './rollout-everywhere.ts'
import type { ScheduledNode } from './scheduled-node.ts'

type Found = Extract<Placement, { type: 'placed' }>

type AnyGroupPlan = Omit<GroupPlan, 'slots'> & { readonly slots: readonly (Slot | NodeSlot)[] }

export class Filling {
  readonly #input: ScheduleInput
  readonly #job: ScheduledJob
  readonly #placer: Placer
  readonly #placed: Placed[] = []
  readonly #later: Plan['stop'] = []
  readonly #queued = new Map<string, number>()
  /** A group of an older version is another one. */
  readonly #failed = new Map<TaskGroup, Metrics>()
  readonly #roomless = new Map<string, Roomless>()
  readonly #slots = new Map<string, number>()
  readonly #deploymentOf: (group: string) => string | null

  /** `deploymentOf`: that placements of the newest version of the group count in. */
  constructor(
    input: ScheduleInput,
    job: ScheduledJob,
    placer: Placer,
    deploymentOf: (group: string) => string | null,
  ) {
    this.#input = input
    this.#job = job
    this.#placer = placer
    this.#deploymentOf = deploymentOf
  }

  /** Nothing, where all is to be placed at once and some cannot be. */
  get placed(): readonly Placed[] {
    return this.#isHeldBack ? [] : this.#placed
  }

  /** Of those that are to be replaced where they are: their place is free once they have ended. */
  get later(): Plan['stop'] {
    return this.#isHeldBack ? [] : this.#later
  }

  /** Groups with none are named too: so the job shows that nothing waits. */
  get queued(): Decision['queued'] {
    return [...(this.#isHeldBack ? this.#slots : this.#queued)]
  }

  get failed(): Decision['failed'] {
    const byName = new Map<string, Metrics>()
    for (const [{ Name }, metrics] of this.#failed) {
      const other = byName.get(Name)
      byName.set(Name, other === undefined ? metrics : coalesced(other, metrics))
    }
    return [...byName]
  }

  roomlessOf({ Name }: TaskGroup): Roomless {
    return this.#roomless.get(Name) ?? noneRoomless
  }

  get #isHeldBack(): boolean {
    return this.#job.spec.AllAtOnce && this.#failed.size > 0
  }

  /** The plan stops it in any case. */
  stopped({ row }: Stop): void {
    this.#placer.free(row)
  }

  /** All groups, before any is filled: constraints and scores look at the whole job. */
  keep({ keep, group, slots }: AnyGroupPlan): void {
    // One that is to be replaced stays where no place is found for the other.
    for (const { nodeId } of [...keep, ...slots.flatMap(({ stop }) => stop?.row ?? [])]) {
      const found = this.#input.cluster.find(nodeId)
      if (found !== null) this.#placer.keep(found.node, group.Name)
    }
  }

  fill({ group, slots }: AnyGroupPlan): void {
    this.#slots.set(group.Name, slots.length)
    this.#queued.set(group.Name, 0)
    for (const slot of slots) this.#fillOne(group, slot)
  }

  /** Where one is replaced, it is out of the way of this place alone. */
  #fillOne(newest: TaskGroup, slot: Slot | NodeSlot): void {
    const { stop } = slot
    const before = stop === null ? null : this.#input.cluster.find(stop.row.nodeId)
    if (before !== null) this.#placer.leave(before.node, newest.Name)
    const goes = this.#findsPlace(newest, slot)
    if (!goes && before !== null) this.#placer.keep(before.node, newest.Name)
  }

  /**
   * One of an older version goes where the newest one may go too. False: there is no place, and what it was to replace stays as it
   * is.
   */
  #findsPlace(newest: TaskGroup, slot: Slot | NodeSlot): boolean {
    const group = slot.older?.group ?? newest
    const on = 'node' in slot ? slot.node : null
    // Where one of a group found no place no other finds one, unless each has its own node, or it makes room for its place itself.
    const failed = on === null ? this.#failed.get(group) : undefined
    if (failed !== undefined && slot.stop === null) return this.#fails(group, failed)
    const penalized = penaltiesOf(slot)
    const home = on === null ? this.#homeOf(group, slot) : null
    if (home !== null && this.#goesHome(group, slot, home)) return true
    const found = this.#placer.place(group, penalized, on)
    if (found.type === 'placed') return this.#places(group, slot, found)
    if (this.#waitsFor(group, slot, on)) return true
    if (failed !== undefined) return this.#fails(group, failed)
    const instead = this.#placer.preempt(group, penalized, on) ?? found
    if (instead.type === 'placed') return this.#places(group, slot, instead)
    if (on !== null && slot.previous === null) this.#hasNoRoom(group, slot)
    return this.#fails(group, instead.metrics)
  }

  /** Now, or once the one before it has ended, whether the plan stops that one for it or in any case. */
  #goesHome(group: TaskGroup, slot: Slot, home: ScheduledNode): boolean {
    const found = this.#placer.place(group, penaltiesOf(slot), home)
    if (found.type === 'placed') return this.#places(group, slot, found)
    const { previous, stop } = slot
    if (stop !== null) return this.#waitsFor(group, slot, home)
    if (previous === null || isTerminal(previous)) return false
    if (!this.#placer.fitsLater(group, home)) return false
    this.#queues(group)
    return true
  }

  /** Where what it takes over lies, as long as that node takes work. Null: it takes nothing over, or goes elsewhere without it. */
  #homeOf({ EphemeralDisk }: TaskGroup, { previous }: Slot): ScheduledNode | null {
    if (!EphemeralDisk.Sticky || previous === null) return null
    return this.#placer.nodeWithId(previous.nodeId)
  }

  #hasNoRoom(group: TaskGroup, { isCanary }: Slot): void {
    const { all, canaries } = this.roomlessOf(group)
    this.#roomless.set(group.Name, { all: all + 1, canaries: canaries + Number(isCanary) })
  }

  #places(group: TaskGroup, slot: Slot, placement: Found): true {
    this.#placed.push({
      allocation: this.#allocation(group, slot, placement),
      stop: slot.stop === null ? null : stopOf(slot.stop),
    })
    return true
  }

  /** For the end of the one that it replaces, whose place it gets. */
  #waitsFor(group: TaskGroup, { stop }: Slot, on: ScheduledNode | null): boolean {
    if (stop === null || !this.#placer.fitsInstead(group, stop.row, on)) return false
    this.#queues(group)
    this.#later.push(stopOf(stop))
    return true
  }

  #fails(group: TaskGroup, metrics: Metrics): false {
    this.#queues(group)
    const before = this.#failed.get(group)
    this.#failed.set(group, before === undefined ? metrics : coalesced(before))
    return false
  }

  #queues({ Name }: TaskGroup): void {
    this.#queued.set(Name, (this.#queued.get(Name) ?? 0) + 1)
  }

  #allocation(
    group: TaskGroup,
    { name, previous, rescheduledAfterMs, isCanary, older }: Slot,
    { node, resources, metrics, victims }: Found,
  ): NewAllocation {
    const { evaluation, newId, nowMs } = this.#input
    const deploymentId = older === null ? this.#deploymentOf(group.Name) : null
    return {
      id: newId(),
      namespace: evaluation.namespace,
      jobId: evaluation.jobId,
      jobCreateIndex: this.#job.createIndex,
      jobVersion: older?.version ?? this.#job.version,
      group: group.Name,
      name,
      nodeId: node.id,
      nodeName: node.name,
      evalId: evaluation.id,
      resources,
      metrics,
      previous: previous?.id ?? '',
      ...(deploymentId !== null && { deploymentId }),
      ...(isCanary && { canary: true }),
      ...(victims.length > 0 && { preempts: victims.map(({ id }) => id) }),
      rescheduled:
        previous === null || rescheduledAfterMs === null
          ? []
          : rescheduledWith(previous, { nowMs, delayMs: rescheduledAfterMs }),
    }
  }
}

/** With one more that found no place, and those that it stands for. */
function coalesced(metrics: Metrics, { coalescedFailures }: Partial<Metrics> = {}): Metrics {
  const more = 1 + (coalescedFailures ?? 0)
  return { ...metrics, coalescedFailures: metrics.coalescedFailures + more }
}

function penaltiesOf({ previous, rescheduledAfterMs }: Slot): ReadonlySet<string> {
  return previous === null || rescheduledAfterMs === null
    ? new Set<string>()
    : penalizedNodes(previous)
}

export function stopOf({ row, reason, lost }: Stop): Plan['stop'][number] {
  return {
    id: row.id,
    desiredStatus: 'stop',
    desiredDescription: reason,
    lost,
    followupEval: '',
  }
}
