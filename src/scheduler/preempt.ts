/**
 * Which allocations of lower priority end, so that one has a place that finds none. Nomad's rules: a job takes nothing of a job that
 * is not lower by ten at least, the lowest go first, and of those the ones that fit best what is lacking.
 */
import { preemptedMax, type AllocatedResources } from '../domains/allocations/model.ts'
import { sumsOf } from '../domains/allocations/taken-model.ts'
import type { Random } from '../lib/random.ts'
import { fit, LoadWithout, type Demand, type Fitting, type Load } from './fit.ts'
import type { ScheduledNode } from './scheduled-node.ts'

/** An allocation of another job that runs on a node. */
export type OtherWork = {
  readonly id: string
  /** The same for those of the same group of the same job. */
  readonly group: string
  readonly priority: number
  /** Of the group, that may move at a time; 0: any number. */
  readonly movesMax: number
  readonly resources: AllocatedResources
}

/** On a node, those that are to run and have not ended. */
export type WorkOn = (nodeId: string) => readonly OtherWork[]

export type Preempting = {
  readonly victims: readonly OtherWork[]
  readonly fitting: Extract<Fitting, { type: 'fits' }>
  /** What the victims matter together; the least is the best. */
  readonly weight: number
}

/** By which the priority of a job that loses a place is lower. */
export const priorityGap = 10
/** What one more of a group weighs that may not move at a time, beside a distance of 0 to 2. */
const groupPenalty = 50

export class Preemption {
  readonly #priority: number
  readonly #workOn: WorkOn
  readonly #byNode = new Map<string, readonly OtherWork[]>()
  readonly #gone = new Set<string>()
  readonly #goneOfGroup = new Map<string, number>()

  /** `priority`: of the job that is to be placed. */
  constructor(priority: number, workOn: WorkOn) {
    this.#priority = priority
    this.#workOn = workOn
  }

  /** Null: there is too little that may end. */
  find(node: ScheduledNode, load: Load, demand: Demand, random: Random): Preempting | null {
    const left = [...this.#endable(node.id)]
    const without = new LoadWithout(load)
    const victims: OtherWork[] = []
    let fitting = fit(node, without, demand, random)
    while (fitting.type === 'exhausted') {
      const next = this.#next(left, lackingOf(node, without, demand), victims)
      if (next === null || victims.length === preemptedMax) return null
      left.splice(left.indexOf(next), 1)
      victims.push(next)
      without.free(next.resources)
      fitting = fit(node, without, demand, random)
    }
    const needed = victims.filter((victim) => {
      without.giveBack(victim.resources)
      const fitsAll = fit(node, without, demand, random)
      if (fitsAll.type === 'fits') fitting = fitsAll
      else without.free(victim.resources)
      return fitsAll.type === 'exhausted'
    })
    return fitting.type === 'fits' ? { victims: needed, fitting, weight: weightOf(needed) } : null
  }

  /** They end: none of them is found again. */
  take(victims: readonly OtherWork[]): void {
    for (const { id, group } of victims) {
      this.#gone.add(id)
      this.#goneOfGroup.set(group, (this.#goneOfGroup.get(group) ?? 0) + 1)
    }
  }

  #endable(nodeId: string): readonly OtherWork[] {
    const known = this.#byNode.get(nodeId) ?? this.#workOn(nodeId)
    this.#byNode.set(nodeId, known)
    const most = this.#priority - priorityGap
    return known.filter(({ id, priority }) => priority <= most && !this.#gone.has(id))
  }

  /** Of the lowest priority that has any of what is lacking; null: nothing has. */
  #next(
    left: readonly OtherWork[],
    lacking: Lacking,
    victims: readonly OtherWork[],
  ): OtherWork | null {
    let best: { readonly work: OtherWork; readonly distance: number } | null = null
    for (const work of left) {
      if (best !== null && work.priority > best.work.priority) continue
      const own = distanceOf(work, lacking)
      if (own === null) continue
      const distance = own + this.#penaltyOf(work, victims)
      const isBetter =
        best === null || work.priority < best.work.priority || distance < best.distance
      if (isBetter) best = { work, distance }
    }
    return best?.work ?? null
  }

  #penaltyOf({ group, movesMax }: OtherWork, victims: readonly OtherWork[]): number {
    if (movesMax === 0) return 0
    const here = victims.filter((victim) => victim.group === group).length
    const gone = here + (this.#goneOfGroup.get(group) ?? 0)
    return groupPenalty * Math.max(0, gone + 1 - movesMax)
  }
}

type Lacking = {
  readonly cpuMhz: number
  readonly memoryMb: number
  readonly diskMb: number
  /** Fixed ones that another allocation has. */
  readonly ports: ReadonlySet<number>
}

function lackingOf(node: ScheduledNode, load: Load, { taken, ports }: Demand): Lacking {
  const over = (has: number, used: number, wanted: number) => Math.max(0, used + wanted - has)
  const held = ports.fixed.flatMap(({ Value }) => (load.hasPort(Value) ? [Value] : []))
  return {
    cpuMhz: over(node.cpuMhz, load.taken.cpuMhz, taken.cpuMhz),
    memoryMb: over(node.memoryMb, load.taken.memoryMb, taken.memoryMb),
    diskMb: over(node.diskMb, load.taken.diskMb, taken.diskMb),
    ports: new Set(held),
  }
}

/** How far it is from what is lacking, 0 for just that; null: it has nothing of it. */
function distanceOf({ resources }: OtherWork, lacking: Lacking): number | null {
  if (resources.ports.some(({ value }) => lacking.ports.has(value))) return 0
  const has = sumsOf(resources)
  const parts = (['cpuMhz', 'memoryMb', 'diskMb'] as const).flatMap((name) =>
    lacking[name] === 0 ? [] : [{ lacks: lacking[name], has: has[name] }],
  )
  if (parts.every((part) => part.has === 0)) return null
  return Math.sqrt(
    parts.reduce((sum, part) => sum + ((part.lacks - part.has) / part.lacks) ** 2, 0),
  )
}

/** Few of low priority weigh least: the highest, and how many times that they are together. */
function weightOf(victims: readonly OtherWork[]): number {
  if (victims.length === 0) return 0
  const priorities = victims.map(({ priority }) => priority)
  const highest = Math.max(1, ...priorities)
  return highest + priorities.reduce((sum, priority) => sum + priority, 0) / highest
}
