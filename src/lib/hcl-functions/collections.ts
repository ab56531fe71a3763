/** Functions on lists and objects. */
import type { HclValue } from '../hcl.ts'
import { memberOf, nameOf, textOf } from '../hcl-value.ts'
import type { HclCall, HclFunctions } from './call.ts'
import { distinctOf, isSame } from './equality.ts'
import { reversedText } from './text.ts'

const anyWhole = { min: -Number.MAX_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }
const notNegative = { min: 0, max: Number.MAX_SAFE_INTEGER }

export const collectionFunctions: HclFunctions = {
  chunklist: { parameters: 'list, size', run: chunks },
  coalesce: {
    parameters: 'value, values…',
    run: (call) => {
      for (let index = 0; index < call.count; index++)
        if (!call.isNull(index)) return call.any(index)
      return call.fail('all values are null')
    },
  },
  coalescelist: {
    parameters: 'list, lists…',
    run: (call) => {
      for (let index = 0; index < call.count; index++) {
        if (!call.isNull(index) && call.list(index).length > 0) return call.any(index)
      }
      return call.fail('all lists are empty')
    },
  },
  compact: {
    parameters: 'list',
    run: (call) => {
      const items = call.list(0).filter((item) => item.type !== 'null')
      const texts = items.map((item) => textOf(item) ?? call.fail('expected a list of texts', 0))
      call.spend(call.list(0).length)
      return call.newList(items.filter((_, index) => texts[index] !== ''))
    },
  },
  concat: {
    parameters: 'list, lists…',
    run: (call) => {
      const lists = Array.from({ length: call.count }, (_, index) => call.list(index))
      call.spend(lists.reduce((sum, { length }) => sum + length, 0))
      return call.newList(lists.flat())
    },
  },
  contains: {
    parameters: 'list, value',
    run: (call) =>
      call.list(0).some((item) => isSame(item, call.any(1), (letters) => call.read(letters))),
  },
  distinct: { parameters: 'list', run: (call) => call.newList(distinctOf(call.list(0), call)) },
  element: {
    parameters: 'list, index',
    run: (call) => {
      const items = call.list(0)
      const index = call.whole(1, anyWhole) % items.length
      return items.at(index) ?? call.fail('the list is empty', 0)
    },
  },
  flatten: {
    parameters: 'list',
    run: (call) => {
      const flat: HclValue[] = []
      addFlat(call.list(0), flat, call)
      return call.newList(flat)
    },
  },
  index: {
    parameters: 'collection, key',
    run: (call) => {
      const key = call.text(1)
      const of = call.any(0)
      return memberOf(of, key) ?? call.fail(`${nameOf(of)} has no ${JSON.stringify(key)}`, 1)
    },
  },
  keys: {
    parameters: 'object',
    run: (call) =>
      call.newList(call.sortedEntries(call.object(0)).map(([key]) => call.newText(key))),
  },
  length: {
    parameters: 'collection',
    run: (call) => {
      const of = call.any(0)
      if (of.type === 'list') return of.items.length
      if (of.type === 'object') return of.entries.size
      return call.fail(`expected a list or an object, found ${nameOf(of)}; see strlen()`, 0)
    },
  },
  lookup: {
    parameters: 'object, key, default?',
    run: (call) => {
      const key = call.text(1)
      const found = call.object(0).get(key)
      if (found !== undefined) return found
      return call.count > 2 ? call.any(2) : call.fail(`there is no ${JSON.stringify(key)}`, 1)
    },
  },
  merge: { parameters: 'objects…', run: merged },
  range: { parameters: 'start, limit?, step?', run: rangeOf },
  reverse: {
    parameters: 'list or text',
    run: (call) => {
      const of = call.any(0)
      if (of.type === 'list') return call.newList(of.items.toReversed())
      return reversedText(call.text(0), call)
    },
  },
  slice: {
    parameters: 'list, begin, end',
    run: (call) => {
      const items = call.list(0)
      const end = call.whole(2, { min: 0, max: items.length })
      return call.newList(items.slice(call.whole(1, { min: 0, max: end }), end))
    },
  },
  sort: {
    parameters: 'list',
    run: (call) => {
      const texts = [...call.texts(0)].sort((left, right) => call.compare(left, right))
      return call.newList(texts.map((text) => call.newText(text)))
    },
  },
  values: {
    parameters: 'object',
    run: (call) => call.newList(call.sortedEntries(call.object(0)).map(([, value]) => value)),
  },
  zipmap: {
    parameters: 'keys, values',
    run: (call) => {
      const keys = call.texts(0)
      const values = call.list(1)
      if (keys.length !== values.length) {
        return call.fail(`there are ${keys.length} keys and ${values.length} values`, 1)
      }
      return call.newObject(new Map(keys.map((key, index) => [key, values[index] ?? call.any(1)])))
    },
  },
}

function chunks(call: HclCall): HclValue {
  const items = call.list(0)
  const size = call.whole(1, notNegative) || Math.max(items.length, 1)
  call.spend(items.length)
  const lists: HclValue[] = []
  for (let at = 0; at < items.length; at += size) {
    lists.push(call.newList(items.slice(at, at + size)))
  }
  return call.newList(lists)
}

function addFlat(items: readonly HclValue[], flat: HclValue[], call: HclCall): void {
  for (const item of items) {
    call.spend(1)
    if (item.type === 'list') addFlat(item.items, flat, call)
    else flat.push(item)
  }
}

/** Later ones win. */
function merged(call: HclCall): HclValue {
  const entries = new Map<string, HclValue>()
  for (let index = 0; index < call.count; index++) {
    if (call.isNull(index)) continue
    const object = call.object(index)
    call.spend(object.size)
    for (const [key, value] of object) entries.set(key, value)
  }
  return call.newObject(entries)
}

function rangeOf(call: HclCall): HclValue {
  const start = call.count === 1 ? 0 : call.number(0)
  const limit = call.number(call.count === 1 ? 0 : 1)
  const step = call.count === 3 ? call.number(2) : limit < start ? -1 : 1
  if (step === 0 || (limit !== start && limit > start !== step > 0)) {
    return call.fail(`no step of ${step} leads from ${start} to ${limit}`, 2)
  }
  const length = Math.ceil((limit - start) / step)
  // Before the list is made.
  call.spend(length)
  return call.newList(Array.from({ length }, (_, index) => call.newNumber(start + index * step)))
}
