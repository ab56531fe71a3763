/** Until when sessions live that this server did not hear of; those that ended otherwise are forgotten a few at a time. */
import t from 'tap'
import { SessionDeadlines, lookedForMax, sweepMs } from '../../../src/domains/sessions/deadlines.ts'
import type { SessionRow } from '../../../src/domains/sessions/model.ts'
import type { Key, Reader, Table } from '../../../src/fsm/domain.ts'
import { manualClock } from '../../support/manual-clock.ts'

const ttlMs = 10_000

const rowOf = (id: string, more: Partial<SessionRow> = {}): SessionRow => ({
  namespace: 'default',
  id,
  name: '',
  node: 'box',
  ttl: '10s',
  checks: null,
  lockDelayNs: '0',
  behavior: 'release',
  nodeChecks: [],
  serviceChecks: null,
  boundChecks: [],
  token: null,
  createIndex: 1,
  ...more,
})

/** Sessions are in the state, or not: what the sweep asks. */
function world() {
  const clock = manualClock()
  const standing = new Set<string>()
  const heard = new Map<string, (applied: never) => void>()
  let replaced = () => {}
  let appliedSome = (_appliedIndex: number): void => {}
  let asked = 0
  let views = 0
  const reader = {
    appliedIndex: 1,
    get: <Row>({ name }: Table<Row>, [, id]: Key): Row | undefined => {
      if (name !== 'sessions') return undefined
      asked += 1
      return standing.has(String(id)) ? (rowOf(String(id)) as Row) : undefined
    },
    close: () => (views -= 1),
  } as unknown as Reader & { close(): void }
  const deadlines = new SessionDeadlines({
    clock,
    applied: {
      onCommand: ({ type }, listener) => {
        heard.set(type, listener)
        return () => heard.delete(type)
      },
      onReplaced: (listener) => {
        replaced = listener
        return () => {}
      },
      onApplied: (listener) => {
        appliedSome = listener
        return () => (appliedSome = () => {})
      },
    },
    view: () => {
      views += 1
      return reader
    },
  })
  return {
    clock,
    standing,
    deadlines,
    views: () => views,
    replace: () => replaced(),
    apply: () => appliedSome(reader.appliedIndex),
    create: (id: string, more: Partial<SessionRow> = {}) => {
      standing.add(id)
      const row = rowOf(id, more)
      heard.get('sessions.create')?.({ outcome: { type: 'created', row } } as never)
    },
    renew: (id: string) => {
      const outcome = { renewed: [rowOf(id)] }
      heard.get('sessions.renew')?.({ args: { stretch: 1 }, outcome } as never)
    },
    /** What one turn asked the state. */
    turn: () => {
      asked = 0
      clock.advance(0)
      return asked
    },
    asked: () => asked,
  }
}

const longAgoMs = sweepMs + ttlMs + 1

void t.test('the sweep looks for a few in each turn, and comes to its end', async (t) => {
  const count = 10 * lookedForMax + 7
  const { clock, deadlines, standing, create, turn, asked, views } = world()
  for (let at = 0; at < count; at += 1) create(`s${at}`)
  standing.clear()
  standing.add('s5')
  clock.advance(longAgoMs)
  t.equal(asked(), lookedForMax, 'the first turn')
  t.equal(deadlines.knownCount, count - lookedForMax + 1)
  let turns = 1
  for (; deadlines.knownCount > 1; turns += 1) t.ok(turn() <= lookedForMax)
  t.equal(turns, 11)
  t.equal(views(), 0, 'no view stays open')
  t.equal(turn(), 0)
  t.equal(clock.timerCount, 1, 'one timer, of the next sweep')
  clock.advance(sweepMs)
  t.equal(asked(), 1, 'which looks for the one that stands')
  deadlines.stop()
  t.equal(clock.timerCount, 0)
})

void t.test('what is renewed or made between two turns stays', async (t) => {
  const { clock, deadlines, standing, create, renew, turn } = world()
  for (let at = 0; at < 3 * lookedForMax; at += 1) create(`s${at}`)
  standing.clear()
  const last = `s${3 * lookedForMax - 1}`
  standing.add(last)
  clock.advance(longAgoMs)
  renew(last)
  create('new')
  for (let turns = 0; turns < 5; turns += 1) turn()
  t.equal(deadlines.knownCount, 2)
  t.equal(deadlines.untilMs(rowOf(last)), longAgoMs + ttlMs)
  deadlines.stop()
})

void t.test('a restore or a stop in the middle ends the sweep', async (t) => {
  const { clock, deadlines, standing, create, turn, replace } = world()
  for (let at = 0; at < 3 * lookedForMax; at += 1) create(`s${at}`)
  standing.clear()
  clock.advance(longAgoMs)
  replace()
  t.equal(deadlines.knownCount, 0)
  t.equal(turn(), 0)
  for (let at = 0; at < 3 * lookedForMax; at += 1) create(`t${at}`)
  standing.clear()
  clock.advance(longAgoMs)
  t.equal(deadlines.knownCount, 2 * lookedForMax)
  deadlines.stop()
  t.equal(turn(), 0)
  t.equal(clock.timerCount, 0)
})

void t.test('a session of a client of Consul lives for twice its time to live', (t) => {
  const { clock, deadlines, create } = world()
  const [plain, doubled] = [rowOf('plain'), rowOf('doubled', { doubled: true })]
  t.equal(deadlines.untilMs(doubled), 2 * ttlMs, 'also one that was there before')
  clock.advance(1_000)
  create('doubled', { doubled: true })
  create('plain')
  t.equal(deadlines.untilMs(doubled), 1_000 + 2 * ttlMs)
  t.equal(deadlines.untilMs(plain), 1_000 + ttlMs)
  deadlines.stop()
  t.end()
})

void t.test('what was in the state lives on from the first entry that is applied', async (t) => {
  const { clock, deadlines, apply } = world()
  t.equal(deadlines.untilMs(rowOf('old')), ttlMs, 'before it: from the start')
  clock.advance(3 * ttlMs)
  apply()
  t.equal(deadlines.untilMs(rowOf('old')), 4 * ttlMs, 'nobody could renew it before')
  clock.advance(ttlMs / 2)
  apply()
  t.equal(deadlines.untilMs(rowOf('old')), 4 * ttlMs, 'from the first one alone')
  deadlines.stop()
})
