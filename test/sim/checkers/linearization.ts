/**
 * Finds an order in which the operations on one register could have taken effect.
 *
 * The search is Wing and Gong's, with Lowe's memory of configurations already tried ("Testing for
 * linearizability", 2017): depth first over which operation came next. Five things keep it short, none of
 * which loses an answer:
 *  - an observation that fits the present state comes next at once, since it changes nothing;
 *  - writes with known indexes come in the order of their indexes;
 *  - a value that cannot come again stays until all who saw it have had their turn;
 *  - an operation of unknown outcome comes next only if something that depends on the state can follow
 *    it directly, for otherwise leaving it out gives the same; those alike come in the order of calls;
 *  - a configuration that used up more of the unknown operations than a failed one fails as well.
 */
import {
  advance,
  emptyRegister,
  stepOf,
  type Operation,
  type Register,
  type Step,
} from './register.ts'

export type Limits = {
  /** Configurations entered or compared in one search; each entered one costs about 200 bytes. */
  readonly effortMax: number
}

export const defaultLimits: Limits = { effortMax: 2_000_000 }

export type SearchResult = {
  readonly type: 'possible' | 'impossible' | 'undecided'
  readonly effort: number
}

type Candidate = {
  readonly step: Step
  readonly callMs: number
  readonly returnMs: number
}

type Frame = {
  readonly state: Register
  readonly used: readonly number[]
  readonly choices: readonly number[]
  next: number
  /** Made last from this frame: definite operations count from 0, unknown ones after them. */
  taken: number
}

export function findOrder(operations: readonly Operation[], limits: Limits): SearchResult {
  const { definite, unknown, observersLeft } = prepare(operations)
  const inIndexOrder = definite
    .flatMap(({ step }, position) => {
      const index = step.type === 'write' || step.type === 'swap' ? step.index : null
      return index === null ? [] : [{ position, index }]
    })
    .sort((a, b) => a.index - b.index)
  const rankOf = new Map(inIndexOrder.map(({ position }, rank) => [position, rank]))
  const done = new Uint8Array(definite.length + unknown.length)
  /** Without what was used up; then the sets of unknown operations used up when it was tried. */
  const tried = new Map<string, (readonly number[])[]>()
  let effort = 0
  const frames: Frame[] = []
  let state = emptyRegister
  let used: readonly number[] = []
  let frontier = 0
  let highest = -1
  let remaining = definite.length
  let nextRank = 0

  const candidateAt = (id: number): Candidate => {
    const found = id < definite.length ? definite[id] : unknown[id - definite.length]
    if (found === undefined) throw new RangeError(`no operation ${id}`)
    return found
  }

  const take = (id: number): void => {
    done[id] = 1
    if (id >= definite.length) {
      used = [...used, id].sort((a, b) => a - b)
      return
    }
    remaining -= 1
    countObserver(id, -1)
    if (rankOf.has(id)) nextRank += 1
    if (id > highest) highest = id
    while (frontier < definite.length && done[frontier] === 1) frontier += 1
  }

  const release = (id: number): void => {
    done[id] = 0
    if (id >= definite.length) return
    remaining += 1
    countObserver(id, 1)
    if (rankOf.has(id)) nextRank -= 1
    if (id < frontier) frontier = id
    while (highest >= 0 && done[highest] === 0) highest -= 1
  }

  const countObserver = (id: number, by: 1 | -1): void => {
    const { step } = candidateAt(id)
    if (step.type !== 'observe' || step.seen.value === null) return
    const left = observersLeft.get(step.seen.value)
    if (left !== undefined) observersLeft.set(step.seen.value, left + by)
  }

  const configurationKey = (): string => {
    let beyond = ''
    for (let from = frontier; from <= highest; from += 16) {
      let bits = 0
      for (let at = from; at < from + 16 && at <= highest; at += 1) {
        if (done[at] === 1) bits |= 1 << (at - from)
      }
      beyond += String.fromCharCode(bits)
    }
    return `${frontier}|${beyond}|${state.value ?? '\u0000'}|${state.index}|${state.floor}`
  }

  const isNew = (): boolean => {
    const key = configurationKey()
    const before = tried.get(key)
    if (before === undefined) tried.set(key, [used])
    else {
      effort += before.length
      if (before.some((set) => isSubset(set, used))) return false
      before.push(used)
    }
    return true
  }

  /** What may come next; a single entry where the choice is forced. */
  const choices = (): readonly number[] => {
    const called: number[] = []
    let earliestReturnMs = Infinity
    for (let id = frontier; id < definite.length; id += 1) {
      const candidate = candidateAt(id)
      if (candidate.callMs > earliestReturnMs) break
      if (done[id] === 1) continue
      earliestReturnMs = Math.min(earliestReturnMs, candidate.returnMs)
      called.push(id)
    }
    const definiteCount = called.length
    const alike = new Set<string>()
    for (let id = definite.length; id < done.length; id += 1) {
      const candidate = candidateAt(id)
      if (candidate.callMs > earliestReturnMs) break
      if (done[id] === 1) continue
      const { step } = candidate
      if (step.type !== 'swap') {
        const kind = step.type === 'write' ? `write ${step.value}` : step.type
        if (alike.has(kind)) continue
        alike.add(kind)
      }
      called.push(id)
    }
    const result: number[] = []
    const mustStay = state.value !== null && (observersLeft.get(state.value) ?? 0) > 0
    for (const [position, id] of called.entries()) {
      const { step } = candidateAt(id)
      if (mustStay && step.type !== 'observe') continue
      if (step.type === 'erase' && position >= definiteCount && state.value === null) continue
      const rank = rankOf.get(id)
      if (rank !== undefined && rank !== nextRank) continue
      const after = advance(state, step)
      if (after === null) continue
      if (step.type === 'observe' && after === state) return [id]
      if (position < definiteCount || enables(after, called, id)) result.push(id)
    }
    return result
  }

  const enables = (after: Register, called: readonly number[], self: number): boolean =>
    called.some((id) => {
      const { step } = candidateAt(id)
      const depends = step.type === 'observe' || step.type === 'swap'
      return depends && id !== self && done[id] === 0 && advance(after, step) !== null
    })

  for (;;) {
    if (remaining === 0) return { type: 'possible', effort }
    if (isNew()) {
      if (effort >= limits.effortMax) return { type: 'undecided', effort }
      effort += 1
      frames.push({ state, used, choices: choices(), next: 0, taken: -1 })
    }
    let chosen = -1
    while (chosen < 0) {
      const frame = frames.at(-1)
      if (frame === undefined) return { type: 'impossible', effort }
      undo(frame)
      chosen = frame.choices[frame.next] ?? -1
      if (chosen < 0) {
        frames.pop()
        continue
      }
      frame.next += 1
      frame.taken = chosen
      const after = advance(state, candidateAt(chosen).step)
      if (after === null) throw new RangeError('a choice must be possible')
      take(chosen)
      state = after
    }
  }

  function undo(frame: Frame): void {
    if (frame.taken >= 0) release(frame.taken)
    frame.taken = -1
    state = frame.state
    used = frame.used
  }
}

/** Stands for every value of unknown outcome that no one saw: they cannot be told apart. */
const unseenValue = '\u0001'

/** Both sorted. */
function isSubset(part: readonly number[], whole: readonly number[]): boolean {
  if (part.length > whole.length) return false
  let at = 0
  for (const id of whole) if (part[at] === id) at += 1
  return at === part.length
}

type Prepared = {
  readonly definite: readonly Candidate[]
  readonly unknown: readonly Candidate[]
  /** For values with one writer: how many definite observations of it are still to come. */
  readonly observersLeft: Map<string, number>
}

/**
 * Sorted by call. Learns what observations tell about writes: where one operation alone can have written
 * a value, that was seen with the index of its write, and the write took effect before its first observer
 * returned, even if its own outcome is unknown.
 */
function prepare(operations: readonly Operation[]): Prepared {
  const writers = new Map<string, number>()
  const seenIndexes = new Map<string, number>()
  /** When the first that saw a value had returned. */
  const seenByMs = new Map<string, number>()
  const settledIndexes = new Set<number>([0])
  for (const operation of operations) {
    const step = stepOf(operation)
    if (step?.type === 'write' || step?.type === 'swap') {
      writers.set(step.value, (writers.get(step.value) ?? 0) + 1)
      if (step.index !== null) settledIndexes.add(step.index)
    }
    if (step?.type === 'observe' && step.seen.value !== null) {
      const earlierMs = seenByMs.get(step.seen.value) ?? Infinity
      seenByMs.set(step.seen.value, Math.min(earlierMs, operation.returnMs))
      if (step.seen.index !== null) {
        seenIndexes.set(step.seen.value, step.seen.index)
        settledIndexes.add(step.seen.index)
      }
    }
  }
  // An index nobody saw could be that of any unseen write, which then cannot be left out.
  const guessed = operations.some((operation) => {
    const step = stepOf(operation)
    if (step?.type !== 'swap' || settledIndexes.has(step.expectedIndex)) return false
    return operation.outcome.type === 'ok' || seenByMs.has(step.value)
  })
  const definite: Candidate[] = []
  const unknown: Candidate[] = []
  for (const operation of operations) {
    let step = stepOf(operation)
    if (step === null) continue
    let unknownOutcome = operation.outcome.type === 'unknown'
    let { returnMs } = operation
    if (step.type === 'write' || step.type === 'swap') {
      const seenMs = seenByMs.get(step.value)
      if (unknownOutcome && seenMs === undefined) {
        if (!guessed) continue
        step = { ...step, value: unseenValue }
      } else if (writers.get(step.value) === 1) {
        step = { ...step, index: step.index ?? seenIndexes.get(step.value) ?? null }
        if (unknownOutcome && seenMs !== undefined) {
          unknownOutcome = false
          returnMs = seenMs
        }
      }
    }
    if (unknownOutcome) unknown.push({ step, callMs: operation.callMs, returnMs: Infinity })
    else definite.push({ step, callMs: operation.callMs, returnMs })
  }
  const observersLeft = new Map<string, number>()
  for (const { step } of definite) {
    if (step.type !== 'observe' || step.seen.value === null) continue
    if (writers.get(step.seen.value) !== 1) continue
    observersLeft.set(step.seen.value, (observersLeft.get(step.seen.value) ?? 0) + 1)
  }
  const byCall = (a: Candidate, b: Candidate): number => a.callMs - b.callMs
  return { definite: definite.sort(byCall), unknown: unknown.sort(byCall), observersLeft }
}
