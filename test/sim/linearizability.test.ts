/** The judge of client histories: against a second, stupid implementation, on planted bugs, and at the size it is used at. */
import t from 'tap'
import { randomInteger, seededRandom, type Random } from '../../src/lib/random.ts'
import { checkLinearizability, type Verdict } from './checkers/linearizability.ts'
import {
  advance,
  emptyRegister,
  stepOf,
  type Action,
  type Operation,
  type Register,
} from './checkers/register.ts'

const seed = Number(process.env['SEED'] ?? 1)

// Histories that a right register could have given.
type Shape = {
  readonly operations: number
  readonly clients: number
  readonly unknownShare: number
  /** Share of writes whose index the client learns. */
  readonly indexShare: number
  /** 0: every written value is its own. */
  readonly values: number
}

const small: Shape = { operations: 7, clients: 4, unknownShare: 0.25, indexShare: 0.5, values: 2 }
const hard: Shape = { operations: 60, clients: 12, unknownShare: 0.2, indexShare: 0, values: 2 }
const large: Shape = { operations: 5000, clients: 8, unknownShare: 0.05, indexShare: 1, values: 0 }

function at(callMs: number, returnMs: number, action: Action, client = 'a'): Operation {
  return { ...action, client, key: 'k', callMs, returnMs }
}

function put(value: string, index: number | null = null): Action {
  return { type: 'put', value, outcome: { type: 'ok', index } }
}

function putUnknown(value: string): Action {
  return { type: 'put', value, outcome: { type: 'unknown' } }
}

function cas(expectedIndex: number, value: string, index: number | null = null): Action {
  return { type: 'cas', expectedIndex, value, outcome: { type: 'ok', index } }
}

function refused(expectedIndex: number, found: string | null, index: number | null): Action {
  const outcome = { type: 'refused', found: { value: found, index } } as const
  return { type: 'cas', expectedIndex, value: 'refused', outcome }
}

function read(value: string | null, index: number | null = null): Action {
  return { type: 'read', outcome: { type: 'ok', seen: { value, index } } }
}

const deleteUnknown: Action = { type: 'delete', outcome: { type: 'unknown' } }
const deleted: Action = { type: 'delete', outcome: { type: 'ok' } }

void t.test('small histories are judged by the rule', (t) => {
  const failedCas: Action = {
    type: 'cas',
    expectedIndex: 0,
    value: 'x',
    outcome: { type: 'failed' },
  }
  // oxfmt-ignore
  const table: [string, Operation[], Verdict['type']][] = [
    ['nothing happened',                 [],                                                              'linearizable'],
    ['a read of what was written',       [at(0, 1, put('x')), at(2, 3, read('x'))],                       'linearizable'],
    ['a stale read',                     [at(0, 1, put('x')), at(2, 3, put('y')), at(4, 5, read('x'))],   'violation'],
    ['an old value during a write',      [at(0, 1, put('x')), at(2, 5, put('y')), at(3, 4, read('x'))],   'linearizable'],
    ['a value that goes back',           [at(0, 9, put('x')), at(1, 2, read('x')), at(3, 4, read(null))], 'violation'],
    ['a lost write',                     [at(0, 1, put('x')), at(2, 3, read(null))],                      'violation'],
    ['an unknown write read later',      [at(0, 1, putUnknown('x')), at(2, 3, read(null)), at(4, 5, read('x'))], 'linearizable'],
    ['an unknown write never seen',      [at(0, 1, putUnknown('x')), at(2, 3, read(null))],               'linearizable'],
    ['an unknown write applied twice',   [at(0, 1, putUnknown('x')), at(2, 3, read('x')), at(4, 5, put('y')), at(6, 7, read('x'))], 'violation'],
    ['an unknown write undone',          [at(0, 1, putUnknown('x')), at(2, 3, read('x')), at(4, 5, read(null))], 'violation'],
    ['an unknown delete between reads',  [at(0, 1, put('x')), at(2, 3, deleteUnknown), at(4, 5, read('x')), at(6, 7, read(null))], 'linearizable'],
    ['one unknown delete, two needed',   [at(0, 1, put('x')), at(2, 3, deleteUnknown), at(4, 5, read(null)), at(6, 7, put('y')), at(8, 9, read(null))], 'violation'],
    ['a failed cas that took effect',    [at(0, 1, failedCas), at(2, 3, read('x'))],                      'violation'],
    ['a cas on the right index',         [at(0, 1, put('x', 5)), at(2, 3, cas(5, 'y', 7)), at(4, 5, read('y', 7))], 'linearizable'],
    ['a cas on a superseded index',      [at(0, 1, put('x', 5)), at(2, 3, put('y', 6)), at(4, 5, cas(5, 'z', 7))], 'violation'],
    ['two creations of one key',         [at(0, 9, cas(0, 'x', 5)), at(0, 9, cas(0, 'y', 6))],            'violation'],
    ['a creation after a delete',        [at(0, 9, cas(0, 'x', 5)), at(0, 9, cas(0, 'y', 6)), at(0, 9, deleted)], 'linearizable'],
    ['a refusal that tells the truth',   [at(0, 1, put('x', 5)), at(2, 3, refused(4, 'x', 5))],           'linearizable'],
    ['a refusal of the right index',     [at(0, 1, put('x', 5)), at(2, 3, refused(5, 'x', 5))],           'violation'],
    ['a refusal that found a stale row', [at(0, 1, put('x', 5)), at(2, 3, put('y', 6)), at(4, 5, refused(1, 'x', 5))], 'violation'],
    ['an index that goes back',          [at(0, 1, put('x', 5)), at(2, 3, put('y', 4))],                  'violation'],
    ['one value seen at two indexes',    [at(0, 1, putUnknown('x')), at(2, 3, read('x', 5)), at(4, 5, read('x', 6))], 'violation'],
    ['a value nobody wrote',             [at(0, 1, put('x')), at(2, 3, read('z'))],                       'violation'],
  ]
  for (const [name, history, expected] of table) {
    t.equal(checkLinearizability(history).type, expected, name)
  }
  t.end()
})

void t.test(
  'the explanation names the key, the shortest failing prefix and its last operation',
  (t) => {
    const later = Array.from({ length: 20 }, (_, i) => at(100 + i, 100.5 + i, put(`later${i}`)))
    const bad = at(4, 5, read('x'), 'reader')
    const verdict = checkLinearizability([at(0, 1, put('x')), at(2, 3, put('y')), bad, ...later])
    if (verdict.type !== 'violation') return t.fail(`judged ${verdict.type}`)
    t.equal(verdict.key, 'k')
    t.equal(verdict.prefix, 3)
    t.same(verdict.culprit, bad)
    t.match(verdict.explanation, 'reader: read -> x')
    t.notMatch(verdict.explanation, 'later')
    return t.end()
  },
)

void t.test('the first bad key in the order of names is reported', (t) => {
  const lost = (key: string): Operation[] => [
    { ...at(0, 1, put('x')), key },
    { ...at(2, 3, read(null)), key },
  ]
  const good = { ...at(0, 1, put('x')), key: 'a' }
  const verdict = checkLinearizability([...lost('c'), good, ...lost('b')])
  t.match(verdict, { type: 'violation', key: 'b' })
  t.end()
})

void t.test('a search over its bound is called undecided, never good', (t) => {
  const verdict = checkLinearizability(randomHistory(seededRandom(seed), hard), {
    effortMax: 10,
  })
  t.equal(verdict.type, 'undecided')
  t.end()
})

void t.test(`agrees with trying every order, on random small histories, seed ${seed}`, (t) => {
  const random = seededRandom(seed)
  const tally = { good: 0, bad: 0 }
  for (let round = 0; round < 6000; round += 1) {
    const shape = round % 2 === 0 ? small : { ...small, values: 0 }
    const history = spoil(random, randomHistory(random, shape))
    const expected = someOrderExplains(history)
    tally[expected ? 'good' : 'bad'] += 1
    const verdict = checkLinearizability(history).type
    const right = verdict === (expected ? 'linearizable' : 'violation')
    if (!right) return t.fail(`round ${round}: ${verdict}: ${JSON.stringify(history)}`)
  }
  t.ok(tally.good > 1000, `${tally.good} good histories`)
  t.ok(tally.bad > 1000, `${tally.bad} bad histories`)
  return t.end()
})

void t.test(`thousands of operations by eight clients are judged, seed ${seed}`, (t) => {
  const history = randomHistory(seededRandom(seed), large)
  const verdict = checkLinearizability(history)
  t.equal(verdict.type, 'linearizable')
  t.comment(verdict)

  const reads = history.filter((operation) => operation.type === 'read')
  const victim = reads[Math.floor(reads.length * 0.7)]
  const early = reads.find(({ outcome }) => outcome.type === 'ok' && outcome.seen.value !== null)
  const stale = history.map((operation): Operation =>
    operation === victim && early?.type === 'read'
      ? { ...victim, type: 'read', outcome: early.outcome }
      : operation,
  )
  const found = checkLinearizability(stale)
  t.equal(found.type, 'violation', 'a stale read far into the history is found')
  t.end()
})

// --- the stupid implementation

/** Tries every order and every subset of the unknown. For a handful of operations only. */
function someOrderExplains(history: readonly Operation[]): boolean {
  const rest = history.filter((operation) => stepOf(operation) !== null)
  return explains(emptyRegister, rest)
}

function explains(state: Register, rest: readonly Operation[]): boolean {
  if (rest.every(({ outcome }) => outcome.type === 'unknown')) return true
  return rest.some((operation) => {
    const others = rest.filter((other) => other !== operation)
    const preceded = others.some(
      (other) => other.outcome.type !== 'unknown' && other.returnMs < operation.callMs,
    )
    const step = stepOf(operation)
    const after = preceded || step === null ? null : advance(state, step)
    return after !== null && explains(after, others)
  })
}

// --- histories that a right register could have given

/** Clients call, take effect at a moment of their own (or never), and return; each one thing at a time. */
function randomHistory(random: Random, shape: Shape): Operation[] {
  const history: Operation[] = []
  const freeAt = Array.from({ length: shape.clients }, () => random.next() * 5)
  const plans: { callMs: number; effectMs: number; returnMs: number; client: string }[] = []
  for (let made = 0; made < shape.operations; made += 1) {
    const client = freeAt.indexOf(Math.min(...freeAt))
    const callMs = Math.round((freeAt[client] ?? 0) + random.next() * 2)
    const returnMs = callMs + randomInteger(random, 0, 8)
    freeAt[client] = returnMs + 1
    const effectMs = callMs + (returnMs - callMs) * random.next()
    plans.push({ callMs, effectMs, returnMs, client: `c${client}` })
  }
  let state = emptyRegister
  let index = 0
  for (const plan of plans.sort((a, b) => a.effectMs - b.effectMs)) {
    index += 1
    const { callMs, returnMs, client } = plan
    const unknown = random.next() < shape.unknownShare
    const effective = !unknown || random.next() < 0.5
    const value = shape.values === 0 ? `v${index}` : `v${randomInteger(random, 0, shape.values)}`
    const shown = random.next() < shape.indexShare ? index : null
    const outcome = unknown
      ? ({ type: 'unknown' } as const)
      : ({ type: 'ok', index: shown } as const)
    const record = (action: Action): void => {
      history.push({ ...action, client, key: 'k', callMs, returnMs })
    }
    const seen = {
      value: state.value,
      index: random.next() < shape.indexShare ? state.index : null,
    }
    const kind = random.next()
    if (kind < 0.35) record({ type: 'read', outcome: { type: 'ok', seen } })
    else if (kind < 0.6) {
      record({ type: 'put', value, outcome })
      if (effective) state = { value, index, floor: index }
    } else if (kind < 0.7) {
      record({ type: 'delete', outcome: unknown ? { type: 'unknown' } : { type: 'ok' } })
      if (effective) state = { value: null, index: null, floor: index }
    } else {
      const held = state.index ?? 0
      const expectedIndex = random.next() < 0.6 ? held : randomInteger(random, 0, index)
      if (unknown || expectedIndex === held) {
        record({ type: 'cas', expectedIndex, value, outcome })
        if (effective && expectedIndex === held) state = { value, index, floor: index }
      } else {
        record({ type: 'cas', expectedIndex, value, outcome: { type: 'refused', found: seen } })
      }
    }
  }
  return history.sort((a, b) => a.callMs - b.callMs)
}

/** Half of the time, changes one answer into a likely lie. */
function spoil(random: Random, history: Operation[]): Operation[] {
  if (random.next() < 0.5) return history
  const at = randomInteger(random, 0, history.length)
  return history.map((operation, position): Operation => {
    if (position !== at) return operation
    if (operation.type === 'read') {
      const value = random.next() < 0.3 ? null : `v${randomInteger(random, 0, 2)}`
      return { ...operation, outcome: { type: 'ok', seen: { value, index: null } } }
    }
    if (operation.type === 'delete') return { ...operation, outcome: { type: 'failed' } }
    return { ...operation, outcome: { type: 'ok', index: randomInteger(random, 1, 8) } }
  })
}
