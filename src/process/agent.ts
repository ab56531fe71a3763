/**
 * One process of Muster: its configuration, its log lines, its life from start to stop.
 * `process` may import `server`, `client-agent`, `runtime`, `gossip-pool`, `tls` and `lib`; only `main` imports it.
 *
 * This file reads the configuration, claims the data folder, starts a server or a client agent, and stops all of it in
 * reverse.
 */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onAbort } from '../lib/async.ts'
import { machineClock, type Clock } from '../lib/clock.ts'
import { DiskGate } from '../lib/disk-gate.ts'
import type { Random } from '../lib/random.ts'
import type { startClient } from '../client-agent/client.ts'
import type { RuntimeDependencies, RunningProcess } from '../runtime/process.ts'
import type { startServer } from '../server/server.ts'
import { loadFiles, type AgentConfig, type ConfigBase } from './config.ts'
import { restartWarning } from './config-changes.ts'
import { makeOwnCertificates } from './auto-tls.ts'
import { claimDataFolder } from './data-folder.ts'
import { freeDefaults, listeningPorts } from './dev-ports.ts'
import { createLog, type LogSink, type ProcessLog } from './logging.ts'
import { serviceManager, type SendWords } from './service-manager.ts'
import { watchLife, type Life, type ProcessEvents } from './signals.ts'

const KEYRING_KEY_BYTES = 32

export type AgentArguments = {
  /** Files and folders, later over earlier. */
  readonly configPaths: readonly string[]
  /** One server in a temporary folder that goes when the process ends; free ports where the default ones are taken. */
  readonly dev: boolean
}

export type AgentEnvironment = {
  readonly clock: Clock
  readonly random: Random
  readonly sink: LogSink
  /** The sink is systemd's journal. */
  readonly toJournal: boolean
  readonly soon: (run: () => void) => void
  readonly events: ProcessEvents
  readonly exit: (code: number) => void
  readonly version: string
  /** To the service manager that started this process; null: there is none. */
  readonly notify: SendWords | null
  readonly startServer: typeof startServer
  readonly startClient: typeof startClient
}

type RunningAgent = RunningProcess<string, AgentConfig>

/**
 * Resolves once the agent runs; the process then ends by a signal. Throws `invalid_argument` for the configuration,
 * `conflict` for a data folder in use, and whatever keeps it from starting.
 */
export async function runAgent(args: AgentArguments, environment: AgentEnvironment): Promise<void> {
  const { configPaths, dev } = args
  const temporary = dev ? await mkdtemp(join(tmpdir(), 'muster-dev-')) : null
  let life: Life | null = null
  try {
    let base: ConfigBase = temporary === null ? {} : await devBase(temporary)
    const readFiles = () => loadFiles(configPaths, base)
    let { config, file } = await readFiles()
    /** Whether the configuration changed by it. */
    const leaveTakenPorts = async (): Promise<boolean> => {
      const before = config
      base = { ...base, defaultPorts: await freeDefaults(config, base.defaultPorts) }
      ;({ config, file } = await readFiles())
      return listeningPorts(config) !== listeningPorts(before)
    }
    const moved = dev && (await leaveTakenPorts())
    const log = createLog({
      name: config.name,
      level: config.logLevel,
      json: config.logJson,
      sink: environment.sink,
      toJournal: environment.toJournal,
      wallMs: () => environment.clock.wallMs(),
      soon: environment.soon,
    })
    life = watchLife({
      events: environment.events,
      clock: environment.clock,
      logger: log.logger,
      exit(code) {
        log.flush()
        environment.exit(code)
      },
    })
    if (moved) log.logger.info('default ports are taken; this -dev agent uses free ones instead')
    const lived = life
    const manager = serviceManager(environment.notify, {
      logger: log.logger,
      monotonicUs: () => Math.round(machineClock.monotonicMs() * 1_000),
    })
    const start = (): Promise<Started> =>
      startOnDisk(args, config, log, lived, environment).catch(async (error: unknown) => {
        // Another process took a port after the look. Each round moves one more, so the rounds end.
        if (!dev || lived.stopping.aborted || !(await leaveTakenPorts())) throw error
        return start()
      })
    const { agent, stop } = await start()
    manager.ready()
    life.onReload(async () => {
      manager.reloading()
      let warning: string | null = null
      const readAgain = async (): Promise<AgentConfig> => {
        const next = await readFiles()
        log.configure({ level: next.config.logLevel, json: next.config.logJson })
        warning = restartWarning(file, next.file)
        if (warning !== null) log.logger.warn(warning)
        return next.config
      }
      await agent.reload(readAgain).finally(() => manager.ready())
      return warning
    })
    onAbort(life.stopping, () => manager.stopping())
    life.onStop(
      async () => {
        await stop()
        await removeFolder(temporary)
      },
      { ms: config.controller.gracefulShutdownWaitMs, begin: () => agent.announceStop() },
      agent.stopMsMax,
    )
  } catch (error) {
    if (life?.stopping.aborted === true) {
      // The signal was to end the process, and that is what happens.
      life.onStop(() => removeFolder(temporary))
      return
    }
    life?.dispose()
    await removeFolder(temporary)
    throw error
  }
}

type Started = { readonly agent: RunningAgent; readonly stop: () => Promise<void> }

/** A start writes. Where the disk refuses (it is full or read-only), what was opened is closed and the start is tried again. */
async function startOnDisk(
  args: AgentArguments,
  config: AgentConfig,
  log: ProcessLog,
  life: Life,
  environment: AgentEnvironment,
): Promise<Started> {
  log.logger.info('starting', {
    version: environment.version,
    node: process.version,
    pid: process.pid,
    dataDir: config.dataDir,
  })
  if (config.scriptChecks === 'all' && !config.acl.enabled) {
    log.logger.warn(
      'enable_script_checks without access control: all who reach the API can run commands here; enable_local_script_checks allows only scripts of the configuration files',
    )
  }
  const gate = new DiskGate({ clock: environment.clock, logger: log.logger.named('disk') })
  const stopListening = onAbort(life.stopping, () => gate.close())
  const start = () => startInOrder(args, config, log, life, environment)
  try {
    return await start().catch((error: unknown) => gate.outlast('start', error, start))
  } finally {
    stopListening()
    gate.close()
  }
}

async function startInOrder(
  args: AgentArguments,
  config: AgentConfig,
  { logger, tap }: ProcessLog,
  life: Life,
  environment: AgentEnvironment,
): Promise<Started> {
  const folder = await claimDataFolder(config.dataDir)
  try {
    const { auto } = config.tls
    if (auto !== null) {
      const { region } = config
      await makeOwnCertificates({ ...auto, region, clock: environment.clock, logger })
    }
    const dependencies: RuntimeDependencies = {
      logger,
      logTap: tap,
      origin: { version: environment.version, dev: args.dev, files: args.configPaths },
      clock: environment.clock,
      random: environment.random,
      onFatal: (error) => life.die('this agent cannot go on', error),
      reload: () => life.reload(),
    }
    const { client } = config
    const agent: RunningAgent =
      client === null
        ? await environment.startServer(config, dependencies)
        : await environment.startClient({ ...config, client }, dependencies)
    logger.info('started', agent.addresses)
    const stop = async (): Promise<void> => {
      await agent.stop()
      await folder.release()
    }
    return { agent, stop }
  } catch (error) {
    await folder.release()
    throw error
  }
}

async function devBase(folder: string) {
  const keyringKeyFile = join(folder, 'keyring.key')
  const key = randomBytes(KEYRING_KEY_BYTES).toString('base64')
  await writeFile(keyringKeyFile, `${key}\n`, { mode: 0o600 })
  return { dataDir: join(folder, 'data'), serverEnabled: true, keyringKeyFile }
}

async function removeFolder(folder: string | null): Promise<void> {
  if (folder !== null) await rm(folder, { recursive: true, force: true })
}
