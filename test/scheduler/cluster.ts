/** Nodes, jobs and allocations for tests of the scheduler: complete, and small. */
import { jobMembersAttribute, laterMembersVersion } from '../../src/domains/jobs/later-model.ts'
import type { AllocationRow } from '../../src/domains/allocations/model.ts'
import type { DeploymentRow } from '../../src/domains/deployments/model.ts'
import type { Metrics } from '../../src/domains/evaluations/model.ts'
import { withDefaults } from '../../src/domains/jobs/defaults-model.ts'
import type { JobDraft } from '../../src/domains/jobs/draft-model.ts'
import type { JobSpec } from '../../src/domains/jobs/model.ts'
import type { NodeRow } from '../../src/domains/nodes/model.ts'
import { defaultSettings } from '../../src/domains/scheduler-settings/model.ts'
import { seededRandom } from '../../src/lib/random.ts'
import type { Cluster, Decision, ScheduleInput } from '../../src/scheduler/decision.ts'
import { NodeUsage } from '../../src/scheduler/node-usage.ts'
import { Patterns } from '../../src/scheduler/operands.ts'
import type { ScheduledJob } from '../../src/scheduler/reconcile.ts'
import { schedule } from '../../src/scheduler/schedule.ts'
import { scheduledNode, takesWork } from '../../src/scheduler/scheduled-node.ts'

export function id(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
}

type NodeSpec = NodeRow['spec']

export function nodeRow(
  number: number,
  spec: Partial<NodeSpec> = {},
  row: Partial<NodeRow> = {},
): NodeRow {
  return {
    id: id(number),
    spec: {
      name: `n${number}`,
      datacenter: 'dc1',
      nodeClass: '',
      address: '10.0.0.1',
      httpAddr: '',
      tlsEnabled: false,
      version: '1.0.0',
      attributes: [
        ['kernel.name', 'linux'],
        [jobMembersAttribute, String(laterMembersVersion)],
      ],
      meta: [],
      links: [],
      hostVolumes: [],
      drivers: [driver('mock_driver')],
      resources: {
        cpuMhz: 4_000,
        memoryMb: 8_192,
        diskMb: 100_000,
        networks: [],
        nodeNetworks: [],
      },
      reserved: { cpuMhz: 0, memoryMb: 0, diskMb: 0, ports: '' },
      ...spec,
    },
    secretHash: '0'.repeat(64),
    computedClass: `v1:${spec.nodeClass ?? ''}`,
    status: 'ready',
    statusUpdatedMs: 0,
    eligible: true,
    drain: null,
    lastDrain: null,
    events: [],
    createIndex: 1,
    modifyIndex: 1,
    ...row,
  }
}

export function driver(name: string, healthy = true): NodeSpec['drivers'][number] {
  return {
    name,
    attributes: [],
    detected: true,
    healthy,
    healthDescription: '',
    updateTimeMs: 0,
  }
}

/** One group `web` with one task of 500 MHz and 256 MB, unless the draft says otherwise. */
export function jobSpec(draft: JobDraft = {}, group: Record<string, unknown> = {}): JobSpec {
  const task = { Name: 'main', Driver: 'mock_driver', Resources: { CPU: 500, MemoryMB: 256 } }
  return withDefaults(
    {
      ID: 'job',
      Datacenters: ['dc1'],
      TaskGroups: [{ Name: 'web', Tasks: [task], ...group }],
      ...draft,
    },
    'default',
  )
}

export function scheduledJob(spec: JobSpec, about: Partial<ScheduledJob> = {}): ScheduledJob {
  return { spec, version: 0, createIndex: 10, jobModifyIndex: 10, stop: false, ...about }
}

export const noMetrics: Metrics = {
  nodesEvaluated: 0,
  nodesFiltered: 0,
  nodesExhausted: 0,
  nodesAvailable: [],
  classFiltered: [],
  constraintFiltered: [],
  classExhausted: [],
  dimensionExhausted: [],
  scores: [],
  coalescedFailures: 0,
  tookUs: 0,
}

export function allocationRow(
  number: number,
  about: Partial<AllocationRow> & { readonly index?: number } = {},
): AllocationRow {
  const { index = number, ...row } = about
  return {
    id: id(1_000 + number),
    namespace: 'default',
    jobId: 'job',
    jobCreateIndex: 10,
    jobVersion: 0,
    group: 'web',
    name: `job.web[${index}]`,
    nodeId: id(1),
    nodeName: 'n1',
    evalId: id(1),
    resources: {
      tasks: [{ task: 'main', cpuMhz: 500, memoryMb: 256 }],
      diskMb: 300,
      ports: [],
    },
    metrics: noMetrics,
    previous: '',
    rescheduled: [],
    desiredStatus: 'run',
    desiredDescription: '',
    migrate: false,
    clientStatus: 'running',
    clientDescription: '',
    tasks: [],
    health: { healthy: true, timeMs: 1 },
    next: '',
    followupEval: '',
    createMs: 0,
    modifyMs: 0,
    allocModifyIndex: 1,
    createIndex: 1,
    modifyIndex: 1,
    ...row,
  }
}

export function clusterOf(
  rows: readonly NodeRow[],
  allocations: readonly AllocationRow[] = [],
): Cluster {
  const nodes = rows.map((row) => ({ row, node: scheduledNode(row) }))
  const usage = new Map<string, NodeUsage>()
  for (const { id, nodeId, resources, clientStatus } of allocations) {
    if (['complete', 'failed', 'lost'].includes(clientStatus)) continue
    const used = usage.get(nodeId) ?? new NodeUsage()
    usage.set(nodeId, used)
    used.add(id, resources)
  }
  return {
    ready: (matches) => {
      const ready = nodes.filter(({ row, node }) => takesWork(row) && matches(node.datacenter))
      const byDatacenter = Map.groupBy(ready, ({ node }) => node.datacenter)
      return {
        nodes: ready.map(({ node }) => node),
        available: Array.from(byDatacenter, ([name, some]) => [name, some.length]),
      }
    },
    find: (wanted) => {
      const found = nodes.find(({ row }) => row.id === wanted)
      if (found === undefined) return null
      const { row, node } = found
      const { status, drain, statusUpdatedMs } = row
      const cutOffMs = status === 'disconnected' ? statusUpdatedMs : null
      return { node, isDown: status === 'down', cutOffMs, drain }
    },
    usageOf: (nodeId) => usage.get(nodeId) ?? new NodeUsage(),
  }
}

export type World = {
  readonly nodes: readonly NodeRow[]
  readonly job: ScheduledJob | null
  readonly allocations?: readonly AllocationRow[]
  /** By version. */
  readonly specs?: readonly JobSpec[]
  readonly deployment?: DeploymentRow | null
  /** Unless false. */
  readonly deploysSystemJobs?: boolean
  readonly triggeredBy?: ScheduleInput['evaluation']['triggeredBy']
  readonly nowMs?: number
  readonly seed?: number
  /** Also of other jobs. */
  readonly cluster?: Cluster
  readonly settings?: Partial<ScheduleInput['settings']>
  readonly workOn?: ScheduleInput['workOn']
}

export function decide(world: World): Decision {
  const { nodes, job, allocations = [], specs = [], seed = 1 } = world
  let made = 0
  return schedule({
    evaluation: {
      id: id(900),
      namespace: 'default',
      jobId: 'job',
      triggeredBy: world.triggeredBy ?? 'job-register',
    },
    job,
    allocations,
    specOf: ({ jobVersion }) => specs[jobVersion] ?? job?.spec ?? null,
    deployment: world.deployment ?? null,
    deploysSystemJobs: world.deploysSystemJobs ?? true,
    cluster: world.cluster ?? clusterOf(nodes, allocations),
    settings: { ...defaultSettings, ...world.settings },
    workOn: world.workOn ?? (() => []),
    patterns: new Patterns(),
    random: seededRandom(seed),
    newId: () => id(5_000_000 + (made += 1)),
    nowMs: world.nowMs ?? 1_000_000,
    monotonicUs: () => 0,
  })
}

export function namesOf(decision: Decision): readonly string[] {
  return decision.place.map(({ allocation }) => allocation.name)
}
