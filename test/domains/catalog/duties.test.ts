/** The leader's duty for members, over a real state and members and time of the test's own. */
import t from 'tap'
import {
  absentCriticalMs,
  absentGoneMs,
  startMemberDuty,
  type AgentMember,
} from '../../../src/domains/catalog/duties.ts'
import { catalogChecks, catalogNodes } from '../../../src/domains/catalog/table.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import { eventually } from '../../support/eventually.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { catalogMachine, node } from './catalog-machine.ts'

const id1 = '11111111-1111-4111-8111-111111111111'
const id2 = '22222222-2222-4222-8222-222222222222'

function member(name: string, id: string, status: AgentMember['status']): AgentMember {
  return { id, name, address: '192.0.2.1', datacenter: 'dc1', meta: [], status }
}

void t.test('nodes and their membership checks follow the members', async (t) => {
  const catalog = await catalogMachine(t)
  const clock = manualClock()
  let members: AgentMember[] = []
  let changed: () => void = () => {}
  let entries = 0
  let failures = 0
  const duty = startMemberDuty({
    members: {
      list: () => members,
      onChange: (listener) => {
        changed = listener
        return () => {}
      },
    },
    view: () => catalog.view(),
    propose: async (command) => {
      if (failures-- > 0) throw new Error('the disk is slow')
      entries += 1
      return catalog.propose(command)
    },
    clock,
    log: silentLogger,
  })
  t.teardown(() => duty.stop())
  const say = (...next: AgentMember[]) => {
    members = next
    changed()
  }
  /** Time passes while it waits. */
  const status = (name: string, wanted: string | undefined, stepMs = 0) =>
    eventually(`${name} is ${wanted ?? 'gone'}`, () => {
      clock.advance(stepMs)
      const found = catalog.reader().get(catalogChecks, [name, 'gossiphealth'])?.status
      return found === wanted ? true : undefined
    })

  say(member('One', id1, 'alive'), member('two', id2, 'alive'))
  await status('two', 'passing')
  t.match(catalog.reader().get(catalogNodes, ['one']), {
    name: 'One',
    id: id1,
    address: '192.0.2.1',
    taggedAddresses: [
      ['lan', '192.0.2.1'],
      ['wan', '192.0.2.1'],
    ],
  })
  t.equal(entries, 1, 'both in one entry')

  failures = 1
  say(member('one', id1, 'alive'), member('two', id2, 'failed'))
  await status('two', 'critical', 100)
  t.equal(entries, 2, 'tried again after it failed; what stands is not written again')
  t.same(catalog.losses(), [{ node: 'two', checkIds: ['gossiphealth'] }])

  say(member('one', id1, 'alive'), member('two', id2, 'alive'), member('two', id1, 'failed'))
  await status('two', 'passing')

  say(member('one', id1, 'alive'), member('two', id2, 'failed'), member('second', id2, 'alive'))
  await status('second', 'passing')
  await status('two', undefined)
  const moved = entries
  changed()
  clock.advance(60_000)
  await status('second', 'passing', 5_000)
  t.equal(entries, moved, 'its old name does not take the id back')
  say(member('one', id1, 'alive'), member('two', id2, 'alive'))
  await status('two', 'passing')
  await status('second', undefined)

  say(member('one', id1, 'alive'), member('two', id2, 'left'))
  await status('two', undefined)
  t.equal(catalog.reader().get(catalogNodes, ['two']), undefined)

  await catalog.register({ node: node('external', { id: id2 }) })
  await catalog.register({ node: node('other') })
  say()
  const beforeMs = clock.monotonicMs()
  await status('one', 'critical', 1_000)
  t.ok(clock.monotonicMs() - beforeMs >= absentCriticalMs, 'nobody knows it')
  await status('one', undefined, 20_000)
  t.ok(clock.monotonicMs() - beforeMs >= absentGoneMs)
  t.ok(catalog.reader().get(catalogNodes, ['external']), 'nodes of no agent stay')
  t.ok(catalog.reader().get(catalogNodes, ['other']))
})
