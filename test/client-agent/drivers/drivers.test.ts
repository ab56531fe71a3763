/** Which drivers an agent has, how those are that depend on another program, and what servers are told of it. */
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import type { Driver, DriverCondition } from '../../../src/client-agent/drivers/driver.ts'
import { Drivers } from '../../../src/client-agent/drivers/drivers.ts'
import { MockDriver } from '../../../src/client-agent/drivers/mock-driver.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import { manualClock } from '../../support/manual-clock.ts'

const well: DriverCondition = {
  detected: true,
  healthy: true,
  description: 'Healthy',
  attributes: [['driver.docker.version', '27']],
}
const away: DriverCondition = {
  detected: false,
  healthy: false,
  description: 'gone',
  attributes: [],
}

function setting() {
  const clock = manualClock()
  const of = { condition: well, looks: 0, swept: [] as boolean[] }
  const own = new MockDriver(clock)
  const docker: Driver = {
    name: 'docker',
    root: 'image',
    mountsVolumes: true,
    runsAsAgent: false,
    start: own.start.bind(own),
    recover: own.recover.bind(own),
    find: own.find.bind(own),
    exec: own.exec.bind(own),
    condition: () => {
      of.looks += 1
      return Promise.resolve(of.condition)
    },
    sweep: (isWanted) => {
      of.swept.push(isWanted('a'))
      return Promise.resolve()
    },
  }
  return { clock, of, docker }
}

t.test('a driver that depends on another program is told as that is', async (t) => {
  const { clock, of, docker } = setting()
  const drivers = new Drivers(['docker', 'mock_driver'], clock, [docker])
  t.ok(await drivers.look())
  t.match(drivers.shown, [
    {
      name: 'docker',
      attributes: [
        ['driver.docker', '1'],
        ['driver.docker.version', '27'],
      ],
      healthy: true,
    },
    { name: 'mock_driver', attributes: [['driver.mock_driver', '1']], healthy: true },
  ])
  t.notOk(await drivers.look(), 'it is as it was')
  of.condition = away
  t.ok(await drivers.look())
  t.match(drivers.shown[0], {
    attributes: [],
    detected: false,
    healthy: false,
    healthDescription: 'gone',
  })
})

t.test('it is looked at from time to time, and one that comes or goes is told of', async (t) => {
  const { clock, of, docker } = setting()
  const drivers = new Drivers(['docker'], clock, [docker])
  await drivers.look()
  const changes: number[] = []
  const passed = async (ms: number): Promise<void> => {
    clock.advance(ms)
    await setImmediate()
  }
  const watching = drivers.watch({
    log: silentLogger,
    onChange: () => changes.push(of.looks),
    isWanted: () => true,
  })
  of.condition = away
  await passed(15_000)
  t.same(changes, [2])
  await passed(15_000)
  t.same(changes, [2])
  t.same(of.swept, [], 'one that is away ends nothing')
  of.condition = well
  await passed(15_000)
  await passed(300_000)
  t.same(changes[1], 4)
  t.same(of.swept, [true])
  await watching.stop()
})

t.test('one that is not enabled is not looked at, but known', async (t) => {
  const { clock, of, docker } = setting()
  const drivers = new Drivers(['mock_driver'], clock, [docker])
  t.notOk(await drivers.look())
  await drivers.watch({ log: silentLogger, onChange: () => t.fail(), isWanted: () => true }).stop()
  t.equal(of.looks, 0)
  t.equal(drivers.known('docker'), docker)
  t.equal(drivers.enabled('docker'), null)
})
