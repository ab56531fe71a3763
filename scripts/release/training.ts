/**
 * Has V8 compile what a start and the first requests need: runs the bundle as three servers, uses one of them as the leader and
 * as a follower, and keeps its code. V8 keeps in it, too, which functions were worth optimizing, and optimizes those after 30
 * calls instead of hundreds, so that the run is long enough for that.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePorts } from '../../test/support/free-ports.ts'
import { allocator, cacheName, nodeFlags, runTool } from './project.ts'

const START_MS_MAX = 60_000
const CACHE_MS_MAX = 60_000
const POLL_MS = 20
/** Each of most requests that there are, then of those that come most often; in each role of the server. */
const ROUNDS = 60
const WRITES = 1_500
const SERVERS = 3

type Server = {
  readonly child: ChildProcess
  readonly api: string
  /** host:port */
  readonly rpc: string
  readonly output: () => string
}

/** The caches are in `folder` afterwards. They serve the Node.js that runs this, and the flags of `nodeFlags`. */
export async function train(folder: string): Promise<void> {
  const program = [...nodeFlags, join(folder, 'training.cjs')]
  const cacheFile = join(folder, cacheName('agent'))
  const data = await mkdtemp(join(tmpdir(), 'muster-training-'))
  const servers: Server[] = []
  try {
    servers.push(...(await startServers(program, data, cacheFile)))
    await until(START_MS_MAX, () => isCluster(servers))
    const [trained] = servers
    if (trained === undefined) throw new Error('there are servers')
    const { api, child } = trained
    await lead(trained)
    await useMuch(api)
    await ask(api, 'POST', '/v1/operator/raft/transfer-leader')
    await until(START_MS_MAX, async () => ((await leaderOf(api)) === trained.rpc ? null : true))
    await useMuch(api)
    child.kill('SIGUSR2')
    await until(CACHE_MS_MAX, () => stat(cacheFile).catch(() => null))
    // Like most commands it asks a server and prints what it says.
    await runTool([process.execPath], [...program, 'kv', 'get', '-address', api, 'training/lock'], {
      env: { CODE_CACHE: join(folder, cacheName('command')) },
    })
  } catch (error) {
    const outputs = servers.map(({ output }) => output()).join('\n')
    throw new Error(`the bundle could not be tried:\n${outputs}`, { cause: error })
  } finally {
    for (const { child } of servers) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    }
    await rm(data, { recursive: true, force: true })
  }
}

/** The first one keeps its code. */
async function startServers(
  program: readonly string[],
  data: string,
  cacheFile: string,
): Promise<readonly Server[]> {
  const ports = await freePorts(SERVERS * 4)
  const servers: Server[] = []
  for (let at = 0; at < SERVERS; at += 1) {
    const [http = 0, rpc = 0, gossip = 0, ops = 0] = ports.slice(at * 4)
    const config = {
      name: `s${at + 1}`,
      data_dir: join(data, `s${at + 1}`),
      bind_addr: '127.0.0.1',
      ports: { http, rpc, gossip, ops },
      server: {
        enabled: true,
        bootstrap_expect: SERVERS,
        retry_join: [`127.0.0.1:${ports[2]}`],
      },
    }
    const file = join(data, `s${at + 1}.json`)
    await writeFile(file, JSON.stringify(config))
    const child = spawn(process.execPath, [...program, 'agent', '-config', file], {
      env: { ...process.env, ...allocator, CODE_CACHE: at === 0 ? cacheFile : '' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    }
    const api = `http://127.0.0.1:${http}`
    servers.push({ child, api, rpc: `127.0.0.1:${rpc}`, output: () => output })
  }
  return servers
}

async function isCluster(servers: readonly Server[]): Promise<true | null> {
  if (servers.some(({ child }) => child.exitCode !== null)) throw new Error('a server ended')
  const leaders = await Promise.all(servers.map(({ api }) => leaderOf(api)))
  const [first] = leaders
  return first && leaders.every((leader) => leader === first) ? true : null
}

async function lead({ api, rpc }: Server): Promise<void> {
  await until(START_MS_MAX, async () => {
    if ((await leaderOf(api)) === rpc) return true
    await ask(api, 'POST', `/v1/operator/raft/transfer-leader?address=${rpc}`)
    return null
  })
}

/** '' while there is none. */
async function leaderOf(api: string): Promise<string> {
  const text = await ask(api, 'GET', '/v1/status/leader').catch(() => '""')
  const address: unknown = JSON.parse(text)
  return typeof address === 'string' ? address : ''
}

async function useMuch(api: string): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) await use(api)
  for (let write = 0; write < WRITES; write += 1) {
    await ask(api, 'PUT', `/v1/kv/training/${write % 100}`, 'x'.repeat(200))
    if (write % 3 === 0) await ask(api, 'GET', `/v1/kv/training/${write % 100}`)
    if (write % 3 === 1) await ask(api, 'PUT', '/v1/var/training/row', '{"Items": {"a": "b"}}')
  }
}

/** What most clients do. */
async function use(api: string): Promise<void> {
  const session = await ask(api, 'PUT', '/v1/session/create', '{"TTL": "30s"}')
  const id = /[0-9a-f-]{36}/.exec(session)?.[0] ?? ''
  await ask(api, 'PUT', `/v1/kv/training/lock?acquire=${id}`, 'held')
  await ask(api, 'GET', '/v1/kv/training/lock')
  await ask(api, 'GET', '/v1/kv/training/lock?stale')
  await ask(api, 'GET', '/v1/kv/training/lock?consistent')
  await ask(api, 'GET', '/v1/kv/training/?recurse')
  await ask(api, 'PUT', `/v1/session/renew/${id}`)
  await ask(api, 'PUT', `/v1/session/destroy/${id}`)
  await ask(api, 'PUT', '/v1/var/training/row', '{"Items": {"password": "none"}}')
  await ask(api, 'GET', '/v1/var/training/row')
  await ask(api, 'GET', '/v1/vars?prefix=training/')
  await ask(api, 'GET', '/v1/status/leader')
  await ask(api, 'GET', '/v1/catalog/nodes')
  await ask(api, 'GET', '/v1/agent/health')
}

async function ask(api: string, method: string, path: string, body?: string): Promise<string> {
  const response = await fetch(`${api}${path}`, { method, ...(body !== undefined && { body }) })
  const text = await response.text()
  if (!response.ok && response.status !== 404 && response.status !== 503) {
    throw new Error(`${method} ${path}: ${response.status} ${text}`)
  }
  return text
}

async function until<T>(limitMs: number, look: () => Promise<T | null>): Promise<T> {
  const deadline = performance.now() + limitMs
  for (;;) {
    const found = await look()
    if (found !== null) return found
    if (performance.now() > deadline) throw new Error(`not within ${limitMs / 1000} s`)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}
