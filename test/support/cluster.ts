/**
 * A cluster of real server processes on loopback, to be broken: killed, stopped, paused, cut off, slowed down.
 * Servers count from 0. Nothing outlives the test: a guard process kills the servers and removes their files
 * even when the test process itself is killed.
 */
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { checkReplies } from './check-replies.ts'
import { endTasks } from './end-tasks.ts'
import { eventually, type Patience } from './eventually.ts'
import { freePorts } from './free-ports.ts'
import { startGuard } from './guard.ts'
import { HttpClient } from './http-client.ts'
import { Network } from './network.ts'
import { ServerProcess, type ServerPorts, type ServerSpec } from './server-process.ts'
import { Servers } from './servers.ts'

export type ClusterOptions = {
  /** 3 unless said. */
  readonly servers?: number
  /** A fault proxy on every directed pair. */
  readonly proxies?: boolean
  /** Servers find one another by gossip, all through the first, instead of by a list of peers; with `proxies` there are both. */
  readonly gossip?: boolean
  /** Names of servers are this and a number from 1; `s` unless said. */
  readonly prefix?: string
  /** Keys of the configuration, beside `server` and those that make the cluster. */
  readonly config?: Readonly<Record<string, unknown>>
  /** Keys of `server` in the configuration, beside those that make the cluster. */
  readonly server?: Readonly<Record<string, unknown>>
  /** Keys of `server.raft` in the configuration. */
  readonly raft?: Readonly<Record<string, unknown>>
  /** Unless false, waits until each server has taken a write: not where access control would refuse it. */
  readonly writeFirst?: boolean
  readonly logLevel?: 'trace' | 'debug' | 'info' | 'warn' | 'error'
  /** Of the random faults. */
  readonly seed?: number
  /** The parent of the cluster's folder; the system's temporary folder unless said. */
  readonly parentFolder?: string
  /** What each server runs; this project's own program unless said. */
  readonly program?: string
  /** The authority in PEM of servers whose API speaks HTTPS. */
  readonly ca?: string
  /** Keys of one server's configuration, over `config`. */
  readonly configOf?: (at: number) => Readonly<Record<string, unknown>>
  /** Called with each server before any is started. */
  readonly prepare?: (server: ServerProcess, at: number) => Promise<void>
}

/**
 * `raft` of a cluster whose leader should stay: two tests at a time may hold a server up for longer than the timeout that
 * servers choose of themselves.
 */
export const steadyLeadership = { election_timeout: '2s' } as const

const portsPerServer = 4
const logLinesShown = 60
const logLinesSearched = 5_000

export class Cluster extends Servers {
  readonly folder: string
  readonly servers: ServerProcess[]
  readonly #network: Network | null
  readonly #prefix: string
  readonly #clients: HttpClient[]
  readonly #guard: ChildProcess
  readonly #ca: string | undefined

  private constructor(
    folder: string,
    prefix: string,
    servers: readonly ServerProcess[],
    network: Network | null,
    guard: ChildProcess,
    ca: string | undefined,
  ) {
    super()
    this.folder = folder
    this.#ca = ca
    this.#prefix = prefix
    this.servers = [...servers]
    this.#network = network
    this.#clients = servers.map((server) => this.#clientOf(server))
    this.#guard = guard
  }

  #clientOf({ spec }: ServerProcess): HttpClient {
    return new HttpClient(spec.ports.http, undefined, undefined, this.#ca)
  }

  /** Starts one more server that finds the others by gossip. Returns its number, at once. */
  async add(server: Readonly<Record<string, unknown>> = {}): Promise<number> {
    const at = this.size
    const [first] = this.servers
    if (first === undefined) throw new Error('a cluster has a server')
    const process = new ServerProcess({
      ...first.spec,
      name: `${this.#prefix}${at + 1}`,
      ports: await serverPorts(),
      config: {
        ...first.spec.config,
        server: {
          ...(first.spec.config['server'] as object),
          bootstrap_expect: 0,
          ...server,
        },
      },
    })
    this.servers.push(process)
    this.#clients.push(this.#clientOf(process))
    await process.start()
    return at
  }

  /** Kills the server, if it runs, and starts it with its data on other ports. */
  async move(at: number): Promise<void> {
    await this.kill(at)
    await this.#startAs(at, { ...this.server(at).spec, ports: await serverPorts() })
  }

  async #startAs(at: number, spec: ServerSpec): Promise<void> {
    const server = new ServerProcess(spec)
    this.http(at).close()
    this.servers[at] = server
    this.#clients[at] = this.#clientOf(server)
    await server.start()
  }

  /** Resolves once every server takes writes and reads back what is encrypted. */
  static async start(options: ClusterOptions = {}): Promise<Cluster> {
    const { servers: size = 3, proxies = false, logLevel = 'info', seed = 1 } = options
    const { prefix = 's', config = {}, server: extra = {}, raft = {} } = options
    const folder = await mkdtemp(join(options.parentFolder ?? tmpdir(), 'muster-cluster-'))
    const pidFile = join(folder, 'pids')
    await writeFile(pidFile, '')
    const guard = guardProcesses(folder, pidFile)
    const ports = await Promise.all(Array.from({ length: size }, () => serverPorts()))
    const addresses = ports.map(({ rpc }) => `127.0.0.1:${rpc}`)
    const joinAt = [`127.0.0.1:${ports[0]?.gossip ?? 0}`]
    const network = proxies ? await Network.start(addresses, seed) : null
    const servers = ports.map((own, at) => {
      const peers = addresses.map((address, other) => {
        const seen = network === null || other === at ? address : network.addressFor(at, other)
        return `${prefix}${other + 1}=${seen}`
      })
      return new ServerProcess({
        name: `${prefix}${at + 1}`,
        folder,
        ports: own,
        pidFile,
        ...(options.program !== undefined && { program: options.program }),
        config: {
          ...config,
          ...options.configOf?.(at),
          log_level: logLevel,
          server: {
            enabled: true,
            bootstrap_expect: size,
            ...(options.gossip === true && { retry_join: joinAt }),
            ...((options.gossip !== true || proxies) && { peers }),
            raft,
            ...extra,
          },
        },
      })
    })
    const cluster = new Cluster(folder, prefix, servers, network, guard, options.ca)
    try {
      for (const [at, server] of servers.entries()) await options.prepare?.(server, at)
      for (const server of servers) await server.start()
      await cluster.waitForLeader()
      if (options.writeFirst !== false) await cluster.waitUntilReady()
      return cluster
    } catch (error) {
      const logs = await cluster.logs()
      await cluster.stop()
      throw new Error(`the cluster did not start\n${logs}`, { cause: error })
    }
  }

  server(at: number): ServerProcess {
    const server = this.servers[at]
    if (server === undefined) throw new RangeError(`no server ${at}`)
    return server
  }

  http(at: number): HttpClient {
    const client = this.#clients[at]
    if (client === undefined) throw new RangeError(`no server ${at}`)
    return client
  }

  /** Faults between servers; only with `proxies`. */
  get network(): Network {
    if (this.#network === null) throw new Error('this cluster was started without proxies')
    return this.#network
  }

  async kill(at: number): Promise<void> {
    await this.server(at).kill()
  }

  async terminate(at: number): Promise<void> {
    await this.server(at).terminate()
  }

  pause(at: number): void {
    this.server(at).pause()
  }

  resume(at: number): void {
    this.server(at).resume()
  }

  /** Starts a stopped server, or kills and starts a running one. */
  async restart(at: number): Promise<void> {
    await this.kill(at)
    await this.server(at).start()
  }

  /** Stops the server in order, and starts it with these keys of its configuration instead of those it had. */
  async reconfigure(at: number, config: Readonly<Record<string, unknown>>): Promise<void> {
    await this.terminate(at)
    const { spec } = this.server(at)
    await this.#startAs(at, { ...spec, config: { ...spec.config, ...config } })
  }

  /** Stops the server in order, if it runs, and starts another program with its data. */
  async startProgram(at: number, program: string): Promise<void> {
    if (this.server(at).running) await this.terminate(at)
    await this.#startAs(at, { ...this.server(at).spec, program })
  }

  /** As `reconfigure`, for keys of `server`. */
  async reconfigureServer(at: number, server: Readonly<Record<string, unknown>>): Promise<void> {
    const before = this.server(at).spec.config['server'] as object
    await this.reconfigure(at, { server: { ...before, ...server } })
  }

  /** Kills the server, if it runs, and empties its disk. */
  async wipe(at: number): Promise<void> {
    await this.kill(at)
    await this.server(at).wipe()
  }

  /** Waits until server `at` has a line like this in its log. */
  async logged(at: number, pattern: RegExp, patience: Patience = {}): Promise<void> {
    await eventually(
      `server ${at} logs ${pattern.source}`,
      async () => {
        const text = await this.server(at).logTail(logLinesSearched)
        return pattern.test(text) ? true : undefined
      },
      patience,
    )
  }

  /** The ends of all log files. */
  async logs(lines = logLinesShown): Promise<string> {
    const tails = this.servers.map(
      async (server) => `--- ${server.spec.name}\n${await server.logTail(lines)}`,
    )
    return (await Promise.all(tails)).join('\n')
  }

  /** Kills everything and removes the folder. */
  async stop(): Promise<void> {
    for (const client of this.#clients) client.close()
    await Promise.all(this.servers.map((server) => server.kill()))
    await this.#network?.stop()
    this.#guard.kill('SIGKILL')
    await endTasks(this.folder)
    await rm(this.folder, { recursive: true, force: true })
  }
}

/** A cluster for one test: stopped with it, its logs shown when it fails. */
export async function startCluster(t: Test, options: ClusterOptions = {}): Promise<Cluster> {
  await checkReplies(t)
  const cluster = await Cluster.start(options)
  t.teardown(async () => {
    if (!t.passing()) t.comment(await cluster.logs())
    await cluster.stop()
  })
  return cluster
}

/**
 * One cluster for tests of a file that break nothing, or mend what they broke: begun by the first of them, stopped with the
 * file. To start three servers is two seconds of work.
 */
export function sharedCluster(file: Test, options: ClusterOptions = {}): () => Promise<Cluster> {
  let started: Promise<Cluster> | null = null
  return () => (started ??= startCluster(file, options))
}

async function serverPorts(): Promise<ServerPorts> {
  const [http, rpc, gossip, ops] = await freePorts(portsPerServer)
  if (http === undefined || rpc === undefined || gossip === undefined || ops === undefined) {
    throw new Error('no ports')
  }
  return { http, rpc, gossip, ops }
}

/** Kills the processes and removes the folder; `stop` kills the guard before it acts. */
export function guardProcesses(folder: string, pidFile: string): ChildProcess {
  const script = 'while read -r pid; do kill -9 "$pid"; done <"$1"; rm -rf "$2"'
  return startGuard(script, pidFile, folder)
}
