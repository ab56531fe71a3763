/**
 * Has V8 compile what a start and the first requests need: runs the bundle as a `-dev` agent, uses it, and keeps the code.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { allocator, cacheName, nodeFlags, runTool } from './project.ts'

const START_MS_MAX = 60_000
const CACHE_MS_MAX = 30_000
const POLL_MS = 20
/** Enough to come by every path of a request more than once. */
const ROUNDS = 5

/** The caches are in `folder` afterwards. They serve the Node.js that runs this, and the flags of `nodeFlags`. */
export async function train(folder: string): Promise<void> {
  const program = [...nodeFlags, join(folder, 'training.cjs')]
  const cacheFile = join(folder, cacheName('agent'))
  const child = spawn(process.execPath, [...program, 'agent', '-dev'], {
    env: { ...process.env, ...allocator, CODE_CACHE: cacheFile },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit')
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  try {
    const api = await until(START_MS_MAX, async () => {
      if (child.exitCode !== null) throw new Error('the agent ended')
      const address = / started: http=(\S+)/.exec(output)?.[1]
      const leads = output.includes('this server leads')
      return address === undefined || !leads ? null : `http://${address}`
    })
    for (let round = 0; round < ROUNDS; round += 1) await use(api)
    child.kill('SIGUSR2')
    await until(CACHE_MS_MAX, () => stat(cacheFile).catch(() => null))
    // Like most commands it asks a server and prints what it says.
    await runTool([process.execPath], [...program, 'kv', 'get', '-address', api, 'training/lock'], {
      env: { CODE_CACHE: join(folder, cacheName('command')) },
    })
    child.kill('SIGTERM')
    await exited
  } catch (error) {
    child.kill('SIGKILL')
    throw new Error(`the bundle could not be tried:\n${output}`, { cause: error })
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
