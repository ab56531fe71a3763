/**
 * `muster operator raft recover` on this machine: claims the data folder of a stopped server as the server itself would,
 * has the recovery planned, and asks the other servers' ports whether they are as gone as the operator believes.
 */
import { open, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { textOf, MusterError } from '../lib/errors.ts'
import { readIdentity } from '../runtime/identity.ts'
import { peersFileBytesMax } from '../server/quorum-recovery-peers.ts'
import { performRecovery, planRecovery, type Survivors } from '../server/quorum-recovery.ts'
import { joinHostPort, loadConfig, type AgentConfig } from './config.ts'
import { parseAddress } from './config-values.ts'
import { claimDataFolder } from './data-folder.ts'

export type RecoverArguments = {
  /** Where the data folder is: in configuration files, or as it is named. */
  readonly folder:
    | { readonly type: 'config'; readonly paths: readonly string[] }
    | { readonly type: 'path'; readonly path: string }
  /** A file that names the servers; null: this one alone. */
  readonly peersFile: string | null
}

type Member = {
  readonly id: string
  readonly name: string
  readonly address: string
  readonly role: 'voter' | 'learner'
}

export type RecoverReport = {
  readonly dataFolder: string
  readonly serverId: string
  readonly before: { readonly clusterId: string; readonly members: readonly Member[] }
  readonly after: { readonly clusterId: string; readonly members: readonly Member[] }
  readonly isDone: boolean
  readonly lastIndex: number
  readonly lastTerm: number
  readonly provenIndex: number
  /** Where other servers still answer, in words. */
  readonly answering: readonly string[]
  /** Whether this server will be able to open sealed variables, as far as can be seen. */
  readonly hasClusterKey: boolean
}

export type OpenRecovery = {
  readonly report: RecoverReport
  perform(): Promise<void>
  /** Gives the data folder free. */
  close(): Promise<void>
}

const answerWaitMs = 2_000
/** Of addresses in `retry_join` that have none. */
const gossipPort = 4648

/** Throws with one line what is in the way; nothing was changed then. */
export async function openRecovery(args: RecoverArguments): Promise<OpenRecovery> {
  const config = args.folder.type === 'config' ? await loadConfig(args.folder.paths) : null
  const path = args.folder.type === 'path' ? args.folder.path : (config?.dataDir ?? '')
  const survivors = await readSurvivors(args.peersFile)
  await assertOwn(path)
  const folder = await claimDataFolder(path)
  try {
    const plan = await planRecovery(path, survivors)
    const report = {
      dataFolder: path,
      ...plan,
      answering: await whoAnswers(plan.serverId, plan.before.members, config),
      hasClusterKey: plan.holdsClusterKey || config?.server.keyringKeyFile != null,
    }
    return {
      report,
      perform: () => performRecovery(path, plan),
      close: () => folder.release(),
    }
  } catch (error) {
    await folder.release()
    throw error
  }
}

async function readSurvivors(path: string | null): Promise<Survivors> {
  if (path === null) return { type: 'self' }
  try {
    const file = await open(path, 'r')
    try {
      const { size } = await file.stat()
      if (size > peersFileBytesMax) throw new Error(`it is over ${peersFileBytesMax} bytes`)
      return { type: 'file', path, text: await file.readFile('utf8') }
    } finally {
      await file.close()
    }
  } catch (error) {
    throw new MusterError('invalid_argument', `${path}: ${textOf(error)}`, { cause: error })
  }
}

/** A server's folder, before anything is made in it; and what another user writes there the server may be unable to open. */
async function assertOwn(path: string): Promise<void> {
  const folder = await stat(path).catch(() => null)
  if (folder === null || !folder.isDirectory() || (await readIdentity(path, 'server')) === null) {
    throw new MusterError('not_found', `${path} is not the data folder of a server`)
  }
  const user = process.getuid?.()
  if (user === undefined || user === folder.uid) return
  throw new MusterError(
    'conflict',
    `${path} belongs to user ${folder.uid}, and this is user ${user}: run it as the user that the server runs as`,
  )
}

async function whoAnswers(
  selfId: string,
  members: readonly Member[],
  config: AgentConfig | null,
): Promise<readonly string[]> {
  const places = new Map<string, string>()
  for (const { id, name, address } of members) {
    if (id !== selfId) places.set(address, `${name} (${id}) at ${address}`)
  }
  for (const { name, host, port } of config?.server.peers ?? []) {
    const address = joinHostPort(host, port)
    if (!places.has(address)) places.set(address, `${name}, of server.peers, at ${address}`)
  }
  for (const address of config?.server.gossip?.retryJoin ?? []) {
    const parsed = parseAddress(address)
    if (parsed === undefined) continue
    const full = joinHostPort(parsed.host, parsed.port ?? gossipPort)
    if (!places.has(full)) places.set(full, `gossip, of server.retry_join, at ${full}`)
  }
  const asked = await Promise.all(
    [...places].map(async ([address, text]) => ((await answers(address)) ? text : null)),
  )
  return asked.filter((text) => text !== null)
}

/** Whether a TCP connection is taken there. */
async function answers(address: string): Promise<boolean> {
  const at = address.lastIndexOf(':')
  const host = address.slice(0, at).replace(/^\[(.*)\]$/, '$1')
  return await new Promise((resolve) => {
    const socket = connect({ host, port: Number(address.slice(at + 1)) })
    const settle = (taken: boolean) => {
      socket.destroy()
      resolve(taken)
    }
    socket.setTimeout(answerWaitMs, () => settle(false))
    // Where no process listens a connection may meet itself: the system chose the port it goes to.
    socket.once('connect', () => {
      const { localAddress, localPort, remoteAddress, remotePort } = socket
      settle(localPort !== remotePort || localAddress !== remoteAddress)
    })
    socket.once('error', () => settle(false))
  })
}
