/**
 * The cluster keys this server holds: 32 bytes that wrap the replicated data keys. Without one, log, state, snapshots and
 * archives are unreadable, so it lives outside of all four: in a file the operator gives (`server.keyring_key_file`),
 * or, when a leader made it, in each server's data folder (`cluster-key.json`, mode 0600).
 *
 * There may be several, after an archive of another cluster was restored. A key's id is derived from the key and tells
 * nothing about it, so the state can name the key it needs.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeDurably } from '../../lib/durable-file.ts'
import { MusterError } from '../../lib/errors.ts'
import { keyBytes } from './seal.ts'

export const clusterKeyFileName = 'cluster-key.json'
export const clusterKeyFileVersion = 1

/** Keys one server keeps. */
export const clusterKeysMax = 16

export type ClusterKey = { readonly id: string; readonly bytes: Buffer }

export function clusterKeyOf(bytes: Uint8Array): ClusterKey {
  const id = createHmac('sha256', bytes)
    .update('muster cluster key id 1')
    .digest('hex')
    .slice(0, 32)
  return { id, bytes: Buffer.from(bytes) }
}

export class ClusterKeys {
  readonly #folder: string
  readonly #configured: ClusterKey | null
  readonly #stored: Map<string, ClusterKey>
  #writing: Promise<void> = Promise.resolve()

  private constructor(
    folder: string,
    configured: ClusterKey | null,
    stored: readonly ClusterKey[],
  ) {
    this.#folder = folder
    this.#configured = configured
    this.#stored = new Map(stored.map((key) => [key.id, key]))
  }

  /**
   * `keyFile`: the operator's file, or null. Throws `invalid_argument` for a bad one, `corrupt` or `incompatible` for
   * this server's own.
   */
  static async load(folder: string, keyFile: string | null): Promise<ClusterKeys> {
    const configured = keyFile === null ? null : await readKeyFile(keyFile)
    return new ClusterKeys(folder, configured, await readStored(join(folder, clusterKeyFileName)))
  }

  get(id: string): ClusterKey | null {
    return this.#configured?.id === id ? this.#configured : (this.#stored.get(id) ?? null)
  }

  ids(): string[] {
    const configured = this.#configured === null ? [] : [this.#configured.id]
    return [...new Set([...configured, ...this.#stored.keys()])]
  }

  /** The operator's own; null: none is given. */
  get configured(): ClusterKey | null {
    return this.#configured
  }

  /** The key to begin a keyring with: the operator's, else one that was stored before, else none. */
  candidate(): ClusterKey | null {
    return this.#configured ?? this.#stored.values().next().value ?? null
  }

  /** The candidate; made and stored if there is none. */
  async candidateOrNew(): Promise<ClusterKey> {
    return this.candidate() ?? this.adopt(randomBytes(keyBytes))
  }

  /** Resolves once the key is durable in this server's folder. */
  async adopt(bytes: Uint8Array): Promise<ClusterKey> {
    if (bytes.byteLength !== keyBytes) {
      throw new MusterError('corrupt', `a cluster key has ${keyBytes} bytes`)
    }
    const key = clusterKeyOf(bytes)
    const write = this.#writing.then(async () => {
      if (this.get(key.id) !== null) return
      if (this.#stored.size >= clusterKeysMax) {
        throw new MusterError(
          'overloaded',
          `${join(this.#folder, clusterKeyFileName)} holds ${clusterKeysMax} keys already`,
        )
      }
      const keys = [...this.#stored.values(), key]
      await writeStored(this.#folder, keys)
      this.#stored.set(key.id, key)
    })
    this.#writing = write.catch(() => {})
    await write
    return key
  }
}

/** What to say when the state needs a key that is not here. */
export function missingClusterKey(id: string): MusterError {
  return new MusterError(
    'unavailable',
    `this server lacks cluster key ${id}, which the stored variables need: it gets it from another server that holds it, ` +
      'or set server.keyring_key_file to a copy of it',
  )
}

async function readKeyFile(path: string): Promise<ClusterKey> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new MusterError('invalid_argument', `server.keyring_key_file: ${path} cannot be read`, {
      cause: error,
    })
  }
  const bytes = decodeKey(text.trim())
  if (bytes === null) {
    throw new MusterError(
      'invalid_argument',
      `server.keyring_key_file: ${path} must hold ${keyBytes} bytes in base64`,
    )
  }
  return clusterKeyOf(bytes)
}

function decodeKey(text: unknown): Buffer | null {
  if (typeof text !== 'string' || !/^[A-Za-z0-9+/]{43}=$/.test(text)) return null
  return Buffer.from(text, 'base64')
}

async function readStored(path: string): Promise<readonly ClusterKey[]> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
  const damaged = new MusterError('corrupt', `${path} does not hold what was written to it`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // Without a cause: the parser's text quotes the file.
    throw damaged
  }
  if (typeof value !== 'object' || value === null) throw damaged
  const { version, keys } = value as { readonly version?: unknown; readonly keys?: unknown }
  if (typeof version === 'number' && version > clusterKeyFileVersion) {
    throw new MusterError('incompatible', `${path} was written by a newer version of this program`)
  }
  if (version !== clusterKeyFileVersion || !Array.isArray(keys)) throw damaged
  return keys.map((entry: unknown) => {
    const { id, key } = (entry ?? {}) as { readonly id?: unknown; readonly key?: unknown }
    const bytes = decodeKey(key)
    if (bytes === null) throw damaged
    const found = clusterKeyOf(bytes)
    if (found.id !== id) throw damaged
    return found
  })
}

/** The new file is whole and durable before it takes the old one's name. */
async function writeStored(folder: string, keys: readonly ClusterKey[]): Promise<void> {
  const value = {
    version: clusterKeyFileVersion,
    keys: keys.map(({ id, bytes }) => ({ id, key: bytes.toString('base64') })),
  }
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeDurably(join(folder, clusterKeyFileName), `${JSON.stringify(value, null, 2)}\n`)
}
