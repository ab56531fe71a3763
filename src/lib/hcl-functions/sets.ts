/** Functions on sets: lists in which everything is once, in order. */
import type { HclValue } from '../hcl.ts'
import type { HclCall, HclFunctions } from './call.ts'
import { distinctOf, keyOf, setOf } from './equality.ts'

export const setFunctions: HclFunctions = {
  setintersection: {
    parameters: 'set, sets…',
    run: (call) => withCounts(call, (count) => count === call.count),
  },
  setproduct: { parameters: 'list, lists…', run: product },
  setsubtract: {
    parameters: 'set, other',
    run: (call) => {
      const removed = new Set(call.list(1).map((item) => keyOf(item, call)))
      const kept = call.list(0).filter((item) => !removed.has(keyOf(item, call)))
      return setOf(kept, call)
    },
  },
  setunion: { parameters: 'set, sets…', run: (call) => withCounts(call, () => true) },
}

/** `isWanted` is asked with the number of sets that an item is in. */
function withCounts(call: HclCall, isWanted: (count: number) => boolean): HclValue {
  const counts = new Map<string, { readonly item: HclValue; count: number }>()
  for (let index = 0; index < call.count; index++) {
    for (const item of distinctOf(call.list(index), call)) {
      const key = keyOf(item, call)
      const entry = counts.get(key)
      if (entry === undefined) counts.set(key, { item, count: 1 })
      else entry.count += 1
    }
  }
  const wanted = [...counts.values()].filter(({ count }) => isWanted(count))
  return setOf(
    wanted.map(({ item }) => item),
    call,
  )
}

/** Every choice of an item of each list; the last list goes round fastest. */
function product(call: HclCall): HclValue {
  const lists = Array.from({ length: call.count }, (_, index) => call.list(index))
  const rows = lists.reduce((product, { length }) => product * length, 1)
  // Before the rows are made. Each is a list of its own.
  call.spend(rows * (lists.length + 1))
  const choices = Array.from({ length: rows }, (_, row) => {
    // The digits of the row's number, each to the base of a list's length, are the choice.
    let rest = row
    const choice = lists.toReversed().flatMap((list) => {
      const item = list[rest % list.length]
      rest = Math.floor(rest / list.length)
      return item === undefined ? [] : [item]
    })
    return choice.toReversed()
  })
  return call.newList(choices.map((choice) => call.newList(choice)))
}
