/** The durable log holds its contract on the simulated disk and on a real one. */
import path from 'node:path'
import t from 'tap'
import { openDurableLog } from '../../../src/raft/storage/durable-log.ts'
import { systemDisk } from '../../../src/raft/storage/system-disk.ts'
import { SimDisk } from '../../sim/disk.ts'
import { writtenFolder } from '../../support/written-folder.ts'
import { logStoreContract } from './contract.ts'
import { immediateClock, smallLog } from './harness.ts'

await logStoreContract(t, 'simulated disk', async () => {
  const sim = new SimDisk()
  return { open: () => openDurableLog(sim.mount(immediateClock), smallLog) }
})

await logStoreContract(t, 'real disk', async (t) => {
  const folder = path.join(writtenFolder(t), 'log')
  return { open: async () => openDurableLog(await systemDisk(folder), smallLog) }
})
