/** A log that was written to and is gone does not begin anew; one that was never written to may. */
import t from 'tap'
import { openDurableLog } from '../../../src/raft/storage/durable-log.ts'
import type { LogMark } from '../../../src/raft/storage/log-store.ts'
import { SimDisk } from '../../sim/disk.ts'
import { hardState, immediateClock, smallLog, vote } from './harness.ts'

/** Kept outside of the log's folder. */
class Mark implements LogMark {
  isSet = false
  async set(): Promise<void> {
    this.isSet = true
  }
}

const open = (sim: SimDisk, mark: LogMark) =>
  openDurableLog(sim.mount(immediateClock), { ...smallLog, mark })

const voted = [vote(hardState(1, 's1', 0))]

t.test('the mark is set before the first write', async (t) => {
  const sim = new SimDisk()
  const mark = new Mark()
  const { store } = await open(sim, mark)
  t.equal(mark.isSet, false, 'a log that is only opened holds nothing')
  const refusing = { isSet: false, set: () => Promise.reject(new Error('no')) }
  const other = await open(new SimDisk(), refusing)
  await t.rejects(other.store.write(voted), 'without it nothing is written')
  await other.store.close()
  await store.write(voted)
  t.equal(mark.isSet, true)
  await store.close()
  const { store: again, recovered } = await open(sim, mark)
  t.match(recovered.hardState, { term: 1, votedFor: 's1' })
  await again.close()
})

t.test('a log that is gone is refused', async (t) => {
  const mark = new Mark()
  const { store } = await open(new SimDisk(), mark)
  await store.write(voted)
  await store.close()
  await t.rejects(open(new SimDisk(), mark), { code: 'corrupt', message: /holds no log/ })
})

t.test('one of an earlier program is marked when it is opened', async (t) => {
  const sim = new SimDisk()
  const { store } = await openDurableLog(sim.mount(immediateClock), smallLog)
  await store.write(voted)
  await store.close()
  const mark = new Mark()
  await (await open(sim, mark)).store.close()
  t.equal(mark.isSet, true)
})
