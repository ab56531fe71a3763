/**
 * Finds out before the start whether ports are free, and who has them if not.
 */
import { readdir, readFile, readlink } from 'node:fs/promises'
import { createServer } from 'node:net'
import { HOST, type AgentPlan } from './options.ts'

export type TakenPort = { readonly port: number; readonly what: string; readonly owner: string }

export async function takenPorts(plans: readonly AgentPlan[]): Promise<readonly TakenPort[]> {
  const taken: TakenPort[] = []
  for (const plan of plans) {
    for (const [listener, port] of Object.entries(plan.ports)) {
      if (await isFree(port)) continue
      taken.push({ port, what: `${listener} of ${plan.name}`, owner: await ownerOf(port) })
    }
  }
  return taken
}

export function takenPortsText(taken: readonly TakenPort[]): string {
  const lines = taken.map(({ port, what, owner }) => `  ${port} (${what}): taken by ${owner}`)
  return `Ports are taken:\n${lines.join('\n')}\nStop what has them, or choose others: npm start -- --base-port 14646 --data .muster/other (npm start -- --help says more)`
}

export async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  return await new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, HOST, () => server.close(() => resolve(true)))
  })
}

/** `process 123 (muster agent …)` where the system tells, else `another process`. */
async function ownerOf(port: number): Promise<string> {
  const unknown = 'another process'
  const inodes = await listeningInodes(port)
  if (inodes.size === 0) return unknown
  for (const pid of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(pid)) continue
    for (const handle of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const target = await readlink(`/proc/${pid}/fd/${handle}`).catch(() => '')
      const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1]
      if (inode === undefined || !inodes.has(inode)) continue
      const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
      return `process ${pid} (${command.replaceAll('\0', ' ').trim().slice(0, 100)})`
    }
  }
  return unknown
}

async function listeningInodes(port: number): Promise<ReadonlySet<string>> {
  const listening = '0A'
  const wanted = port.toString(16).toUpperCase().padStart(4, '0')
  const inodes = new Set<string>()
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    const text = await readFile(table, 'utf8').catch(() => '')
    for (const line of text.split('\n').slice(1)) {
      const columns = line.trim().split(/\s+/)
      const [, local, , state] = columns
      const inode = columns[9]
      if (state === listening && local?.endsWith(`:${wanted}`) === true && inode !== undefined) {
        inodes.add(inode)
      }
    }
  }
  return inodes
}
