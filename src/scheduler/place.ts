/**
 * Finds a node for one more allocation of a group. Looks at nodes in a seeded order, and stops at enough that fit: with
 * log2 of all nodes the best of them is about as good as the best of all. Where nodes differ in more than their load (affinities,
 * spreads) it looks at many more.
 */
import type { AllocatedResources } from '../domains/allocations/model.ts'
import type { Metrics } from '../domains/evaluations/model.ts'
import type { JobSpec, TaskGroup } from '../domains/jobs/model.ts'
import type { SchedulerSettings } from '../domains/scheduler-settings/model.ts'
import type { Random } from '../lib/random.ts'
import { sumsOf } from '../domains/allocations/taken-model.ts'
import { withDeserted } from './datacenters.ts'
import { Distinct } from './distinct.ts'
import { Feasibility } from './feasible.ts'
import { demandOf, fit, PlannedLoad, type Demand, type Fitting, type Load } from './fit.ts'
import { JobSpots } from './job-spots.ts'
import { NodeOrder } from './node-order.ts'
import type { NodeUsage } from './node-usage.ts'
import type { Patterns } from './operands.ts'
import { MetricsCount } from './placement-metrics.ts'
import type { OtherWork, Preemption, Preempting } from './preempt.ts'
import { Ranking } from './rank.ts'
import type { ScheduledNode } from './scheduled-node.ts'

/** Candidates of a batch job: it is over soon, so a good node is good enough. */
const batchCandidates = 2
/** Candidates where nodes differ in more than their load, or the count of the group if that is more. */
const manyCandidates = 500
/** Nodes whose work of lower priority is weighed against each other. */
const preemptingCandidates = 16

export type PlacerOptions = {
  readonly job: JobSpec
  /** Ready nodes in the job's datacenters, and how many there are in each. */
  readonly nodes: readonly ScheduledNode[]
  readonly available: Metrics['nodesAvailable']
  readonly usageOf: (nodeId: string) => NodeUsage
  readonly patterns: Patterns
  readonly random: Random
  readonly monotonicUs: () => number
  readonly algorithm: SchedulerSettings['algorithm']
  readonly oversubscribes: boolean
  /** Null: jobs of this type take no place of others. */
  readonly preemption: Preemption | null
}

export type Placement =
  | {
      readonly type: 'placed'
      readonly node: ScheduledNode
      readonly resources: AllocatedResources
      readonly metrics: Metrics
      /** That end for it. */
      readonly victims: readonly OtherWork[]
    }
  | { readonly type: 'nowhere'; readonly metrics: Metrics }

/** An allocation that is stopped where another takes its place. */
export type Replaced = { readonly nodeId: string; readonly resources: AllocatedResources }

type GroupRules = {
  readonly group: TaskGroup
  readonly feasibility: Feasibility
  readonly distinct: Distinct
  readonly ranking: Ranking
  readonly demand: Demand
}

type Candidate = {
  readonly node: ScheduledNode
  readonly fitting: Extract<Fitting, { type: 'fits' }>
  readonly total: number
  readonly preempting: Preempting | null
}

const nobody: ReadonlySet<string> = new Set()

export class Placer {
  readonly #options: PlacerOptions
  readonly #order: NodeOrder
  readonly #spots = new JobSpots()
  /** A group of an older version is another one. */
  readonly #rules = new Map<TaskGroup, GroupRules>()
  readonly #loads = new Map<string, PlannedLoad>()

  constructor(options: PlacerOptions) {
    this.#options = options
    this.#order = new NodeOrder(options.nodes.length, options.random)
  }

  /** An allocation of the job that stays where it is, at least until another has a place instead. */
  keep(node: ScheduledNode, group: string): void {
    this.#spots.add(node, group)
  }

  /** One that was kept stands in the way of nothing any more: a place is looked for instead of it. */
  leave(node: ScheduledNode, group: string): void {
    this.#spots.remove(node, group)
  }

  /** An allocation that the plan stops: its place is free once it has ended. */
  free({ nodeId, resources }: Replaced): void {
    this.#loadOf(nodeId).later.free(resources)
  }

  /** `on`: on this node alone. */
  place(
    group: TaskGroup,
    penalized: ReadonlySet<string> = nobody,
    on: ScheduledNode | null = null,
  ): Placement {
    return this.#find(on, group, { penalized, when: 'now' })
  }

  /** Where work of lower priority ends for it. Null: it takes no place of others. */
  preempt(
    group: TaskGroup,
    penalized: ReadonlySet<string>,
    on: ScheduledNode | null,
  ): Placement | null {
    if (this.#options.preemption === null) return null
    return this.#find(on, group, { penalized, when: 'now', preempts: true })
  }

  /**
   * Whether there is a place for one that replaces this allocation, once what the plan stops has ended and this one too. It is
   * kept for it; yet other plans may take it, and then it waits on.
   */
  fitsInstead(group: TaskGroup, of: Replaced, on: ScheduledNode | null = null): boolean {
    const { later } = this.#loadOf(of.nodeId)
    later.free(of.resources)
    const found = this.#find(on, group, { penalized: nobody, when: 'later' })
    if (found.type === 'nowhere') later.add(sumsOf(of.resources), of.resources.ports)
    return found.type === 'placed'
  }

  /** Whether there is a place for one on this node, once what the plan stops has ended. It is kept for it as above. */
  fitsLater(group: TaskGroup, on: ScheduledNode): boolean {
    return this.#find(on, group, { penalized: nobody, when: 'later' }).type === 'placed'
  }

  /** Whether the group may run on this node, whatever else does. */
  isFeasible(node: ScheduledNode, group: TaskGroup): boolean {
    return this.#rulesOf(group).feasibility.unfit(node) === null
  }

  /** Null: it does not take work of the job. */
  nodeWithId(id: string): ScheduledNode | null {
    return this.#options.nodes.find((node) => node.id === id) ?? null
  }

  /** Of the constraints of all groups that were to be placed. */
  get classes(): ReadonlyMap<string, boolean> {
    const classes = new Map<string, boolean>()
    for (const { feasibility } of this.#rules.values()) {
      for (const [name, fits] of feasibility.classes) {
        classes.set(name, fits || classes.get(name) === true)
      }
    }
    return classes
  }

  get isEscaped(): boolean {
    return [...this.#rules.values()].some(({ feasibility }) => feasibility.isEscaped)
  }

  #find(on: ScheduledNode | null, group: TaskGroup, how: How): Placement {
    return on === null ? this.#best(group, how) : this.#only(on, group, how)
  }

  #only(node: ScheduledNode, group: TaskGroup, how: How): Placement {
    const startUs = this.#options.monotonicUs()
    const rules = this.#rulesOf(group)
    const metrics = new MetricsCount()
    const found = this.#look(node, rules, how, metrics)
    return found === null
      ? this.#nowhere(metrics, startUs)
      : this.#take(found, rules, how.when, metrics, startUs)
  }

  #best(group: TaskGroup, how: How): Placement {
    const { nodes, monotonicUs } = this.#options
    const startUs = monotonicUs()
    const rules = this.#rulesOf(group)
    const metrics = new MetricsCount()
    const enough = this.#enough(rules, how)
    let best: Candidate | null = null
    let candidates = 0
    for (let looked = 0; looked < nodes.length && candidates < enough; looked += 1) {
      const node = nodes[this.#order.next()]
      if (node === undefined) break
      const found = this.#look(node, rules, how, metrics)
      if (found === null) continue
      candidates += 1
      if (best === null || isBetter(found, best)) best = found
    }
    return best === null
      ? this.#nowhere(metrics, startUs)
      : this.#take(best, rules, how.when, metrics, startUs)
  }

  #look(
    node: ScheduledNode,
    { feasibility, distinct, ranking, demand }: GroupRules,
    { penalized, when, preempts = false }: How,
    metrics: MetricsCount,
  ): Candidate | null {
    metrics.evaluated()
    const unfit = feasibility.unfit(node) ?? distinct.unfit(node, this.#spots)
    if (unfit !== null) {
      metrics.filtered(node, unfit.reason)
      return null
    }
    const load: Load = this.#loads.get(node.id)?.[when] ?? this.#options.usageOf(node.id)
    const { random, preemption } = this.#options
    const free = fit(node, load, demand, random)
    const preempting =
      free.type === 'exhausted' && preempts
        ? (preemption?.find(node, load, demand, random) ?? null)
        : null
    const fitting = preempting?.fitting ?? free
    if (fitting.type === 'exhausted') {
      metrics.exhausted(node, fitting.dimension)
      return null
    }
    const ranked = ranking.rank(node, {
      after: fitting.after,
      spots: this.#spots,
      isPenalized: penalized.has(node.id),
      ...(preempting !== null && { preempts: preempting.weight }),
    })
    metrics.ranked(node, ranked)
    return { node, fitting, total: ranked.total, preempting }
  }

  #take(
    { node, fitting, preempting }: Candidate,
    { group, demand }: GroupRules,
    when: How['when'],
    metrics: MetricsCount,
    startUs: number,
  ): Placement {
    const load = this.#loadOf(node.id)
    const victims = preempting?.victims ?? []
    this.#options.preemption?.take(victims)
    for (const { resources } of victims) load.end(resources)
    if (when === 'later') {
      load.later.add(demand.taken, fitting.ports)
    } else {
      load.place(demand.taken, fitting.ports)
    }
    this.#spots.add(node, group.Name)
    return {
      type: 'placed',
      node,
      resources: {
        tasks: demand.tasks,
        diskMb: demand.taken.diskMb,
        ports: [...fitting.ports],
      },
      metrics: metrics.result(this.#options.available, this.#tookUs(startUs)),
      victims,
    }
  }

  /** Also datacenters without a node are counted. Of allocations that have a place they are not: every one would hold them. */
  #nowhere(metrics: MetricsCount, startUs: number) {
    const { available, job } = this.#options
    return {
      type: 'nowhere',
      metrics: metrics.result(withDeserted(available, job.Datacenters), this.#tookUs(startUs)),
    } as const
  }

  #tookUs(startUs: number): number {
    return Math.max(0, Math.round(this.#options.monotonicUs() - startUs))
  }

  #enough({ group, ranking }: GroupRules, { preempts = false }: How): number {
    const { job, nodes } = this.#options
    if (ranking.looksAtMany) return Math.max(manyCandidates, group.Count)
    if (preempts) return preemptingCandidates
    return job.Type === 'batch' ? batchCandidates : Math.max(2, Math.ceil(Math.log2(nodes.length)))
  }

  #rulesOf(group: TaskGroup): GroupRules {
    const known = this.#rules.get(group)
    if (known !== undefined) return known
    const { job, patterns, algorithm, oversubscribes } = this.#options
    const rules = {
      group,
      feasibility: new Feasibility(job, group, patterns),
      distinct: new Distinct(job, group),
      ranking: new Ranking(job, group, patterns, algorithm),
      demand: demandOf(group, oversubscribes),
    }
    this.#rules.set(group, rules)
    return rules
  }

  #loadOf(nodeId: string): PlannedLoad {
    const load = this.#loads.get(nodeId) ?? new PlannedLoad(this.#options.usageOf(nodeId))
    this.#loads.set(nodeId, load)
    return load
  }
}

type How = {
  readonly penalized: ReadonlySet<string>
  readonly when: 'now' | 'later'
  /** Work of lower priority may end for it. */
  readonly preempts?: boolean
}

/** Where others end for it, how little they matter comes first. */
function isBetter(left: Candidate, right: Candidate): boolean {
  const [weight, least] = [left.preempting?.weight ?? 0, right.preempting?.weight ?? 0]
  return weight === least ? left.total > right.total : weight < least
}
