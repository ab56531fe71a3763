/** Which answers of servers are believed, by the log that they are of. */
import t from 'tap'
import { indexInLog, SeenLog } from '../../../src/client-agent/runner/seen-log.ts'
import type { LogOrigin } from '../../../src/domains/allocations/log-model.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import { manualClock } from '../../support/manual-clock.ts'

const first: LogOrigin = { cluster: 'first', predecessors: [] }
const second: LogOrigin = { cluster: 'second', predecessors: ['first'], beginsAt: 25 }
const third: LogOrigin = { cluster: 'third', predecessors: ['first', 'second'], beginsAt: 40 }
const behind = { code: 'unavailable', message: /is behind/ }

function seen(index: number, log: LogOrigin | null, list?: SeenLog): SeenLog {
  const more = list === undefined ? {} : { list }
  const one = new SeenLog({ what: 'it', clock: manualClock(), log: silentLogger, ...more })
  one.begin(index, log)
  return one
}

function take(seenLog: SeenLog, index: number, log?: LogOrigin): boolean {
  const isOther = seenLog.isOther({ index, log })
  seenLog.took({ index, log })
  return isOther
}

t.test('a successor is followed from the entry on that begins it, as another log', async (t) => {
  const log = seen(99, first)
  t.throws(() => take(log, 24, second), behind, 'it has not all that is left yet')
  t.equal(take(log, 25, second), true)
  t.equal(take(log, 30, second), false, 'once')
  t.throws(() => take(log, 29, second), behind)
})

t.test('nobody of a cluster before is believed once its successor was', async (t) => {
  const log = seen(99, first)
  take(log, 40, third)
  for (const before of [first, second]) {
    t.throws(() => take(log, 1_000, before), { code: 'unavailable', message: /went on as third/ })
  }
  t.equal(log.index, 40)
})

t.test('servers that do not say where a successor begins go on with its log', async (t) => {
  const { beginsAt: _, ...older } = second
  const log = seen(99, first)
  t.throws(() => take(log, 30, older), behind)
  t.equal(take(log, 99, older), false)
  t.throws(() => take(log, 1_000, first), /went on as second/)
  take(log, 100, second)
  take(log, 101, older)
  t.match(log.log, { beginsAt: 25 }, 'what one said is not forgotten')
})

t.test('what else is asked for follows where the list went', async (t) => {
  const list = seen(99, first)
  const data = seen(99, first, list)
  t.throws(() => take(data, 30, second), /not followed yet/)
  take(list, 25, second)
  t.throws(() => take(data, 1_000, first), /went on as second/)
  t.equal(take(data, 30, second), true)
})

t.test('an index that was kept is one of the log, or tells nothing', async (t) => {
  const { beginsAt: _, ...older } = second
  t.equal(indexInLog(second, 'second', 30), 30)
  t.equal(indexInLog(second, 'first', 99), 0)
  t.equal(indexInLog(older, 'first', 99), 99)
  t.equal(indexInLog(first, 'other', 99), 0)
})
