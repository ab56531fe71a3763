/** Containers by a Docker daemon, which is asked over its socket. */
import { delay } from '../../../lib/async.ts'
import { codeOf, MusterError, textOf } from '../../../lib/errors.ts'
import {
  ownHandle,
  type Driver,
  type DriverCondition,
  type Exec,
  type Handle,
  type StartedTask,
  type TaskToStart,
} from '../driver.ts'
import type { RunningCommand } from '../exec-process.ts'
import { Container, Containers, Created, parsed } from './answers.ts'
import { bindsOf } from './binds.ts'
import { runInContainer } from './container-command.ts'
import { containerName, containerSpec, labels } from './container-spec.ts'
import { ContainerTask, removeContainer, type ContainerTaskOptions } from './container-task.ts'
import { Engine } from './engine.ts'
import { Images } from './images.ts'
import type { DockerSettings } from './settings.ts'
import { openFolders } from './open-folders.ts'
import { configOf, firstOf, pullMsOf } from './task-config.ts'
import { UnusedImages } from './unused-images.ts'

/** Making one may wait for much else that the daemon does. */
const createMs = 60_000
const startMs = 60_000
const lookMs = 5_000
/** For a container of the same name to be gone. */
const nameMs = { tries: 20, pause: 250 } as const

export type DockerOptions = Omit<ContainerTaskOptions, 'engine'> & {
  readonly settings: DockerSettings
  /** Of the agent: containers of others are left alone. */
  readonly nodeId: string
  /** Of one processor. */
  readonly mhz: () => number
}

export class DockerDriver implements Driver {
  readonly name = 'docker'
  readonly root = 'image'
  readonly mountsVolumes = true
  readonly runsAsAgent = false
  readonly #options: DockerOptions
  readonly #engine: Engine
  readonly #images: Images
  readonly #unused: UnusedImages
  /** Why the daemon was not there when it was last asked; null: it was. */
  #away: string | null = null

  constructor(options: DockerOptions) {
    this.#options = options
    this.#engine = new Engine(options.settings.socketPath, options.clock)
    this.#images = new Images(this.#engine, options.clock)
    const { settings, clock, log } = options
    this.#unused = new UnusedImages({
      engine: this.#engine,
      clock,
      log,
      afterMs: settings.imageDelayMs,
    })
  }

  async start(
    task: TaskToStart,
    signal: AbortSignal,
    tell: (text: string) => void,
  ): Promise<StartedTask> {
    const { settings, nodeId, mhz } = this.#options
    const config = configOf(task.config)
    const binds = await bindsOf(task, config, settings)
    const spec = containerSpec({ task, config, binds, settings, nodeId, mhz: mhz() })
    const { image, force_pull: force = false } = config
    const wanted = { image, force, auth: firstOf(config.auth), msMax: pullMsOf(config) }
    const name = containerName(task)
    try {
      await this.#unused.hold(image, name)
      await this.#images.ensure(wanted, () => tell(`Downloading image ${image}`), signal)
      await openFolders(task)
      await this.#removeNamed(task)
      return this.#taskOf(task, await this.#started(name, spec, signal))
    } catch (error) {
      this.#unused.free(image, name)
      throw error
    }
  }

  /** Of the container that it makes, the id. */
  async #started(name: string, spec: unknown, signal: AbortSignal): Promise<string> {
    const id = await this.#create(name, spec)
    try {
      if (signal.aborted) throw new MusterError('cancelled', 'the task is not wanted any more')
      const path = `/containers/${id}/start`
      await this.#engine.ask({ method: 'POST', path, timeoutMs: startMs, signal })
      return id
    } catch (error) {
      await removeContainer(this.#engine, id).catch(() => {
        // It is found and removed later.
      })
      throw error
    }
  }

  recover(task: TaskToStart, handle: Handle): StartedTask {
    return this.#taskOf(task, ownHandle(handle, 'docker').containerId)
  }

  /** One that was created and never started goes. An agent that begins does not wait for a daemon that is away, task by task. */
  async find(task: TaskToStart): Promise<StartedTask | null> {
    if (this.#away !== null) throw new MusterError('unavailable', this.#away)
    const found = await this.#named(task)
    if (found === null) return null
    if (found.State.Status !== 'created') return this.#taskOf(task, found.Id)
    await removeContainer(this.#engine, found.Id)
    return null
  }

  exec(task: TaskToStart, command: Exec): Promise<RunningCommand> {
    return runInContainer(this.#engine, containerName(task), command, this.#options.clock)
  }

  async condition(): Promise<DriverCondition> {
    try {
      const { Version: version } = await this.#engine.version(lookMs)
      this.#away = null
      return {
        detected: true,
        healthy: true,
        description: 'Healthy',
        attributes: [['driver.docker.version', version]],
      }
    } catch (error) {
      this.#away = textOf(error)
      return { detected: false, healthy: false, description: this.#away, attributes: [] }
    }
  }

  async sweep(isWanted: (allocation: string) => boolean): Promise<void> {
    await this.#removeUnwanted(isWanted)
    await this.#unused.remove()
  }

  /** Containers of allocations that are over. */
  async #removeUnwanted(isWanted: (allocation: string) => boolean): Promise<void> {
    const { nodeId, log } = this.#options
    const filters = JSON.stringify({ label: [`${labels.node}=${nodeId}`] })
    const query = { all: 'true', filters }
    const answer = await this.#engine.ask({ method: 'GET', path: '/containers/json', query })
    for (const { Id: id, Labels: found } of parsed(Containers, answer)) {
      const allocation = found?.[labels.allocation]
      // The daemon filters; what it tells wrongly is not removed.
      if (allocation === undefined || found?.[labels.node] !== nodeId) continue
      if (isWanted(allocation)) continue
      await removeContainer(this.#engine, id)
      log.info('a container of an allocation that is over was removed', {
        container: id,
        allocation,
      })
    }
  }

  /** One of before may still be on its way out. */
  async #create(name: string, json: unknown): Promise<string> {
    const question = {
      method: 'POST',
      path: '/containers/create',
      query: { name },
      json,
      timeoutMs: createMs,
    } as const
    for (let tries = 1; ; tries += 1) {
      try {
        return parsed(Created, await this.#engine.ask(question)).Id
      } catch (error) {
        if (codeOf(error) !== 'conflict') throw error
        if (tries === nameMs.tries) throw new MusterError('unavailable', textOf(error))
        await delay(this.#options.clock, nameMs.pause)
      }
    }
  }

  /** What an earlier start left. */
  async #removeNamed(task: TaskToStart): Promise<void> {
    const found = await this.#named(task)
    if (found !== null) await removeContainer(this.#engine, found.Id)
  }

  /** Null: there is none. Throws `invalid_argument` where the name is another's. */
  async #named(task: TaskToStart): Promise<Container | null> {
    const name = containerName(task)
    let answer: unknown
    try {
      answer = await this.#engine.ask({ method: 'GET', path: `/containers/${name}/json` })
    } catch (error) {
      if (codeOf(error) === 'not_found') return null
      throw error
    }
    const container = parsed(Container, answer)
    const found = container.Config.Labels ?? {}
    const isOwn = found[labels.allocation] === task.allocation && found[labels.task] === task.task
    if (isOwn) return container
    throw new MusterError('invalid_argument', `there is a container ${name} that is another's`)
  }

  #taskOf(task: TaskToStart, id: string): StartedTask {
    const { clock, log } = this.#options
    const started = new ContainerTask(task, id, { engine: this.#engine, clock, log })
    const { image } = task.config
    if (typeof image !== 'string') return started
    const name = containerName(task)
    // One that was found again has it as well.
    void this.#unused.hold(image, name)
    void started.ended.then(() => this.#unused.free(image, name))
    return started
  }
}
