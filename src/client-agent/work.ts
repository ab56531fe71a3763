/** What a client agent runs tasks with. */
import { localServices } from '../domains/local-services/services.ts'
import type { TaskChecks } from '../domains/local-services/task-checks.ts'
import type { AgentTasks } from '../domains/tasks/services.ts'
import { MusterError } from '../lib/errors.ts'
import type { Running } from '../lib/periodic.ts'
import type { AskServer } from '../rpc/agent-contract.ts'
import type { Services } from '../rpc/services.ts'
import type { RuntimeDependencies } from '../runtime/process.ts'
import { agentTasksOf } from './agent-tasks.ts'
import type { ClientConfig } from './client-config.ts'
import { DockerDriver } from './drivers/docker/docker.ts'
import { Drivers } from './drivers/drivers.ts'
import { ExecDriver } from './drivers/exec/exec-driver.ts'
import type { DriverName } from './drivers/names.ts'
import { fingerprint } from './fingerprint.ts'
import { CheckHolders } from './runner/check-holders.ts'
import type { Contact } from './runner/lost-contact.ts'
import { Registrations } from './runner/registrations.ts'
import { farewellMs, Runner, workFolders } from './runner/runner.ts'
import { storageOf } from './storage.ts'
import { ProcessTables } from './usage/process-table.ts'
import { TaskUsages } from './usage/task-usage.ts'
import { StateStore } from './runner/state-store.ts'

/** Tasks that end with the agent have this long, and as long as the longest kill timeout. */
const endMsMin = 60_000
/** Of a processor, until the machine is known. */
const mhzDefault = 1_000

export type Work = {
  readonly drivers: Drivers
  /** Once the runner has started. `onChange`: servers are to be told. */
  readonly watchDrivers: (onChange: () => void) => Running
  readonly runner: Runner
  readonly tasks: AgentTasks
  /** For what runs the checks. */
  readonly checks: TaskChecks
  /** Whether its tasks end with this process, which ends now. */
  readonly endsWithAgent: boolean
  /** How long that may take. */
  readonly endMsMax: number
}

export type WorkOptions = {
  /** Of the node. */
  readonly id: string
  readonly config: ClientConfig
  readonly dependencies: RuntimeDependencies
  /** When work begins, those of this machine are among them. */
  readonly services: Services
  readonly contact: Contact
  /** Null: there is no uplink yet. */
  readonly ask: () => AskServer | null
}

/** Nothing runs before `runner.start`. */
export async function openWork({
  id,
  config,
  dependencies,
  services,
  contact,
  ask,
}: WorkOptions): Promise<Work> {
  const { clock, random, origin } = dependencies
  const { region, dataDir, advertiseAddr, leaveOnTerminate } = config
  const { endedMax, stopsTasks, killTimeoutMsMax, artifacts, docker, cgroupParent } =
    config.client.work
  const endMsMax = endMsMin + killTimeoutMsMax
  const log = dependencies.logger.named('work')
  const inDev: readonly DriverName[] = origin.dev ? ['mock_driver'] : []
  const enabled = [...new Set([...config.client.work.drivers, ...inDev])]
  let mhzOfCore = mhzDefault
  const containers = new DockerDriver({
    settings: docker,
    nodeId: id,
    mhz: () => mhzOfCore,
    clock,
    log: dependencies.logger.named('docker'),
  })
  const exec = await ExecDriver.open({
    enabled: enabled.includes('exec'),
    parent: cgroupParent,
    clock,
  })
  const drivers = new Drivers(enabled, clock, [containers, exec])
  await drivers.look()
  const folders = workFolders(dataDir)
  // For the variables of tasks, which show no offer: what runs already is not known yet.
  const storage = await storageOf({ folder: folders.allocations, held: [], clock })
  const shown = { version: origin.version, api: null, drivers: drivers.shown, storage }
  const spec = await fingerprint({ config, ...shown })
  const holders = new CheckHolders()
  const runner = new Runner({
    drivers,
    store: new StateStore(folders.state, log),
    folder: folders.allocations,
    facts: { id, region, address: advertiseAddr, spec, environment: process.env },
    registrations: new Registrations(() => services.get(localServices), log),
    holders,
    contact,
    ask: (...question) => (ask() ?? noUplink)(...question),
    artifacts,
    endedMax,
    endMsMax,
    killTimeoutMsMax,
    clock,
    random,
    log,
  })
  const attributes = new Map(spec.attributes)
  const mhz = Number(attributes.get('cpu.frequency') ?? 0)
  const cores = Number(attributes.get('cpu.numcores') ?? 1)
  mhzOfCore = Math.max(1, spec.resources.cpuMhz / Math.max(1, cores))
  const tasks = agentTasksOf({
    runner,
    usage: new TaskUsages(clock, new ProcessTables(clock), mhz),
    folder: dataDir,
    nodeName: config.name,
    mhz,
    clock,
  })
  const watchDrivers = (onChange: () => void): Running =>
    drivers.watch({
      log,
      onChange,
      isWanted: (allocation) => runner.find(allocation)?.isOver === false,
    })
  // When the node leaves, its work is placed elsewhere.
  const endsWithAgent = stopsTasks || leaveOnTerminate || origin.dev
  return {
    drivers,
    watchDrivers,
    runner,
    tasks,
    checks: holders,
    endsWithAgent,
    endMsMax: endMsMax + farewellMs,
  }
}

function noUplink(): Promise<never> {
  return Promise.reject(new MusterError('unavailable', 'there is no uplink yet'))
}
