/** Reads of mounts, those that no entry made among them, and of locked names. */
import type { Reader } from '../../fsm/domain.ts'
import type { LockRow } from './lock-model.ts'
import { firstMounts, type MountRow } from './model.ts'
import { wasNeverWritten } from '../define.ts'
import { lockRows, mountRows } from './table.ts'

const firstById: ReadonlyMap<string, MountRow> = new Map(
  firstMounts.map((mount) => [mount.id, mount]),
)

/** null: it was disabled, or never was. */
export function mountOf(reader: Pick<Reader, 'get'>, id: string): MountRow | null {
  const row = reader.get(mountRows, [id]) ?? firstById.get(id)
  return row === undefined || row.disabled === true ? null : row
}

/** What a command asks that writes rows of a login method. */
export function mountStands(reader: Pick<Reader, 'get'>, id: string): boolean {
  return mountOf(reader, id) !== null
}

/** In the order of their paths. There are at most `mountsMax`. */
export async function allMounts(reader: Pick<Reader, 'pages'>): Promise<readonly MountRow[]> {
  const byId = new Map(firstById)
  for await (const page of reader.pages(mountRows)) {
    for (const row of page) byId.set(row.id, row)
  }
  return [...byId.values()]
    .filter((mount) => mount.disabled !== true)
    .sort((left, right) => (left.path < right.path ? -1 : 1))
}

/** Also one whose time is over. */
export function lockOf(reader: Pick<Reader, 'get'>, mountId: string, name: string): LockRow | null {
  return reader.get(lockRows, [mountId, name]) ?? null
}

export function isLocked(
  reader: Pick<Reader, 'get' | 'tableIndex'>,
  mountId: string,
  name: string,
  nowMs: number,
): boolean {
  if (wasNeverWritten(reader, lockRows)) return false
  const lock = lockOf(reader, mountId, name)
  return lock !== null && lock.untilMs > nowMs
}
