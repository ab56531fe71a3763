/**
 * The directories that this server has asked of late, by mount: each with the connections of the configuration as it is now. A
 * configuration that changes begins with none.
 */
import type { Clock } from '../../lib/clock.ts'
import { MusterError } from '../../lib/errors.ts'
import type { LocalContext } from '../../rpc/method.ts'
import { openSecret } from '../logins/secrets.ts'
import { Directory, type DirectorySettings } from './directory.ts'
import {
  bindpassOwner,
  clientKeyOwner,
  defaultConfig,
  nextBindpassOwner,
  type ConfigRow,
  type DirectoryConfig,
} from './model.ts'
import type { Watch } from './watch.ts'

/** Mounts whose directories are kept at a time. */
export const directoriesMax = 64
/** Logins of one mount under way at a time: each has a connection or two, and one that hangs takes its time. */
export const loginsUnderWayMax = 256

type Kept = { readonly modifyIndex: number; readonly directory: Directory }

export class Directories {
  readonly #clock: Clock
  readonly #kept = new Map<string, Kept>()
  readonly #underWay = new Map<string, number>()
  readonly #rotating = new Set<string>()
  #refused = 0
  #stopped = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** How many logins found no place. */
  get refused(): number {
    return this.#refused
  }

  /** Runs one login; throws `overloaded` when there are too many. */
  use<T>(
    context: Pick<LocalContext, 'read' | 'service'>,
    row: ConfigRow,
    run: (directory: Directory) => Promise<T>,
  ): Promise<T> {
    return this.#counted(row.mountId, () => run(this.#directory(context, row)))
  }

  /** With connections of its own and knowledge of no URL, so that `watch` is told of all that a first login asks. */
  useWatched<T>(
    context: Pick<LocalContext, 'read' | 'service'>,
    row: ConfigRow,
    watch: Watch,
    run: (directory: Directory) => Promise<T>,
  ): Promise<T> {
    return this.#counted(row.mountId, async () => {
      const directory = new Directory(settingsOf(context, row), this.#clock, watch)
      try {
        return await run(directory)
      } finally {
        directory.close()
      }
    })
  }

  /** Runs the only rotation of a mount's password; throws `conflict` while one is under way. */
  async alone<T>(mountId: string, run: () => Promise<T>): Promise<T> {
    if (this.#rotating.has(mountId)) {
      throw new MusterError('conflict', 'a rotation of this password is under way')
    }
    this.#rotating.add(mountId)
    try {
      return await run()
    } finally {
      this.#rotating.delete(mountId)
    }
  }

  /** Closes what waits. What is under way ends by its own signal. */
  stop(): void {
    this.#stopped = true
    for (const { directory } of this.#kept.values()) directory.close()
    this.#kept.clear()
  }

  async #counted<T>(mountId: string, run: () => Promise<T>): Promise<T> {
    const before = this.#underWay.get(mountId) ?? 0
    if (this.#stopped || before >= loginsUnderWayMax) {
      this.#refused += 1
      throw new MusterError('overloaded', 'too many logins wait for the directory')
    }
    this.#underWay.set(mountId, before + 1)
    try {
      return await run()
    } finally {
      const left = (this.#underWay.get(mountId) ?? 1) - 1
      if (left === 0) this.#underWay.delete(mountId)
      else this.#underWay.set(mountId, left)
    }
  }

  #directory(context: Pick<LocalContext, 'read' | 'service'>, row: ConfigRow): Directory {
    const { mountId, modifyIndex } = row
    const kept = this.#kept.get(mountId)
    if (kept?.modifyIndex === modifyIndex) return kept.directory
    kept?.directory.close()
    this.#kept.delete(mountId)
    const [oldest] = this.#kept
    if (oldest !== undefined && this.#kept.size >= directoriesMax) {
      oldest[1].directory.close()
      this.#kept.delete(oldest[0])
    }
    const directory = new Directory(settingsOf(context, row), this.#clock)
    this.#kept.set(mountId, { modifyIndex, directory })
    return directory
  }
}

/** The configuration with its secrets open. */
export function settingsOf(
  context: Pick<LocalContext, 'read' | 'service'>,
  { mountId, config, hasBindpass, hasClientKey, pendingRotation }: ConfigRow,
): DirectorySettings {
  const bindpasses = [
    hasBindpass ? openSecret(context, bindpassOwner(mountId)) : null,
    pendingRotation === null ? null : openSecret(context, nextBindpassOwner(mountId)),
  ]
  const clientKey = hasClientKey ? openSecret(context, clientKeyOwner(mountId)) : null
  return {
    ...withDefaults(config),
    bindpasses: bindpasses.filter((password) => password !== null),
    clientTlsKey: clientKey ?? '',
  }
}

/** No directory is waited for without end, and a URL and an attribute there must be. */
function withDefaults(config: DirectoryConfig): DirectoryConfig {
  const { connectionTimeoutMs, requestTimeoutMs, url, userattr } = config
  return {
    ...config,
    connectionTimeoutMs: connectionTimeoutMs || defaultConfig.connectionTimeoutMs,
    requestTimeoutMs: requestTimeoutMs || defaultConfig.requestTimeoutMs,
    url: url === '' ? defaultConfig.url : url,
    userattr: userattr === '' ? defaultConfig.userattr : userattr,
  }
}
