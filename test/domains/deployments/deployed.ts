/** A state with the scheduling and the deployments of a leader over it, and agents that say what the test wants. */
import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import type { AllocationRow } from '../../../src/domains/allocations/model.ts'
import type { DeploymentOutcome } from '../../../src/domains/deployments/commands.ts'
import type { DeploymentRow, GroupState } from '../../../src/domains/deployments/model.ts'
import { deploymentsOfJob } from '../../../src/domains/deployments/queries.ts'
import { startDeploymentWatcher } from '../../../src/domains/deployments/watcher.ts'
import type { JobSpec } from '../../../src/domains/jobs/model.ts'
import { jobVersions, type JobVersionRow } from '../../../src/domains/jobs/table.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import { typedPropose } from '../../../src/rpc/write.ts'
import { driver, jobSpec } from '../../scheduler/cluster.ts'
import { eventually, eventuallyTrue } from '../../support/eventually.ts'
import { scheduled, type Scheduled } from '../scheduling/scheduled.ts'

export const roomy = {
  drivers: [driver('mock_driver')],
  resources: { cpuMhz: 20_000, memoryMb: 20_000, diskMb: 90_000, networks: [], nodeNetworks: [] },
}

export class Deployed {
  readonly here: Scheduled
  /** The leader is none any more. */
  readonly stopsLeading: () => Promise<void>

  constructor(here: Scheduled, stopsLeading: () => Promise<void>) {
    this.here = here
    this.stopsLeading = stopsLeading
  }

  /** The oldest first. */
  async all(): Promise<readonly DeploymentRow[]> {
    const view = this.here.state.machine.view()
    try {
      const rows: DeploymentRow[] = []
      const job = { namespace: 'default', jobId: 'job' }
      for await (const page of deploymentsOfJob(view, job)) rows.push(...page)
      return rows
    } finally {
      view.close()
    }
  }

  /** That of the version, once it is so. */
  until(
    what: string,
    jobVersion: number,
    isSo: (row: DeploymentRow, group: GroupState) => boolean,
  ): Promise<DeploymentRow> {
    return eventually(what, async () => {
      const rows = await this.all()
      const row = rows.find((one) => one.jobVersion === jobVersion)
      const group = row?.groups[0]
      return row !== undefined && group !== undefined && isSo(row, group) ? row : undefined
    })
  }

  ends(jobVersion: number, status: DeploymentRow['status']): Promise<DeploymentRow> {
    return this.until(`version ${jobVersion} is ${status}`, jobVersion, (row) => {
      return row.status === status
    })
  }

  /** Of the version, once there are so many and nothing is left to decide. */
  live(jobVersion: number, count: number): Promise<readonly AllocationRow[]> {
    return eventually(`${count} of version ${jobVersion}`, async () => {
      const evaluations = await this.here.evaluations()
      if (evaluations.some(({ status }) => status === 'pending')) return undefined
      const rows = (await this.here.live()).filter((row) => row.jobVersion === jobVersion)
      return rows.length === count ? rows : undefined
    })
  }

  /** Each allocation of the version is healthy as soon as it is there, until none is left to become so. */
  async becomesHealthy(jobVersion: number, count: number): Promise<void> {
    await eventuallyTrue(`all of version ${jobVersion} are healthy`, async () => {
      const live = (await this.here.live()).filter((row) => row.jobVersion === jobVersion)
      const fresh = live.filter(({ health }) => health === null)
      if (fresh.length > 0) await this.health(fresh, true)
      return live.length === count && fresh.length === 0
    })
  }

  health(rows: readonly AllocationRow[], healthy: boolean) {
    return this.here.report(rows, { health: { healthy, timeMs: Date.now() } })
  }

  fails(rows: readonly AllocationRow[]) {
    return this.here.report(rows, {
      clientStatus: 'failed',
      health: { healthy: false, timeMs: Date.now() },
    })
  }

  async change(type: string, args: object): Promise<DeploymentOutcome> {
    const made = { evaluationId: randomUUID(), nowMs: Date.now() }
    const { outcome } = await this.here.propose({ type, args: { ...args, ...made } })
    return outcome as DeploymentOutcome
  }

  version(number: number): JobVersionRow | undefined {
    const createIndex = this.here.state.job('job')?.createIndex ?? 0
    return this.here.state.read((reader) =>
      reader.get(jobVersions, ['default', 'job', createIndex, number]),
    )
  }
}

/** Nodes with much room, and a leader whose duties run. */
export async function deployed(
  t: Test,
  { nodes = 1, commandVersion }: { readonly nodes?: number; readonly commandVersion?: number } = {},
): Promise<Deployed> {
  const here = await scheduled(t, commandVersion)
  for (let number = 1; number <= nodes; number += 1) await here.state.node(number, roomy)
  return new Deployed(here, leader(t, here))
}

/** Its duties, until the test or the call ends them. */
export function leader(t: Test, here: Scheduled): () => Promise<void> {
  const { machine } = here.state
  const scheduling = here.start()
  const watcher = startDeploymentWatcher({
    clock: systemClock,
    log: silentLogger,
    view: () => machine.view(),
    propose: typedPropose((command) => here.propose(command)),
  })
  const stop = async (): Promise<void> => {
    await watcher.stop()
    await scheduling.stop()
  }
  t.teardown(stop)
  return stop
}

const second = 1e9

/** As `version`, on every node. */
export function systemVersion(
  number: number,
  update: Readonly<Record<string, unknown>> = {},
): JobSpec {
  const spec = version(number, update)
  const TaskGroups = spec.TaskGroups.map((group) => ({
    ...group,
    Count: 1,
    ReschedulePolicy: null,
  }))
  return { ...spec, Type: 'system', TaskGroups }
}

/** Three at a time of `update`, with another environment in each version. */
export function version(number: number, update: Readonly<Record<string, unknown>> = {}): JobSpec {
  return jobSpec(
    {},
    {
      Count: 3,
      Update: {
        MaxParallel: 1,
        MinHealthyTime: 0,
        HealthyDeadline: second / 2,
        ProgressDeadline: 600 * second,
        ...update,
      },
      Tasks: [{ Name: 'main', Driver: 'mock_driver', Env: { VERSION: String(number) } }],
    },
  )
}
