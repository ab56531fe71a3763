/**
 * The log of a server that is stopped and whose cluster lost its quorum: looking at it, and giving it the configuration
 * it goes on with. Why that is safe is in `core/succession.ts`.
 */
import { configurationAfter } from './core/membership.ts'
import type { Configuration } from './core/message.ts'
import { openDurableLog } from './storage/durable-log.ts'
import type { RecoveredLog } from './storage/log-store.ts'
import { readingDisk } from './storage/reading-disk.ts'
import { systemDisk } from './storage/system-disk.ts'

export { membersMax } from './core/membership.ts'
export { successorOf } from './core/succession.ts'
export { logAndState } from './startup.ts'

export type StoppedLog = {
  readonly recovered: RecoveredLog
  /** In force at the log's end; without a cluster's id when there never was one. */
  readonly configuration: Configuration
}

/** Writes nothing. Throws as `openDurableLog` does. */
export async function readStoppedLog(folder: string): Promise<StoppedLog> {
  const { store, recovered } = await openDurableLog(readingDisk(await systemDisk(folder)), {
    tailBytesMax: 0,
  })
  await store.close()
  const configuration = configurationAfter(recovered.snapshot, recovered.configurations)
  return { recovered, configuration }
}

/** The log has `configuration`, which succeeds the one in force, or is as it was; and surely has it when this resolves. */
export async function writeSuccessor(folder: string, configuration: Configuration): Promise<void> {
  const { store } = await openDurableLog(await systemDisk(folder), { tailBytesMax: 0 })
  try {
    await store.succeed(configuration)
  } finally {
    await store.close()
  }
}
