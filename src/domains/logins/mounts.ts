/** Finds the mount of a path on the state of this server, for every request below `/v1/auth`. */
import type { Reader } from '../../fsm/domain.ts'
import type { Logger } from '../../lib/log.ts'
import { codeOf, textOf } from '../../lib/errors.ts'
import { onView, type OpenView } from '../host.ts'
import { mountPathLengthMax, type MountRow } from './model.ts'
import { allMounts } from './queries.ts'
import { mountRows } from './table.ts'

export type MountsOptions = {
  /** This server's state, as it is whenever it is read. */
  readonly reader: Pick<Reader, 'tableIndex' | 'floorIndex'>
  readonly view: OpenView
  /** Resolves when this server's state is as new as the leader's, or rejects: a mount may have been enabled a moment ago. */
  readonly freshen: () => Promise<void>
  readonly log: Logger
}

type Known = {
  readonly index: number
  readonly floorIndex: number
  readonly byPath: ReadonlyMap<string, MountRow>
}

export class Mounts {
  readonly #options: MountsOptions
  #known: Known | null = null

  constructor(options: MountsOptions) {
    this.#options = options
  }

  /** The mount with the longest path that these segments begin with; null: none, also at the leader. */
  async over(segments: readonly string[]): Promise<MountRow | null> {
    return longest(await this.#mounts(), segments) ?? this.#anew(segments)
  }

  /**
   * What `use` makes of the mount that `over` finds. Where that is `not_found`, the mount may have been disabled and another one
   * enabled over the same segments before this server knew: then `use` is called with that one. A read has made this server as
   * new as it wants to be, and a stale one does not wait.
   */
  async using<Result>(
    segments: readonly string[],
    kind: 'read' | 'write',
    use: (mount: MountRow | null) => Promise<Result>,
  ): Promise<Result> {
    const mount = await this.over(segments)
    try {
      return await use(mount)
    } catch (error) {
      if (mount === null || codeOf(error) !== 'not_found') throw error
      const now =
        kind === 'read' ? longest(await this.#mounts(), segments) : await this.#anew(segments)
      if (now === null || now.id === mount.id) throw error
      return use(now)
    }
  }

  async #anew(segments: readonly string[]): Promise<MountRow | null> {
    try {
      await this.#options.freshen()
    } catch (error) {
      this.#options.log.debug('a mount could not be looked for at the leader', {
        error: textOf(error),
      })
    }
    return longest(await this.#mounts(), segments)
  }

  /** By their paths. While the table stands still, as it was read last. */
  async #mounts(): Promise<ReadonlyMap<string, MountRow>> {
    const { reader, view } = this.#options
    const index = reader.tableIndex(mountRows)
    const { floorIndex } = reader
    const known = this.#known
    if (known !== null && known.index === index && known.floorIndex === floorIndex) {
      return known.byPath
    }
    const mounts = await onView(view, allMounts)
    const byPath = new Map(mounts.map((mount) => [mount.path, mount]))
    this.#known = { index, floorIndex, byPath }
    return byPath
  }
}

function longest(
  byPath: ReadonlyMap<string, MountRow>,
  segments: readonly string[],
): MountRow | null {
  let found: MountRow | null = null
  let path = ''
  // What is longer is no mount's: a client may send thousands of segments.
  for (let at = 0; at < segments.length && path.length <= mountPathLengthMax; at += 1) {
    path += at === 0 ? segments[at] : `/${segments[at]}`
    found = byPath.get(path) ?? found
  }
  return found
}
