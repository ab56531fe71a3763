/**
 * What every process of a cluster runs, server or client agent: its id, listeners, audit log, reload, what is shown of its
 * configuration. `runtime` may import `lib`, `gossip`, `metrics`, what of `api` listens and what `domains` show; `server`,
 * `client-agent` and `process` import it.
 *
 * This file: the id. It is made once and lives in the data folder, because a server that lost its disk must not come back
 * under the old id: it might vote twice in one term. A client agent's node is known by it.
 */
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeDurably } from '../lib/durable-file.ts'
import { MusterError } from '../lib/errors.ts'

export type NodeKind = 'server' | 'client'

const formatVersion = 1
export const idPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Reads the id, or makes one that is durable before it is used. Throws `corrupt` or `incompatible`, naming the file. */
export async function loadNodeId(dataFolder: string, kind: NodeKind): Promise<string> {
  const known = await readNodeId(dataFolder, kind)
  if (known !== null) return known
  const id = randomUUID()
  const text = `${JSON.stringify({ version: formatVersion, id })}\n`
  await writeDurably(join(dataFolder, fileOf(kind)), text)
  return id
}

/** Null: no member of this kind ever had this folder. */
export async function readNodeId(dataFolder: string, kind: NodeKind): Promise<string | null> {
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

function parse(text: string, path: string, kind: NodeKind): string {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new MusterError('corrupt', `${path} is not JSON: it should hold this ${kind}'s id`, {
      cause: error,
    })
  }
  if (typeof value === 'object' && value !== null && 'version' in value && 'id' in value) {
    const { version, id } = value
    if (typeof version === 'number' && version > formatVersion) {
      throw new MusterError(
        'incompatible',
        `${path} is of format ${version}, written by a newer program; this one knows ${formatVersion}`,
      )
    }
    if (version === formatVersion && typeof id === 'string' && idPattern.test(id)) return id
  }
  throw new MusterError('corrupt', `${path} does not hold a ${kind} id`)
}
