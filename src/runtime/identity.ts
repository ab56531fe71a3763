/**
 * What every process of a cluster runs, server or client agent: its id, listeners, audit log, reload, what is shown of its
 * configuration.
 *
 * This file: the id. It is made once and lives in the data folder, because a server that lost its disk must not come back
 * under the old id: it might vote twice in one term. A client agent's node is known by it.
 */
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeDurably } from '../lib/durable-file.ts'
import { MusterError } from '../lib/errors.ts'
import { namesIn } from '../lib/folder-names.ts'
import { uuidPattern } from '../lib/uuid.ts'

export type NodeKind = 'server' | 'client'

const formatVersion = 1

/** `hasLog`: it is a server that has written to its Raft log, which therefore has to be there. */
export type Identity = { readonly id: string; readonly hasLog: boolean }

/**
 * Reads the id, or makes one that is durable before it is used. Throws `corrupt` or `incompatible`, naming the file, and `corrupt` where
 * a log is there and its server's id is not, or what a node has and its id is not.
 */
export async function loadIdentity(dataFolder: string, kind: NodeKind): Promise<Identity> {
  const known = await readIdentity(dataFolder, kind)
  if (known !== null) return known
  if (kind === 'server' && (await namesIn(join(dataFolder, 'raft'))).length > 0) {
    throw new MusterError(
      'corrupt',
      `${dataFolder} has a Raft log (raft) and no ${fileOf(kind)}, which says whose it is: ${whatToDo(kind)}`,
    )
  }
  if (kind === 'client') await refuseSecondNode(dataFolder)
  const identity = { id: randomUUID(), hasLog: false }
  await writeIdentity(dataFolder, kind, identity)
  return identity
}

/** Under another id the agent would end all that runs here as work that is not its own. */
async function refuseSecondNode(dataFolder: string): Promise<void> {
  const names = await namesIn(dataFolder)
  const states = (await namesIn(join(dataFolder, 'allocation-state'))).filter((name) =>
    name.endsWith('.json'),
  )
  const traces = [
    ...(names.includes('node-secret') ? ['the secret of a node (node-secret)'] : []),
    ...(states.length > 0 ? ['states of allocations (allocation-state)'] : []),
  ]
  if (traces.length === 0) return
  throw new MusterError(
    'corrupt',
    `${dataFolder} has ${traces.join(' and ')} and no ${fileOf('client')}, which says whose they are: put that file back, or move the folder away to join as a new node`,
  )
}

export async function writeIdentity(
  dataFolder: string,
  kind: NodeKind,
  { id, hasLog }: Identity,
): Promise<void> {
  const value = { version: formatVersion, id, ...(hasLog ? { hasLog } : {}) }
  await writeDurably(join(dataFolder, fileOf(kind)), `${JSON.stringify(value)}\n`)
}

/** Null: no member of this kind ever had this folder. */
export async function readIdentity(dataFolder: string, kind: NodeKind): Promise<Identity | null> {
  const path = join(dataFolder, fileOf(kind))
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  return text === null ? null : parse(text, path, kind)
}

function fileOf(kind: NodeKind): string {
  return `${kind}.json`
}

function whatToDo(kind: NodeKind): string {
  return `put that file back, or move the data folder away and start as a new ${kind}`
}

function parse(text: string, path: string, kind: NodeKind): Identity {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new MusterError(
      'corrupt',
      `${path} is not JSON, and should hold this ${kind}'s id: ${whatToDo(kind)}`,
      {
        cause: error,
      },
    )
  }
  if (typeof value === 'object' && value !== null && 'version' in value && 'id' in value) {
    const { version, id } = value
    if (typeof version === 'number' && version > formatVersion) {
      throw new MusterError(
        'incompatible',
        `${path} is of format ${version}, written by a newer program; this one knows ${formatVersion}`,
      )
    }
    if (version === formatVersion && typeof id === 'string' && uuidPattern.test(id)) {
      return { id, hasLog: 'hasLog' in value && value.hasLog === true }
    }
  }
  throw new MusterError('corrupt', `${path} does not hold a ${kind} id: ${whatToDo(kind)}`)
}
