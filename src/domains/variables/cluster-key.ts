/**
 * The cluster keys this server holds: 32 bytes that wrap the replicated data keys. Without one, log, state, snapshots and
 * archives are unreadable, so it lives outside of all four: in a file the operator gives (`server.keyring_key_file`),
 * or, when a leader made it, in each server's data folder (`cluster-key.json`, mode 0600).
 *
 * There may be several: while one replaces another, and after an archive of another cluster was restored. A key's id is
 * derived from the key and tells nothing about it, so the state can name the key it needs.
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
  /** The operator's own, in the order of the file. */
  readonly #given: readonly ClusterKey[]
  readonly #stored: Map<string, ClusterKey>
  #writing: Promise<void> = Promise.resolve()

  private constructor(folder: string, given: readonly ClusterKey[], stored: readonly ClusterKey[]) {
    this.#folder = folder
    this.#given = given
    this.#stored = new Map(stored.map((key) => [key.id, key]))
  }

  /**
   * `keyFile`: the operator's file, or null. Throws `invalid_argument` for a bad one, `corrupt` or `incompatible` for
   * this server's own.
   */
  static async load(folder: string, keyFile: string | null): Promise<ClusterKeys> {
    const given = keyFile === null ? [] : await readKeyFile(keyFile)
    return new ClusterKeys(folder, given, await readStored(join(folder, clusterKeyFileName)))
  }

  get(id: string): ClusterKey | null {
    return this.#given.find((key) => key.id === id) ?? this.#stored.get(id) ?? null
  }

  ids(): string[] {
    return [...new Set([...this.#given.map(({ id }) => id), ...this.#stored.keys()])]
  }

  /** The operator's own, which is to wrap data keys; null: none is given. */
  get configured(): ClusterKey | null {
    return this.#given[0] ?? null
  }

  /** The key to begin a keyring with: the operator's, else one that was stored before, else none. */
  candidate(): ClusterKey | null {
    return this.configured ?? this.#stored.values().next().value ?? null
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
    await this.#inTurn(async () => {
      if (this.get(key.id) !== null) return
      if (this.#stored.size >= clusterKeysMax) {
        throw new MusterError(
          'overloaded',
          `${join(this.#folder, clusterKeyFileName)} holds ${clusterKeysMax} keys already`,
        )
      }
      await writeStored(this.#folder, [...this.#stored.values(), key])
      this.#stored.set(key.id, key)
    })
    return key
  }

  /** Removes from this server's folder all but these, and what the operator's file has. Resolves to the ids of the removed ones. */
  async forgetOthers(kept: readonly string[]): Promise<readonly string[]> {
    const given = this.#given.map(({ id }) => id)
    const others = [...this.#stored.keys()].filter((id) => given.includes(id) || !kept.includes(id))
    if (others.length === 0) return others
    await this.#inTurn(async () => {
      const keys = [...this.#stored.values()].filter(({ id }) => !others.includes(id))
      await writeStored(this.#folder, keys)
      for (const id of others) this.#stored.delete(id)
    })
    return others
  }

  async #inTurn(change: () => Promise<void>): Promise<void> {
    const write = this.#writing.then(change)
    this.#writing = write.catch(() => {})
    await write
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

/** One key in each line. */
async function readKeyFile(path: string): Promise<readonly ClusterKey[]> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new MusterError('invalid_argument', `server.keyring_key_file: ${path} cannot be read`, {
      cause: error,
    })
  }
  const keys: ClusterKey[] = []
  for (const line of text.trim().split(/\r?\n/)) {
    const bytes = decodeKey(line.trim())
    if (bytes === null) {
      throw new MusterError(
        'invalid_argument',
        `server.keyring_key_file: ${path} must hold ${keyBytes} bytes in base64, and may hold older keys in lines below`,
      )
    }
    keys.push(clusterKeyOf(bytes))
  }
  if (keys.length > clusterKeysMax) {
    throw new MusterError(
      'invalid_argument',
      `server.keyring_key_file: ${path} holds ${keys.length} keys, and may hold ${clusterKeysMax}`,
    )
  }
  return keys
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
  const damaged = new MusterError(
    'corrupt',
    `${path} does not hold what was written to it: put a copy of it back; or move it away, and the key comes from another server that holds it, or from server.keyring_key_file`,
  )
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
