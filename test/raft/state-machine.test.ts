import { join } from 'node:path'
import t from 'tap'
import type { Machine } from '../../src/fsm/machine.ts'
import { DiskGate } from '../../src/lib/disk-gate.ts'
import { silentLogger } from '../../src/lib/log.ts'
import { seededRandom } from '../../src/lib/random.ts'
import { decodeConfiguration } from '../../src/raft/core/membership.ts'
import { temporaryFolder, toyMachine, ToyLog } from '../fsm/toy.ts'
import { encodeCommand } from '../sim/commands.ts'
import { MachineDisk, SimMachine } from '../sim/machine.ts'
import { Life, Scheduler } from '../sim/scheduler.ts'
import { stateMachineContract } from './state-machine-contract.ts'

void stateMachineContract(t, 'over LevelDB', async (t) => {
  const folder = join(await temporaryFolder(t), 'state')
  let machine: Machine | null = null
  const opened = async () => {
    await machine?.close()
    return (machine = await toyMachine(t, { folder, decodeConfiguration }))
  }
  const encoder = await toyMachine(t)
  return {
    open: opened,
    command(row) {
      const [entry] = new ToyLog(encoder).put('s', `row ${row}`, 'v'.repeat(100_000)).take()
      return entry?.data ?? new Uint8Array()
    },
  }
})

void stateMachineContract(t, 'in the simulator', async (t) => {
  const scheduler = new Scheduler()
  const random = seededRandom(1)
  const disk = new MachineDisk('all')
  let number = 0
  const ending = new AbortController()
  t.teardown(() => ending.abort())
  const pass = async (): Promise<void> => {
    while (!ending.signal.aborted) await scheduler.run(scheduler.nowMs + 10)
  }
  void pass()
  return {
    open: async () => {
      disk.kill()
      number += 1
      const life = new Life({ server: 's1', number, rate: 1, offsetMs: 0 })
      const gate = new DiskGate({ clock: scheduler.clockOf(life), logger: silentLogger })
      const misused = (text: string) => t.fail(text)
      const watch = { applied() {}, installed() {}, misused }
      return new SimMachine({ disk, gate, life, scheduler, random, watch })
    },
    command: (row) =>
      encodeCommand({ type: 'put', key: `row ${row}`, value: 'v'.repeat(100), padding: '' }),
  }
})
