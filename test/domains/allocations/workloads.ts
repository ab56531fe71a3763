/** A state machine with nodes, a job and its evaluation, and what scheduler workers would propose to it. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { NewAllocation } from '../../../src/domains/allocations/model.ts'
import type { Plan, PlanOutcome } from '../../../src/domains/allocations/plan-model.ts'
import { allocations } from '../../../src/domains/allocations/table.ts'
import type { AllocationRow } from '../../../src/domains/allocations/model.ts'
import {
  newEvaluation,
  type EvaluationRow,
  type NewEvaluation,
} from '../../../src/domains/evaluations/model.ts'
import { evaluations } from '../../../src/domains/evaluations/table.ts'
import { withDefaults } from '../../../src/domains/jobs/defaults-model.ts'
import type { JobDraft } from '../../../src/domains/jobs/draft-model.ts'
import type { JobSpec, TaskGroup } from '../../../src/domains/jobs/model.ts'
import { jobs, jobVersions, type JobRow } from '../../../src/domains/jobs/table.ts'
import type { NodeSpec } from '../../../src/domains/nodes/model.ts'
import { domains, serverDomains } from '../../../src/domains/registry.ts'
import { defineCommand, put, remove } from '../../../src/domains/define.ts'
import { commandVersion } from '../../../src/fsm/codec.ts'
import type { Command, Reader } from '../../../src/fsm/domain.ts'
import { openMachine, type Machine } from '../../../src/fsm/machine.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import { decodeConfiguration } from '../../../src/raft/core/membership.ts'
import { Type } from 'typebox'
import { noMetrics } from '../../scheduler/cluster.ts'
import { specOf } from '../nodes/spec.ts'
import { serverOfOne, type ServerOfOneOptions } from '../server-of-one.ts'

export const nowMs = 1_000

/** The same for the same words. */
export function idOf(kind: string, number: number): string {
  const start = Buffer.from(kind.padEnd(4, '-')).toString('hex').slice(0, 8)
  return `${start}-0000-4000-8000-${String(number).padStart(12, '0')}`
}

/** Rows as other commands would write them. */
const plant = defineCommand({
  type: 'test.plant',
  args: Type.Object({
    job: Type.Unsafe<JobRow>(Type.Any()),
    spec: Type.Unsafe<JobSpec>(Type.Any()),
    evaluations: Type.Array(Type.Unsafe<NewEvaluation>(Type.Any())),
  }),
  load: (reader, { job }) => reader.get(jobs, [job.namespace, job.id]),
  apply: ({ index }, { job, spec, evaluations: made }, before) => {
    const at = { createIndex: before?.createIndex ?? index, modifyIndex: index }
    const { namespace, id, version, stop } = job
    const key = { namespace, id, version, jobCreateIndex: at.createIndex }
    return {
      changes: [
        put(jobs, { ...job, ...at, jobModifyIndex: index }),
        put(jobVersions, { ...key, spec, stop, submitMs: nowMs, ...at }),
        ...made.map((row) => put(evaluations, { ...row, createIndex: index, modifyIndex: index })),
      ],
      outcome: index,
    }
  },
})

const purgeJob = defineCommand({
  type: 'test.purgeJob',
  args: Type.Object({ id: Type.String() }),
  load: () => null,
  apply: (_context, { id }) => ({ changes: [remove(jobs, ['default', id])], outcome: null }),
})

const testDomain = {
  name: 'test',
  tables: [],
  commands: { [plant.type]: plant, [purgeJob.type]: purgeJob },
}

type Apply = (command: Command) => Promise<unknown>

export class Workloads {
  readonly machine: Machine
  readonly #apply: Apply

  constructor(machine: Machine, apply: Apply) {
    this.machine = machine
    this.#apply = apply
  }

  async apply<Outcome>(type: string, args: unknown): Promise<Outcome> {
    return (await this.#apply({ type, args })) as Outcome
  }

  read<Result>(read: (reader: Reader) => Result): Result {
    const view = this.machine.view()
    try {
      return read(view)
    } finally {
      view.close()
    }
  }

  allocation(id: string): AllocationRow | undefined {
    return this.read((reader) => reader.get(allocations, [id]))
  }

  evaluation(id: string): EvaluationRow | undefined {
    return this.read((reader) => reader.get(evaluations, [id]))
  }

  job(id = 'web'): JobRow | undefined {
    return this.read((reader) => reader.get(jobs, ['default', id]))
  }

  /** Registered and ready. */
  async node(number: number, more: Partial<NodeSpec> = {}): Promise<string> {
    const id = idOf('node', number)
    const spec = specOf(`box${number}`, more)
    const secretHash = 'a'.repeat(64)
    await this.apply('nodes.register', { id, spec, secretHash, computedClass: 'v1:1', nowMs })
    await this.status(id, 'ready')
    return id
  }

  status(id: string, status: 'ready' | 'down'): Promise<unknown> {
    const updates = [{ id, status, cause: 'heartbeat' }]
    return this.apply('nodes.status', { updates, nowMs })
  }

  /** Registers it, with an evaluation that is pending. */
  async plant(
    id = 'web',
    type: JobRow['type'] = 'service',
    group: GroupDraft = {},
    parent?: JobRow['parent'],
  ): Promise<Placed> {
    const task = { Name: 'main', Driver: 'mock_driver' }
    const draft = {
      ID: id,
      Type: type,
      Datacenters: ['dc1'],
      TaskGroups: [{ Name: 'g', Tasks: [task], ...group }],
    }
    const spec = withDefaults(draft, 'default')
    const evaluationId = idOf('eval', this.machine.appliedIndex)
    const seed = { id: evaluationId, namespace: 'default', jobId: id, type, priority: 50 }
    const index = await this.apply<number>('test.plant', {
      job: {
        namespace: 'default',
        id,
        type,
        priority: 50,
        version: 0,
        stop: false,
        template: false,
        status: 'pending',
        groups: [],
        submitMs: nowMs,
        ...(parent !== undefined && { parent }),
      },
      spec,
      evaluations: [newEvaluation({ ...seed, triggeredBy: 'job-register', nowMs })],
    })
    return { jobId: id, index, evaluation: evaluationId }
  }

  /** The same specification as another version. */
  newVersion(id: string): Promise<void> {
    return this.#again(id, (group) => group)
  }

  /** Another version, with so many of each group. */
  count(id: string, count: number): Promise<void> {
    return this.#again(id, (group) => ({ ...group, Count: count }))
  }

  async #again(id: string, change: (group: TaskGroup) => TaskGroup): Promise<void> {
    const job = this.job(id)
    const key = ['default', id, job?.createIndex ?? 0, job?.version ?? 0]
    const spec = this.read((reader) => reader.get(jobVersions, key))?.spec
    const next = { ...job, version: (job?.version ?? 0) + 1 }
    const changed = { ...spec, TaskGroups: spec?.TaskGroups.map(change) }
    await this.apply('test.plant', { job: next, spec: changed, evaluations: [] })
  }

  /** The one that was made for this. */
  async evaluationOf(trigger: EvaluationRow['triggeredBy']): Promise<EvaluationRow | undefined> {
    const view = this.machine.view()
    try {
      for await (const page of view.pages(evaluations)) {
        const found = page.find(({ triggeredBy }) => triggeredBy === trigger)
        if (found !== undefined) return found
      }
      return undefined
    } finally {
      view.close()
    }
  }

  plan(of: Placed, more: Partial<Plan>): Promise<PlanOutcome> {
    const { evaluation, index: jobModifyIndex } = of
    const none = { place: [], update: [], stop: [], evaluations: [] }
    return this.apply('allocations.plan', { evaluation, jobModifyIndex, ...none, nowMs, ...more })
  }
}

type GroupDraft = NonNullable<JobDraft['TaskGroups']>[number]

export type Placed = { readonly jobId: string; readonly index: number; readonly evaluation: string }

export function placedOn(
  of: Placed,
  nodeId: string,
  number: number,
  more: Partial<NewAllocation> & {
    readonly cpuMhz?: number
    readonly memoryMb?: number
    readonly ports?: readonly number[]
  } = {},
): NewAllocation {
  const { cpuMhz = 100, memoryMb = 10, ports = [], ...rest } = more
  return {
    id: idOf('allo', number),
    namespace: 'default',
    jobId: of.jobId,
    jobCreateIndex: of.index,
    jobVersion: 0,
    group: 'g',
    name: `${of.jobId}.g[${number}]`,
    nodeId,
    nodeName: 'box',
    evalId: of.evaluation,
    resources: {
      tasks: [{ task: 'main', cpuMhz, memoryMb }],
      diskMb: 10,
      ports: ports.map((value) => ({ label: 'http', value, to: 0, address: '10.0.0.7' })),
    },
    metrics: noMetrics,
    previous: '',
    rescheduled: [],
    ...rest,
  }
}

/** An evaluation as a worker writes it again. */
export function proposed(row: EvaluationRow): NewEvaluation {
  const { id, namespace, jobId, type, priority, triggeredBy } = row
  return newEvaluation({ id, namespace, jobId, type, priority, triggeredBy, nowMs })
}

/** `version`: the command version that the cluster runs at. */
export async function workloads(
  t: Pick<Test, 'teardown'>,
  version = commandVersion,
): Promise<Workloads> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-workloads-'))
  const machine = await openMachine({
    folder: join(folder, 'state'),
    domains: [...domains, testDomain],
    decodeConfiguration,
    clock: systemClock,
    logger: silentLogger,
    cascadeRowsMax: 256,
  })
  t.teardown(async () => {
    await machine.close()
    await rm(folder, { recursive: true, force: true })
  })
  const here = new Workloads(machine, async (command) => {
    const data = machine.encodeCommand(command)
    const index = machine.appliedIndex + 1
    const [outcome] = await machine.apply([{ index, term: 1, kind: 'command', data }])
    return outcome
  })
  await here.apply('state.raiseVersion', { version })
  return here
}

/** The same on a server that agents and clients can ask. */
export async function served(t: Test, options: ServerOfOneOptions = {}) {
  const server = await serverOfOne(t, {
    begin: false,
    domains: [...serverDomains, testDomain],
    ...options,
  })
  const here = new Workloads(server.machine, async (command) => {
    const { outcome } = await server.propose(command)
    return outcome
  })
  return { server, here }
}
