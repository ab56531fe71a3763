/** The servers as a runner meets them: a list of allocations that a test changes, and what was reported of each. */
import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { Drivers } from '../../../src/client-agent/drivers/drivers.ts'
import type { DriverName } from '../../../src/client-agent/drivers/names.ts'
import type { ArtifactSettings } from '../../../src/client-agent/runner/artifacts/limits.ts'
import { CheckHolders } from '../../../src/client-agent/runner/check-holders.ts'
import { Registrations, type Registry } from '../../../src/client-agent/runner/registrations.ts'
import { Runner, workFolders } from '../../../src/client-agent/runner/runner.ts'
import { StateStore } from '../../../src/client-agent/runner/state-store.ts'
import type { Assigned } from '../../../src/domains/allocations/feed-model.ts'
import type { LogOrigin } from '../../../src/domains/allocations/log-model.ts'
import { isClientTerminal, type ClientReport } from '../../../src/domains/allocations/model.ts'
import type { CheckStatus } from '../../../src/domains/catalog/model.ts'
import { withDefaults } from '../../../src/domains/jobs/defaults-model.ts'
import type { JobDraft } from '../../../src/domains/jobs/draft-model.ts'
import type {
  AgentService,
  CheckDefinition,
} from '../../../src/domains/local-services/definition.ts'
import type { InitialCheck } from '../../../src/domains/local-services/definitions.ts'
import type { AgentCheck } from '../../../src/domains/local-services/local-services.ts'
import type { AskServer } from '../../../src/rpc/agent-contract.ts'
import type { Answer, DataReply, Want } from '../../../src/domains/templates/model.ts'
import { systemClock, type Clock } from '../../../src/lib/clock.ts'
import { MusterError } from '../../../src/lib/errors.ts'
import { systemRandom } from '../../../src/lib/random.ts'
import { silentLogger } from '../../../src/lib/log.ts'

export type Tasks = NonNullable<NonNullable<JobDraft['TaskGroups']>[number]['Tasks']>
type Group = NonNullable<JobDraft['TaskGroups']>[number]

const deadlineMs = 20_000

export class ServersStandIn {
  index = 10
  /** Absent: servers of an earlier version. */
  log: LogOrigin | undefined
  /** Whether anything is answered. */
  isThere = true
  readonly reports = new Map<string, ClientReport>()
  /** Answers. */
  feeds = 0
  /** Until then no list is told. */
  untilFeed: Promise<void> = Promise.resolve()
  /** Of templates, the last time. */
  asked: readonly string[] = []
  #answeredMs = systemClock.monotonicMs()

  readonly contact = {
    silentMs: () => (this.isThere ? 0 : systemClock.monotonicMs() - this.#answeredMs),
    renew: () => {
      if (this.isThere) this.#answeredMs = systemClock.monotonicMs()
    },
  }

  readonly #assigned = new Map<string, Assigned>()
  readonly #data = new Map<string, Answer>()
  #changed = Promise.withResolvers<void>()

  readonly ask: AskServer = async ({ name, checked }, args) =>
    checked(await this.#answer(name, args))

  /** What templates are told of it: `key app/color`. */
  tell(what: string, answer: Answer): void {
    this.#data.set(what, answer)
    this.#change()
  }

  async #answer(method: string, args: unknown): Promise<unknown> {
    this.contact.renew()
    if (!this.isThere) throw new MusterError('unavailable', 'no server')
    const given: { tag?: string; ids?: string[]; reports?: ClientReport[]; wants?: Want[] } =
      Object(args)
    if (method === 'templates.data') return this.#dataOf(given.wants ?? [])
    if (method === 'allocations.feed') {
      if (given.tag === `${this.index} ${this.log?.cluster}`) await this.#changed.promise
      await this.untilFeed
      const allocations = [...this.#assigned.values()]
        .filter(({ id }) => !isClientTerminal(this.reports.get(id) ?? { clientStatus: 'pending' }))
        .map(({ id, allocModifyIndex }) => [id, allocModifyIndex])
      this.feeds += 1
      return {
        index: this.index,
        ...this.#ofLog,
        tag: `${this.index} ${this.log?.cluster}`,
        allocations,
      }
    }
    if (method === 'allocations.read') {
      const { log, index } = this
      const state = log === undefined ? {} : { state: { cluster: log.cluster, index } }
      const found = given.ids?.flatMap((id) => this.#assigned.get(id) ?? [])
      return { allocations: found?.map((one) => ({ ...one, ...state })), rest: [] }
    }
    for (const report of given.reports ?? []) this.reports.set(report.id, report)
    const unknown = given.reports?.filter(({ id }) => !this.#assigned.has(id)).map(({ id }) => id)
    return { index: this.index, unknown }
  }

  get #ofLog() {
    return this.log === undefined ? {} : { log: this.log }
  }

  /** What they know is that of an archive, or nothing, and their log is another one. */
  beginAnew(index: number, log: LogOrigin, archive: ReadonlyMap<string, Assigned>): void {
    this.#assigned.clear()
    for (const [id, assigned] of archive) this.#assigned.set(id, assigned)
    this.log = log
    this.index = index - 1
    this.#change()
  }

  saved(): ReadonlyMap<string, Assigned> {
    return new Map(this.#assigned)
  }

  /** When it is another one than the tags say. */
  async #dataOf(wants: readonly Want[]): Promise<DataReply> {
    this.asked = wants.map(({ dependency: { type, path } }) => `${type} ${path}`)
    for (;;) {
      const answers = this.asked.flatMap((what, at) => {
        const answer = this.#data.get(what) ?? { type: 'none' as const }
        const tag = createHash('md5').update(JSON.stringify(answer)).digest('hex')
        return tag === wants[at]?.tag ? [] : [{ at, tag, answer }]
      })
      if (answers.length > 0) return { index: this.index, ...this.#ofLog, answers }
      await this.#changed.promise
    }
  }

  place(
    number: number,
    type: Assigned['jobType'],
    tasks: Tasks,
    more: Partial<Group> = {},
    about: Partial<Pick<Assigned, 'preempts' | 'previous'>> = {},
  ): string {
    const id = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
    const draft = { ID: 'job', Type: type, TaskGroups: [{ Name: 'group', Tasks: tasks, ...more }] }
    const job = withDefaults(draft, 'default')
    const [group] = job.TaskGroups
    if (group === undefined) throw new Error('a job has a group')
    this.#assign({
      id,
      name: `job.group[${number}]`,
      namespace: 'default',
      evalId: id,
      jobId: 'job',
      jobName: 'job',
      jobType: type,
      jobPriority: 50,
      jobVersion: 0,
      jobMeta: {},
      region: 'global',
      datacenter: 'dc1',
      group,
      groupName: 'group',
      resources: { tasks: [], diskMb: 0, ports: [] },
      desiredStatus: 'run',
      migrate: false,
      previous: '',
      ...about,
      createMs: 0,
      allocModifyIndex: this.index + 1,
    })
    return id
  }

  stop(id: string, more: Pick<Assigned, 'skipsDelay'> = {}): void {
    const assigned = this.#known(id)
    const allocModifyIndex = this.index + 1
    this.#assign({ ...assigned, ...more, desiredStatus: 'stop', allocModifyIndex })
  }

  /** Nothing of it is another thing, but its agent has to look. */
  touch(
    id: string,
    more: Partial<Pick<Assigned, 'isUnknown' | 'canary' | 'group' | 'jobVersion'>> = {},
  ): void {
    const assigned = this.#known(id)
    this.#assign({ ...assigned, ...more, allocModifyIndex: this.index + 1 })
  }

  /** Its agent is not told, for its index stays. */
  promote(id: string): void {
    const { canary: _, ...rest } = this.#known(id)
    this.#assigned.set(id, rest)
  }

  remove(id: string): void {
    this.#assigned.delete(id)
    this.#change()
  }

  async reported(id: string, is: (report: ClientReport) => boolean): Promise<ClientReport> {
    let report: ClientReport | undefined
    await until(
      () => {
        report = this.reports.get(id)
        return report !== undefined && is(report)
      },
      () => `the last report: ${JSON.stringify(report)}`,
    )
    if (report === undefined) throw new Error('it was reported')
    return report
  }

  becomes(id: string, status: ClientReport['clientStatus']): Promise<ClientReport> {
    return this.reported(id, ({ clientStatus }) => clientStatus === status)
  }

  #known(id: string): Assigned {
    const assigned = this.#assigned.get(id)
    if (assigned === undefined) throw new Error(`there is no ${id}`)
    return assigned
  }

  #assign(assigned: Assigned): void {
    this.#assigned.set(assigned.id, assigned)
    this.#change()
  }

  #change(): void {
    this.index += 1
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }
}

/** `look`: before each question. */
export async function until(
  is: () => boolean,
  why: () => string,
  look: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const untilMs = systemClock.monotonicMs() + deadlineMs
  for (;;) {
    await look()
    if (is()) return
    if (systemClock.monotonicMs() > untilMs) throw new Error(why())
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

export async function dataFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-runner-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

export type RunnerOf = {
  readonly folder: string
  readonly drivers?: readonly DriverName[]
  readonly endedMax?: number
  readonly registry?: RegistryStandIn
  readonly holders?: CheckHolders
  readonly artifacts?: Partial<ArtifactSettings>
  readonly clock?: Clock
  readonly store?: StateStore
}

/** Services of the agent, without a catalog; checks are as a test says. */
export class RegistryStandIn implements Registry {
  readonly checks = new Map<string, CheckStatus>()
  readonly #services = new Map<string, AgentService>()

  services(): readonly AgentService[] {
    return [...this.#services.values()]
  }

  check(id: string): AgentCheck | null {
    const definition = this.#definitions.get(id)
    const status = this.checks.get(id) ?? 'critical'
    return definition === undefined ? null : { definition, state: { status, output: '' } }
  }

  async registerService(service: AgentService, checks: readonly InitialCheck[]): Promise<void> {
    this.#services.set(service.id, service)
    for (const { definition, status } of checks) {
      this.#definitions.set(definition.id, definition)
      if (status !== null) this.checks.set(definition.id, status)
    }
  }

  async deregisterService(id: string): Promise<void> {
    this.#services.delete(id)
    for (const [check, { serviceId }] of this.#definitions) {
      if (serviceId === id) this.#definitions.delete(check)
    }
  }

  readonly #definitions = new Map<string, CheckDefinition>()
}

const stopped = new WeakSet<Runner>()

/** As an agent that goes and leaves its tasks. */
export async function leave(runner: Runner): Promise<void> {
  await runner.stop()
  stopped.add(runner)
}

/** Its tasks end with the test. */
export async function startedRunner(
  t: Test,
  servers: ServersStandIn,
  {
    folder,
    drivers = ['raw_exec', 'mock_driver'],
    endedMax = 50,
    registry = new RegistryStandIn(),
    holders = new CheckHolders(),
    artifacts = {},
    clock = systemClock,
    store = new StateStore(workFolders(folder).state, silentLogger),
  }: RunnerOf,
): Promise<Runner> {
  const { allocations } = workFolders(folder)
  const runner = new Runner({
    drivers: new Drivers(drivers, clock),
    store,
    folder: allocations,
    facts: {
      id: 'node',
      region: 'global',
      address: '10.0.0.7',
      spec: {
        name: 'box',
        datacenter: 'dc1',
        nodeClass: 'fast',
        attributes: [],
        meta: [],
        hostVolumes: [],
      },
      environment: { PATH: '/usr/bin:/bin', SECRET: 'of the agent' },
    },
    registrations: new Registrations(() => registry, silentLogger),
    holders,
    contact: servers.contact,
    ask: servers.ask,
    artifacts: {
      fileFolders: [],
      msMax: 10_000,
      bytesMax: 1_048_576,
      unpackedBytesMax: 1_048_576,
      filesMax: 16,
      ...artifacts,
    },
    endedMax,
    endMsMax: 60_000,
    killTimeoutMsMax: 30_000,
    clock,
    random: systemRandom,
    log: silentLogger,
  })
  await runner.start()
  t.teardown(async () => {
    if (stopped.has(runner)) return
    await runner.stopTasks()
    await runner.stop()
  })
  return runner
}
