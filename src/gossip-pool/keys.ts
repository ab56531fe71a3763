/**
 * The gossip keys across restarts: the first key comes from the configuration, later changes are made in the running
 * pool, and the file in the data folder remembers them. Once it is there it counts, not the configuration.
 */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { MusterError } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'

const fileName = 'gossip-keys.json'
const formatVersion = 1
const keysMax = 16

export class GossipKeys {
  readonly #path: string

  constructor(dataFolder: string) {
    this.#path = join(dataFolder, fileName)
  }

  /** The one that seals first. Throws `corrupt`, naming the file. */
  load(configured: string | null, logger: Logger): readonly string[] {
    const kept = this.#read()
    if (kept === null) return configured === null ? [] : [configured]
    if (configured !== null && !kept.includes(configured)) {
      logger.warn(
        'the configured gossip key is not used: the keys of the pool were changed since',
        {
          file: this.#path,
        },
      )
    }
    return kept
  }

  /** Durable when it returns; the operator who changed the keys gets the error that it throws. */
  save(keys: readonly string[]): void {
    const temporary = `${this.#path}.new`
    const file = openSync(temporary, 'w', 0o600)
    try {
      writeSync(file, `${JSON.stringify({ version: formatVersion, keys })}\n`)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(temporary, this.#path)
  }

  #read(): readonly string[] | null {
    let text: string
    try {
      text = readFileSync(this.#path, 'utf8')
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
      throw error
    }
    const keys = parseKeys(text)
    if (keys !== null) return keys
    throw new MusterError(
      'corrupt',
      `${this.#path} does not hold gossip keys: remove it to begin with the configured key again`,
    )
  }
}

function parseKeys(text: string): readonly string[] | null {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) return null
    if (!('version' in value) || value.version !== formatVersion) return null
    if (!('keys' in value) || !Array.isArray(value.keys)) return null
    const { keys } = value
    const isWhole = keys.length > 0 && keys.length <= keysMax
    return isWhole && keys.every((key) => typeof key === 'string') ? keys : null
  } catch {
    return null
  }
}
