/** Scheduled snapshots of a server, from its configuration file. */
import { join, resolve } from 'node:path'
import { parseDurationMs } from '../lib/duration.ts'
import type { Complain } from './config-listeners.ts'
import type { ConfigFile } from './config-schema.ts'

export type SnapshotsConfig = {
  readonly everyMs: number
  /** The newest so many files are kept. */
  readonly retain: number
  readonly folder: string
}

const defaultRetain = 30

/** Null: no schedule. */
export function completeSnapshots(
  file: NonNullable<ConfigFile['server']>,
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
    everyMs: parseDurationMs(schedule) ?? 0,
    retain: retain ?? defaultRetain,
    folder: folder === undefined ? join(dataDir, 'snapshots') : resolve(folder),
  }
}
