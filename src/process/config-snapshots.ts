/** Scheduled snapshots of a server, from its configuration file. */
import { join, resolve } from 'node:path'
import Type from 'typebox'
import type { Complain } from './config-check.ts'
import { count, duration, path } from './config-values.ts'

const defaultRetain = 30

export const snapshotKeys = {
  snapshot_schedule: Type.Optional(
    duration(60_000, 31 * 86_400_000, '1m to 744h', {
      about: 'a snapshot so often, `"1m"` to `"744h"`: [Scheduled snapshots](#scheduled-snapshots)',
    }),
  ),
  snapshot_retain: Type.Optional(
    count(1, 10_000, {
      shown: `\`${defaultRetain}\``,
      about: 'the newest so many are kept, 1 to 10,000',
    }),
  ),
  snapshot_folder: Type.Optional(
    path('the path of a folder', {
      shown: '`snapshots` in `data_dir`',
      about: 'where they go; better another disk',
    }),
  ),
}

export type SnapshotsConfig = {
  readonly everyMs: number
  /** The newest so many files are kept. */
  readonly retain: number
  readonly folder: string
}

const snapshots = Type.Object(snapshotKeys)

/** Null: no schedule. */
export function completeSnapshots(
  file: Type.StaticDecode<typeof snapshots>,
  dataDir: string,
  complain: Complain,
): SnapshotsConfig | null {
  const { snapshot_schedule: schedule, snapshot_retain: retain, snapshot_folder: folder } = file
  if (schedule === undefined) {
    for (const key of ['snapshot_retain', 'snapshot_folder'] as const) {
      if (file[key] === undefined) continue
      complain(`server.${key}`, 'means nothing without server.snapshot_schedule, as in "24h"')
    }
    return null
  }
  return {
    everyMs: schedule,
    retain: retain ?? defaultRetain,
    folder: folder === undefined ? join(dataDir, 'snapshots') : resolve(folder),
  }
}
