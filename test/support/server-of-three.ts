/**
 * Three whole servers in this process, which reach one another over the loopback interface: for what takes a leader and
 * followers, but no death, no pause and no fault between servers.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { systemClock } from '../../src/lib/clock.ts'
import { systemRandom } from '../../src/lib/random.ts'
import { loadConfig } from '../../src/process/config.ts'
import { createLog } from '../../src/process/logging.ts'
import { startServer } from '../../src/server/server.ts'
import { eventually } from './eventually.ts'
import { freePorts } from './free-ports.ts'
import { HttpClient } from './http-client.ts'

const size = 3

export type ServerOfThree = {
  /** One for each server. */
  readonly clients: readonly HttpClient[]
  /** Clients of the server that leads, and of one that follows. */
  readonly leader: HttpClient
  readonly follower: HttpClient
}

/** `config`: beside what each server needs to be one of three. Resolves once they have a leader; ended with the test. */
export async function serverOfThree(
  t: Test,
  config: Readonly<Record<string, unknown>> = {},
): Promise<ServerOfThree> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-three-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const ports = await freePorts(3 * size)
  const rpcPorts = ports.slice(0, size)
  const peers = rpcPorts.map((port, at) => `s${at + 1}=127.0.0.1:${port}`)
  const clients: HttpClient[] = []
  let log = ''
  for (const [at, rpc] of rpcPorts.entries()) {
    const name = `s${at + 1}`
    const [http = 0, ops = 0] = ports.slice(size + 2 * at)
    const path = join(folder, `${name}.json`)
    const whole = {
      name,
      data_dir: join(folder, name),
      bind_addr: '127.0.0.1',
      ports: { http, rpc, ops },
      server: { enabled: true, bootstrap_expect: size, peers },
      ...config,
    }
    await mkdir(join(folder, name))
    await writeFile(path, JSON.stringify(whole))
    const read = await loadConfig([path])
    const { logger, tap } = createLog({
      name,
      level: 'info',
      json: false,
      sink: { write: (text) => void (log += text) },
      wallMs: () => systemClock.wallMs(),
      soon: (run) => void setImmediate(run),
    })
    const server = await startServer(read, {
      logger,
      logTap: tap,
      origin: { version: '0.0.0', dev: false, files: [path] },
      clock: systemClock,
      random: systemRandom,
      onFatal: (error) => {
        throw error
      },
      reload: () => Promise.resolve(),
    })
    const client = new HttpClient(http)
    clients.push(client)
    t.teardown(async () => {
      client.close()
      await server.stop()
      if (!t.passing()) t.comment(log)
    })
  }
  const led = await eventually('a leader that all know', async () => {
    const seen = await Promise.all(
      clients.map((client) => client.json('GET', '/v1/status/leader').catch(() => '')),
    )
    return seen[0] !== '' && seen.every((one) => one === seen[0]) ? String(seen[0]) : undefined
  })
  const at = rpcPorts.findIndex((port) => led.endsWith(`:${port}`))
  const [leader, follower] = [clients[at], clients[(at + 1) % size]]
  if (leader === undefined || follower === undefined) throw new Error(`${led} is none of them`)
  return { clients, leader, follower }
}
