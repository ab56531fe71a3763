/**
 * Three whole servers in this process, which reach one another over the loopback interface: for what takes a leader and
 * followers, but no death, no pause and no fault between servers.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { systemClock, type Clock } from '../../src/lib/clock.ts'
import { systemRandom } from '../../src/lib/random.ts'
import { loadConfig } from '../../src/process/config.ts'
import { createLog } from '../../src/process/logging.ts'
import { startServer } from '../../src/server/server.ts'
import { checkReplies } from './check-replies.ts'
import type { ClusterOptions } from './cluster.ts'
import { freePorts } from './free-ports.ts'
import { HttpClient } from './http-client.ts'
import type { ServerPorts } from './server-process.ts'
import { Servers, type ServerSeen } from './servers.ts'

/** As for real processes; `config` may have any key beside those that make the servers one cluster. */
export type ServerOfThreeOptions = Pick<
  ClusterOptions,
  'servers' | 'gossip' | 'prefix' | 'config' | 'server' | 'raft' | 'writeFirst'
>

const portsPerServer = 4
const logLinesShown = 200

export class ServerOfThree extends Servers {
  readonly servers: readonly ServerSeen[]
  readonly #clients: readonly HttpClient[]

  constructor(servers: readonly ServerSeen[]) {
    super()
    this.servers = servers
    this.#clients = servers.map(({ spec }) => new HttpClient(spec.ports.http))
  }

  server(at: number): ServerSeen {
    return known(this.servers, at)
  }

  http(at: number): HttpClient {
    return known(this.#clients, at)
  }

  close(): void {
    for (const client of this.#clients) client.close()
  }
}

function known<T>(list: readonly T[], at: number): T {
  const found = list[at]
  if (found === undefined) throw new RangeError(`no server ${at}`)
  return found
}

/** Resolves once every server takes writes; stopped with the test, their log shown when it fails. */
export async function serverOfThree(
  t: Test,
  options: ServerOfThreeOptions = {},
): Promise<ServerOfThree> {
  const { servers: size = 3, gossip = false, prefix = 's', config = {} } = options
  await checkReplies(t)
  const folder = await mkdtemp(join(tmpdir(), 'muster-three-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const servers = await Promise.all(
    Array.from({ length: size }, async (_, at) => {
      return { spec: { name: `${prefix}${at + 1}`, ports: await serverPorts() }, running: true }
    }),
  )
  const block = {
    enabled: true,
    bootstrap_expect: size,
    ...(gossip
      ? { retry_join: [`127.0.0.1:${servers[0]?.spec.ports.gossip}`] }
      : { peers: servers.map(({ spec }) => `${spec.name}=127.0.0.1:${spec.ports.rpc}`) }),
    raft: options.raft ?? {},
    ...options.server,
  }
  const clock = new ClockToEnd()
  const log: string[] = []
  const stops: (() => Promise<void>)[] = []
  const three = new ServerOfThree(servers)
  t.teardown(async () => {
    three.close()
    clock.hurry()
    await Promise.all(stops.map((stop) => stop()))
    if (!t.passing()) t.comment(log.join('').split('\n').slice(-logLinesShown).join('\n'))
  })
  for (const { spec } of servers) {
    const path = join(folder, `${spec.name}.json`)
    const whole = { data_dir: join(folder, spec.name), bind_addr: '127.0.0.1', ...config }
    await mkdir(whole.data_dir)
    await writeFile(path, JSON.stringify({ ...whole, ...spec, server: block }))
    stops.push(await startHere(path, { name: spec.name, clock, log }))
  }
  await three.waitForLeader()
  if (options.writeFirst !== false) await three.waitUntilReady()
  return three
}

type Here = { readonly name: string; readonly clock: Clock; readonly log: string[] }

/** Resolves with what stops it. */
async function startHere(path: string, { name, clock, log }: Here): Promise<() => Promise<void>> {
  const { logger, tap } = createLog({
    name,
    level: 'info',
    json: false,
    sink: { write: (text) => void log.push(text) },
    wallMs: () => systemClock.wallMs(),
    soon: (run) => void setImmediate(run),
  })
  const read = () => loadConfig([path])
  const server = await startServer(await read(), {
    logger,
    logTap: tap,
    origin: { version: '0.0.0', dev: false, files: [path] },
    clock,
    random: systemRandom,
    onFatal: (error) => {
      throw error
    },
    reload: () => server.reload(read).then(() => null),
  })
  return () => server.stop()
}

/** Real time until the end, which would be mostly a leader's wait for a successor that stops as well. */
class ClockToEnd implements Clock {
  #sinceMs = Infinity
  readonly #factor = 20

  hurry(): void {
    this.#sinceMs = systemClock.monotonicMs()
  }

  monotonicMs(): number {
    const nowMs = systemClock.monotonicMs()
    return nowMs + Math.max(0, nowMs - this.#sinceMs) * (this.#factor - 1)
  }

  wallMs(): number {
    return systemClock.wallMs()
  }

  setTimer(delayMs: number, run: () => void) {
    return systemClock.setTimer(this.#sinceMs === Infinity ? delayMs : delayMs / this.#factor, run)
  }
}

async function serverPorts(): Promise<ServerPorts> {
  const [http = 0, rpc = 0, gossip = 0, ops = 0] = await freePorts(portsPerServer)
  return { http, rpc, gossip, ops }
}
