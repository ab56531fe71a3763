/**
 * The secret by which a client agent's node is known: made at the first start, and with the agent's data folder for good. Servers
 * keep its hash alone.
 */
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { secretPattern } from '../domains/nodes/uplink-words.ts'
import { writeDurably } from '../lib/durable-file.ts'
import { MusterError } from '../lib/errors.ts'

const file = 'node-secret'
const secretBytes = 32

/** Durable before it is used, and readable by its owner alone. Throws `corrupt`, naming the file. */
export async function loadNodeSecret(dataFolder: string): Promise<string> {
  const path = join(dataFolder, file)
  const known = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (known !== null) {
    const secret = known.trim()
    if (secretPattern.test(secret)) return secret
    throw new MusterError('corrupt', `${path} does not hold the secret of a node`)
  }
  const secret = randomBytes(secretBytes).toString('base64url')
  await writeDurably(path, `${secret}\n`)
  return secret
}
