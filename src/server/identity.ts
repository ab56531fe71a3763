/**
 * The composition root of a server and what belongs to no domain: who it is, how it finds its cluster, its duties
 * as a leader. May import everything but `client`, `cli` and `agent`; of ours only `agent` and `main` import it.
 *
 * This file: a server's id. It is made once and lives in the data folder, because a server that lost its disk must not
 * come back under the old id: it might vote twice in one term.
 */
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeDurably } from '../lib/durable-file.ts'
import { MusterError } from '../lib/errors.ts'

const fileName = 'server.json'
const formatVersion = 1
const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Reads the id, or makes one that is durable before it is used. Throws `corrupt` or `incompatible`, naming the file. */
export async function serverId(dataFolder: string): Promise<string> {
  const known = await readServerId(dataFolder)
  if (known !== null) return known
  const id = randomUUID()
  const text = `${JSON.stringify({ version: formatVersion, id })}\n`
  await writeDurably(join(dataFolder, fileName), text)
  return id
}

/** Null: no server ever had this folder. */
export async function readServerId(dataFolder: string): Promise<string | null> {
  const path = join(dataFolder, fileName)
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  return text === null ? null : parse(text, path)
}

function parse(text: string, path: string): string {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new MusterError('corrupt', `${path} is not JSON: it should hold this server's id`, {
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
    if (version === formatVersion && typeof id === 'string' && uuidPattern.test(id)) return id
  }
  throw new MusterError('corrupt', `${path} does not hold a server id`)
}
