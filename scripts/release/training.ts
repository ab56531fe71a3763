/**
 * Has V8 compile what a start, the first requests and a change of leaders need: runs the bundle as a cluster of three, uses it, and
 * keeps the code of a server that followed and led, that took over and handed over.
 */
import { chmod, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Cluster } from '../../test/support/cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import type { HttpClient } from '../../test/support/http-client.ts'
import { allocatorLines, cacheName, cachePurposes, nodeFlags, runTool } from './project.ts'

/** Enough to come by every path of a request more than once. */
const ROUNDS = 5

/**
 * The caches are in `folder` afterwards. They serve the Node.js that runs this, and the flags of `nodeFlags`. Throws where V8
 * refuses one of them.
 */
export async function train(folder: string): Promise<void> {
  const command = [process.execPath, ...nodeFlags, join(folder, 'training.cjs')] as const
  const program = join(folder, 'training.sh')
  const cacheOf = (pid: number | '$$') => join(folder, `${pid}.cache`)
  const setCache = `export CODE_CACHE="${cacheOf('$$')}"`
  const words = command.map((word) => `'${word}'`).join(' ')
  await writeFile(
    program,
    ['#!/bin/sh', ...allocatorLines, setCache, `exec ${words} "$@"`, ''].join('\n'),
  )
  await chmod(program, 0o755)
  const cluster = await Cluster.start({ program })
  try {
    const server = await live(cluster)
    const pid = cluster.server(server).pid ?? 0
    process.kill(pid, 'SIGUSR2')
    await eventually('the code is kept', () => stat(cacheOf(pid)).catch(() => undefined))
    await rename(cacheOf(pid), join(folder, cacheName('agent')))
    // Like most commands it asks a server and prints what it says.
    const [node, ...before] = command
    const address = `http://127.0.0.1:${cluster.server(server).spec.ports.http}`
    const key = ['kv', 'get', '-address', address, 'training/lock']
    const env = { CODE_CACHE: join(folder, cacheName('command')) }
    await runTool([node], [...before, ...key], { env })
    for (const purpose of cachePurposes) {
      const tried = { TRIED_CACHE: join(folder, cacheName(purpose)) }
      await runTool([node], [...before, 'version'], { env: tried })
    }
  } finally {
    await cluster.stop()
    await rm(program)
  }
}

/** Returns the server that has come by everything. */
async function live(cluster: Cluster): Promise<number> {
  for (const at of cluster.all) await use(cluster, at)
  const first = await cluster.waitForLeader()
  await cluster.terminate(first)
  const second = await cluster.waitForLeader({ except: first })
  await cluster.server(first).start()
  await cluster.waitUntilReady()
  await use(cluster, second)
  await cluster.http(second).json('PUT', '/v1/operator/raft/transfer-leadership')
  const third = await cluster.waitForLeader({ except: second })
  await use(cluster, second)
  await cluster.kill(third)
  await cluster.waitForLeader({ except: third })
  await use(cluster, second)
  await cluster.server(third).start()
  await cluster.waitUntilReady()
  await use(cluster, second)
  return second
}

/** What most clients do. */
async function use(cluster: Cluster, at: number): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) await useOnce(cluster.http(at))
}

async function useOnce(api: HttpClient): Promise<void> {
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

async function ask(api: HttpClient, method: string, path: string, body?: string): Promise<string> {
  const reply = await api.request(method, path, body === undefined ? {} : { body })
  const text = reply.body.toString()
  if (![200, 404, 503].includes(reply.status)) {
    throw new Error(`${method} ${path}: ${reply.status} ${text}`)
  }
  return text
}
