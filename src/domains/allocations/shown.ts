/** Allocations as clients read them, whole and in lists, and as filters of lists do. */
import { dateText, exactNanoseconds } from '../../lib/date-text.ts'
import { parseDurationNs } from '../../lib/duration.ts'
import { FilterCompiler } from '../../rpc/filter/filter.ts'
import { shownMetrics } from '../evaluations/metrics-model.ts'
import type { jobOf, versionOf } from '../jobs/queries.ts'
import { shownSpec } from '../jobs/shown-spec-model.ts'
import {
  askedMemoryMax,
  type AllocatedPort,
  type AllocationRow,
  type TaskEvent,
  type TaskState,
} from './model.ts'

export type JobOfAllocation = NonNullable<ReturnType<typeof jobOf>>
export type JobVersion = NonNullable<ReturnType<typeof versionOf>>

/** A row with what it is shown beside: of its job. */
export type ListedAllocation = {
  readonly row: AllocationRow
  /** null: nothing is left of the job. */
  readonly jobType: string | null
  /** See `isUnpromotedCanary`. */
  readonly isCanary: boolean
  /** See `staticPortsOf`. Absent: it has none, or the program that read it is older. */
  readonly staticPorts?: readonly string[]
}

/** What a list has beside, and what it has unless it is told not to. */
export type StubExtras = { readonly resources?: boolean; readonly taskStates?: boolean }

export function shownStub(
  { row, jobType, isCanary, staticPorts }: ListedAllocation,
  { resources = false, taskStates = true }: StubExtras = {},
) {
  return {
    ...shownShort(row),
    ...(!taskStates && { TaskStates: null }),
    ...(resources && { AllocatedResources: allocatedOf(row, staticPorts) }),
    JobType: jobType ?? '',
    JobVersion: row.jobVersion,
    FollowupEvalID: row.followupEval,
    NextAllocation: row.next,
    DeploymentStatus: healthOf(row, isCanary),
    RescheduleTracker: trackerOf(row),
    PreemptedAllocations: row.preempts ?? null,
    PreemptedByAllocation: row.preemptedBy ?? '',
  }
}

/** What a filter is asked of. */
export function filteredAllocation(listed: ListedAllocation) {
  const { previous, deploymentId = '', createMs, modifyMs } = listed.row
  return {
    ...shownStub(listed),
    PreviousAllocation: previous,
    DeploymentID: deploymentId,
    CreateTime: exactNanoseconds(createMs),
    ModifyTime: exactNanoseconds(modifyMs),
  }
}

/** What a row does not have itself. */
export type AllocationExtras = Partial<Pick<ListedAllocation, 'isCanary' | 'staticPorts'>>

/** Empty links and records that there are none of are left out, as Nomad does. */
export function shownAllocation(
  row: AllocationRow,
  { isCanary = row.canary === true, staticPorts = [] }: AllocationExtras = {},
) {
  const { resources } = row
  const networks = networksOf(resources.ports, staticPorts)
  const cpuMhz = sumOf(resources.tasks.map((task) => task.cpuMhz))
  const memoryMb = sumOf(resources.tasks.map((task) => task.memoryMb))
  const health = healthOf(row, isCanary)
  const tracker = trackerOf(row)
  return {
    ...shownShort(row),
    ...(row.deploymentId !== undefined && { DeploymentID: row.deploymentId }),
    ...(row.followupEval !== '' && { FollowupEvalID: row.followupEval }),
    ...(row.previous !== '' && { PreviousAllocation: row.previous }),
    ...(row.next !== '' && { NextAllocation: row.next }),
    ...(row.preempts !== undefined && { PreemptedAllocations: row.preempts }),
    ...(row.preemptedBy !== undefined && { PreemptedByAllocation: row.preemptedBy }),
    ...(health !== null && { DeploymentStatus: health }),
    ...(tracker !== null && { RescheduleTracker: tracker }),
    AllocModifyIndex: row.allocModifyIndex,
    Metrics: shownMetrics(row.metrics),
    Resources: {
      CPU: cpuMhz,
      MemoryMB: memoryMb,
      DiskMB: resources.diskMb,
      IOPS: 0,
      Networks: networks,
      Devices: null,
    },
    SharedResources: {
      CPU: 0,
      MemoryMB: 0,
      DiskMB: resources.diskMb,
      IOPS: 0,
      Networks: networks,
      Devices: null,
    },
    TaskResources: Object.fromEntries(
      resources.tasks.map((task) => [
        task.task,
        {
          CPU: task.cpuMhz,
          MemoryMB: task.memoryMb,
          DiskMB: 0,
          IOPS: 0,
          Networks: null,
          Devices: null,
        },
      ]),
    ),
    AllocatedResources: allocatedOf(row, staticPorts),
  }
}

/** The job as the allocation runs it. */
export function shownJob({ spec, ...version }: JobVersion, job: JobOfAllocation | null) {
  return {
    ...shownSpec(spec),
    ParentID: job?.parent?.id ?? '',
    Dispatched: job?.parent?.dispatched ?? false,
    Payload: version.payload ?? null,
    Stop: job?.stop ?? true,
    Stable: version.stable ?? false,
    Status: job?.status ?? 'dead',
    StatusDescription: '',
    SubmitTime: nanoseconds(version.submitMs),
    Version: version.version,
    CreateIndex: version.jobCreateIndex,
    ModifyIndex: job?.modifyIndex ?? version.modifyIndex,
    JobModifyIndex: job?.jobModifyIndex ?? version.modifyIndex,
  }
}

function allocatedOf({ resources }: AllocationRow, staticPorts: readonly string[] = []) {
  return {
    Tasks: Object.fromEntries(
      resources.tasks.map((task) => [
        task.task,
        {
          Cpu: { CpuShares: task.cpuMhz },
          Memory: { MemoryMB: task.memoryMb, MemoryMaxMB: askedMemoryMax(task) },
          Networks: null,
          Devices: null,
        },
      ]),
    ),
    Shared: {
      DiskMB: resources.diskMb,
      Networks: networksOf(resources.ports, staticPorts),
      Ports: resources.ports.map(({ label, value, to, address }) => ({
        Label: label,
        Value: value,
        To: to,
        HostIP: address,
      })),
    },
  }
}

/** What lists and the whole record share. */
function shownShort(row: AllocationRow) {
  return {
    ID: row.id,
    EvalID: row.evalId,
    Name: row.name,
    Namespace: row.namespace,
    NodeID: row.nodeId,
    NodeName: row.nodeName,
    JobID: row.jobId,
    TaskGroup: row.group,
    DesiredStatus: row.desiredStatus,
    DesiredDescription: row.desiredDescription,
    DesiredTransition: {
      Migrate: row.migrate,
      ...(row.skipsDelay === true && { NoShutdownDelay: true }),
      ...(row.rescheduleNow === true && { ForceReschedule: true }),
    },
    ClientStatus: row.clientStatus,
    ClientDescription: row.clientDescription,
    TaskStates: Object.fromEntries(row.tasks.map((state) => [state.task, shownState(state)])),
    CreateIndex: row.createIndex,
    ModifyIndex: row.modifyIndex,
    CreateTime: nanoseconds(row.createMs),
    ModifyTime: nanoseconds(row.modifyMs),
  }
}

/** A canary has one from the beginning, which says nothing of its health. */
function healthOf({ health, modifyIndex }: AllocationRow, isCanary: boolean) {
  if (health === null && !isCanary) return null
  return {
    Healthy: health?.healthy ?? null,
    Timestamp: dateText(health?.timeMs ?? 0),
    Canary: isCanary,
    ModifyIndex: modifyIndex,
  }
}

function trackerOf({ rescheduled }: AllocationRow) {
  if (rescheduled.length === 0) return null
  return {
    Events: rescheduled.map(({ timeMs, allocation, node, delayMs }) => ({
      RescheduleTime: nanoseconds(timeMs),
      PrevAllocID: allocation,
      PrevNodeID: node,
      Delay: nanoseconds(delayMs),
    })),
  }
}

function shownState(state: TaskState) {
  return {
    State: state.state,
    Failed: state.failed,
    Restarts: state.restarts,
    LastRestart: maybeDate(state.lastRestartMs),
    StartedAt: maybeDate(state.startedMs),
    FinishedAt: maybeDate(state.finishedMs),
    Events: state.events.map(shownEvent),
  }
}

/** What Nomad's tools read beside the details: numbers, and texts that are empty where they do not apply. */
function shownEvent({ type, timeNs, message, displayMessage, details }: TaskEvent) {
  const byName = new Map(details)
  /** The message, where it is what an event of one of these types tells. */
  const textOf = (...types: readonly string[]) => (types.includes(type) ? message : '')
  const killTimeout = byName.get('kill_timeout')
  return {
    Type: type,
    Time: BigInt(timeNs),
    Message: message,
    DisplayMessage: displayMessage,
    Details: Object.fromEntries(details),
    DiskLimit: 0,
    DownloadError: textOf('Failed Artifact Download'),
    DriverError: textOf('Driver Failure'),
    DriverMessage: textOf('Driver'),
    ExitCode: numberOf(byName.get('exit_code')),
    FailedSibling: byName.get('failed_sibling') ?? '',
    FailsTask: byName.get('fails_task') === 'true',
    GenericSource: '',
    KillError: '',
    // The agent's word that it ends a task has the time that the task is given, any other the reason.
    KillReason: killTimeout === undefined ? textOf('Killing') : '',
    KillTimeout: Number(parseDurationNs(killTimeout ?? '') ?? 0n),
    RestartReason: byName.get('restart_reason') ?? textOf('Restart Signaled', 'Not Restarting'),
    SetupError: textOf('Setup Failure'),
    Signal: numberOf(byName.get('signal')),
    StartDelay: numberOf(byName.get('start_delay')),
    TaskSignal: byName.get('task_signal') ?? '',
    TaskSignalReason: byName.get('task_signal_reason') ?? '',
    ValidationError: textOf('Failed Validation'),
    VaultError: '',
  }
}

function networksOf(all: readonly AllocatedPort[], staticPorts: readonly string[]) {
  const [first] = all
  if (first === undefined) return null
  const shown = (isStatic: boolean) => {
    const ports = all.filter(({ label }) => staticPorts.includes(label) === isStatic)
    if (ports.length === 0) return null
    return ports.map(({ label, value, to }) => ({ Label: label, Value: value, To: to }))
  }
  return [
    {
      CIDR: '',
      Device: '',
      DynamicPorts: shown(false),
      IP: first.address,
      MBits: 0,
      Mode: 'host',
      ReservedPorts: shown(true),
    },
  ]
}

function maybeDate(ms: number | null): string | null {
  return ms === null ? null : dateText(ms)
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}

/** See `api/json.ts`: it prints as it is. */
function nanoseconds(ms: number): number {
  return ms * 1e6
}

function numberOf(text: string | undefined): number {
  return text === undefined || !/^-?\d{1,15}$/.test(text) ? 0 : Number(text)
}

export const allocationFilters = new FilterCompiler({
  ID: 'string',
  EvalID: 'string',
  Name: 'string',
  Namespace: 'string',
  NodeID: 'string',
  NodeName: 'string',
  JobID: 'string',
  JobType: 'string',
  JobVersion: 'unsigned',
  TaskGroup: 'string',
  DesiredStatus: 'string',
  DesiredDescription: 'string',
  ClientStatus: 'string',
  ClientDescription: 'string',
  FollowupEvalID: 'string',
  PreviousAllocation: 'string',
  NextAllocation: 'string',
  PreemptedByAllocation: 'string',
  DeploymentID: 'string',
  DeploymentStatus: { record: { Healthy: 'boolean', Canary: 'boolean', ModifyIndex: 'unsigned' } },
  CreateIndex: 'unsigned',
  ModifyIndex: 'unsigned',
  CreateTime: 'integer',
  ModifyTime: 'integer',
})
