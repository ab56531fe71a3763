/**
 * Judges whether what clients saw could have come from one register per key, each operation taking effect
 * at one moment between its call and its return (Herlihy and Wing, 1990). Keys are judged apart, which is
 * sound because linearizability is local.
 */
import { defaultLimits, findOrder, type Limits } from './linearization.ts'
import { describe, type Operation } from './register.ts'

export type Verdict =
  | { readonly type: 'linearizable'; readonly effort: number }
  | {
      readonly type: 'violation'
      readonly key: string
      /** Length of the shortest failing prefix of that key's history, in finished operations. */
      readonly prefix: number
      /** The operation whose return no order explains any more. */
      readonly culprit: Operation
      readonly explanation: string
    }
  /** The bound on effort was reached: neither proved nor refuted. */
  | { readonly type: 'undecided'; readonly key: string; readonly effort: number }

/** Operations of one key shown around a violation. */
const shownMax = 25

/** Judges every key in the order of their names and returns the first verdict that is not good. */
export function checkLinearizability(
  history: readonly Operation[],
  limits: Limits = defaultLimits,
): Verdict {
  const byKey = new Map<string, Operation[]>()
  for (const operation of history) {
    const sameKey = byKey.get(operation.key)
    if (sameKey === undefined) byKey.set(operation.key, [operation])
    else sameKey.push(operation)
  }
  let effort = 0
  for (const [key, operations] of [...byKey].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const result = findOrder(operations, limits)
    effort += result.effort
    if (result.type === 'undecided') return { type: 'undecided', key, effort }
    if (result.type === 'impossible') return explain(key, operations, limits)
  }
  return { type: 'linearizable', effort }
}

/** Prefixes of a linearizable history are linearizable, so the shortest bad one is found by halving. */
function explain(key: string, operations: readonly Operation[], limits: Limits): Verdict {
  const finished = operations
    .filter(({ outcome }) => outcome.type !== 'unknown' && outcome.type !== 'failed')
    .sort((a, b) => a.returnMs - b.returnMs)
  let good = 0
  let bad = finished.length
  while (bad - good > 1) {
    const middle = (good + bad) >> 1
    const upTo = prefixOf(operations, finished, middle)
    if (findOrder(upTo, limits).type === 'impossible') bad = middle
    else good = middle
  }
  const culprit = finished[bad - 1]
  if (culprit === undefined) throw new RangeError('an empty history is linearizable')
  const shown = prefixOf(operations, finished, bad)
    .filter((operation) => operation.outcome.type !== 'failed')
    .sort((a, b) => a.callMs - b.callMs)
    .slice(-shownMax)
  const explanation = [
    `key ${key}: no order of the first ${bad} finished operations explains`,
    `  ${describe(culprit)}`,
    `the last ${shown.length} operations called before it returned (… means the outcome is unknown or pending):`,
    ...shown.map((operation) => `  ${describe(operation)}`),
  ].join('\n')
  return { type: 'violation', key, prefix: bad, culprit, explanation }
}

/** The history as it stood when the `count`-th operation returned: what had not returned is unknown. */
function prefixOf(
  operations: readonly Operation[],
  finished: readonly Operation[],
  count: number,
): Operation[] {
  const returned = new Set(finished.slice(0, count))
  const endMs = finished[count - 1]?.returnMs ?? -Infinity
  return operations.flatMap((operation): Operation[] => {
    if (operation.callMs > endMs || operation.outcome.type === 'failed') return []
    if (returned.has(operation)) return [operation]
    if (operation.type === 'read' || operation.outcome.type === 'refused') return []
    return [{ ...operation, outcome: { type: 'unknown' } }]
  })
}
