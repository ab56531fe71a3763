/** Events of a node whose drivers become other than they were. */
import t from 'tap'
import { nodes } from '../../../src/domains/nodes/table.ts'
import { nowMs, workloads } from '../allocations/workloads.ts'

const docker = {
  name: 'docker',
  attributes: [],
  detected: true,
  healthy: true,
  healthDescription: 'Healthy',
  updateTimeMs: nowMs,
}
const down = { ...docker, healthy: false, healthDescription: 'the daemon does not answer' }

async function history(version: number) {
  const here = await workloads(t, version)
  const tell = async (drivers: readonly (typeof docker)[]) => {
    const id = await here.node(1, { drivers: [...drivers] })
    return here.read((reader) => reader.get(nodes, [id]))?.events ?? []
  }
  return { here, tell }
}

void t.test('an event says that a driver is unhealthy, or well again', async (t) => {
  const { here, tell } = await history(16)
  t.equal((await tell([])).length, 1, 'it is registered')
  t.equal((await tell([docker])).length, 1, 'a new driver is no change of health')
  const [, first] = await tell([down])
  t.match(first, {
    message: 'the daemon does not answer',
    subsystem: 'Driver',
    details: [['driver', 'docker']],
    timeMs: nowMs,
    createIndex: here.machine.appliedIndex - 1,
  })
  const events = await tell([{ ...down, updateTimeMs: nowMs + 1, healthDescription: 'still' }])
  t.equal(events.length, 2, 'it is no other than before')
  t.match((await tell([docker])).at(-1), { message: 'Healthy', subsystem: 'Driver' })
  const gone = { ...docker, detected: false, healthy: false, healthDescription: '' }
  t.match((await tell([gone])).at(-1), { message: 'Driver is not there' })
})

void t.test('there is none until every server knows them', async (t) => {
  const { tell } = await history(15)
  await tell([docker])
  t.strictSame(
    (await tell([down])).map(({ subsystem }) => subsystem),
    ['Cluster'],
  )
})
