/** A state machine, and the scheduling of a leader over it: what it proposes is applied one after the other. */
import type { Test } from 'tap'
import { randomUUID } from 'node:crypto'
import type { AllocationRow, ClientReport } from '../../../src/domains/allocations/model.ts'
import { takesPlace } from '../../../src/domains/allocations/model.ts'
import type { EvaluationRow } from '../../../src/domains/evaluations/model.ts'
import { evaluations } from '../../../src/domains/evaluations/table.ts'
import { allocationsOfJob } from '../../../src/domains/allocations/queries.ts'
import { registerJob, type RegisterOutcome } from '../../../src/domains/jobs/commands.ts'
import type { JobSpec } from '../../../src/domains/jobs/model.ts'
import { heldEvaluations } from '../../../src/domains/nodes/brake-queries.ts'
import type { Lender } from '../../../src/domains/scheduling/lender.ts'
import { observe } from '../../../src/domains/scheduling/observed-commands.ts'
import { startScheduling } from '../../../src/domains/scheduling/scheduling.ts'
import { WorkerPool } from '../../../src/domains/scheduling/workers.ts'
import type { Command } from '../../../src/fsm/domain.ts'
import { systemClock, type Clock } from '../../../src/lib/clock.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import type { Proposed } from '../../../src/rpc/consensus.ts'
import { typedPropose } from '../../../src/rpc/write.ts'
import { workloads, type Workloads } from '../allocations/workloads.ts'

export class Scheduled {
  readonly state: Workloads
  /** Before each command is applied; may throw. */
  onPropose: (command: Command) => void | Promise<void> = () => {}
  readonly workers = new WorkerPool({
    clock: systemClock,
    leads: () => true,
    count: 8,
    enabled: null,
    countMax: 8,
  })
  readonly lending: { lender: Lender | null } = { lender: null }
  /** Views that scheduling opened: two a round. */
  views = 0
  /** Commands that were proposed and are not applied yet. */
  underWay = 0
  #turn: Promise<unknown> = Promise.resolve()

  constructor(state: Workloads) {
    this.state = state
  }

  propose(command: Command): Promise<Proposed> {
    this.underWay += 1
    const next = this.#turn.then(async () => {
      try {
        await this.onPropose(command)
        const outcome = await this.state.apply(command.type, command.args)
        return { index: this.state.machine.appliedIndex, outcome }
      } finally {
        this.underWay -= 1
      }
    })
    this.#turn = next.catch(() => {})
    return next
  }

  start(clock: Clock = systemClock) {
    const { machine } = this.state
    return startScheduling({
      clock,
      workers: this.workers,
      lending: this.lending,
      log: silentLogger,
      view: () => {
        this.views += 1
        return machine.view()
      },
      propose: typedPropose((command) => this.propose(command)),
      observe: (saw) => observe((command, listener) => machine.onCommand(command, listener), saw),
    })
  }

  async register(spec: JobSpec): Promise<string> {
    const { Namespace: namespace, ID: id, Priority: priority, TaskGroups } = spec
    const evaluationId = randomUUID()
    const { outcome } = await this.propose({
      type: registerJob.type,
      args: {
        namespace,
        id,
        type: spec.Type,
        priority,
        groups: TaskGroups.map(({ Name }) => Name),
        spec,
        evaluationId,
        enforceIndex: null,
        nowMs: Date.now(),
      },
    })
    const { type } = outcome as RegisterOutcome
    if (type !== 'registered') throw new Error(type)
    return evaluationId
  }

  async allocations(jobId = 'job'): Promise<readonly AllocationRow[]> {
    const view = this.state.machine.view()
    try {
      const rows: AllocationRow[] = []
      const job = { namespace: 'default', jobId }
      for await (const page of allocationsOfJob(view, job)) rows.push(...page)
      return rows
    } finally {
      view.close()
    }
  }

  async live(jobId = 'job'): Promise<readonly AllocationRow[]> {
    const rows = await this.allocations(jobId)
    return rows.filter((row) => row.desiredStatus === 'run' && takesPlace(row))
  }

  async evaluations(): Promise<readonly EvaluationRow[]> {
    const view = this.state.machine.view()
    const rows: EvaluationRow[] = []
    try {
      for await (const page of view.pages(evaluations)) rows.push(...page)
    } finally {
      view.close()
    }
    return rows
  }

  /** Evaluations that wait for the storm brake. */
  async held(): Promise<number> {
    const view = this.state.machine.view()
    try {
      return await heldEvaluations(view)
    } finally {
      view.close()
    }
  }

  /** As the agents of their nodes say it. */
  report(rows: readonly AllocationRow[], told: Partial<ClientReport>): Promise<Proposed> {
    const reports = rows.map(({ id, nodeId, tasks, health }) => ({
      node: nodeId,
      report: { id, clientStatus: 'running', clientDescription: '', tasks, health, ...told },
    }))
    return this.propose({ type: 'allocations.reported', args: { reports, nowMs: Date.now() } })
  }
}

/** `version`: the command version that the cluster runs at; the newest one, unless said. */
export async function scheduled(t: Test, version?: number): Promise<Scheduled> {
  return new Scheduled(await workloads(t, version))
}
