/** Whether values are the same, and the distinct ones of a list. */
import type { HclValue } from '../hcl.ts'
import { textOf, type HclList } from '../hcl-value.ts'
import type { HclCall } from './call.ts'
import { jsonOf } from './json.ts'

/** `read` is told of the letters of each pair that is compared. */
export function isSame(left: HclValue, right: HclValue, read: (letters: number) => void): boolean {
  read(left.type === 'string' ? left.value.length : 0)
  if (left.type === 'list') {
    return (
      right.type === 'list' &&
      left.items.length === right.items.length &&
      left.items.every((item, index) => isSame(item, right.items[index] ?? left, read))
    )
  }
  if (left.type === 'object') {
    if (right.type !== 'object' || left.entries.size !== right.entries.size) return false
    for (const [key, item] of left.entries) {
      const other = right.entries.get(key)
      if (other === undefined || !isSame(item, other, read)) return false
    }
    return true
  }
  if (left.type === 'null' || right.type === 'null') return left.type === right.type
  return left.type === right.type && left.value === right.value
}

/** The first of each. */
export function distinctOf(items: readonly HclValue[], call: HclCall): readonly HclValue[] {
  const seen = new Map<string, HclValue>()
  for (const item of items) {
    const key = keyOf(item, call)
    if (!seen.has(key)) seen.set(key, item)
  }
  return [...seen.values()]
}

/** The same for values that are the same. */
export function keyOf(value: HclValue, call: HclCall): string {
  if (value.type === 'list' || value.type === 'object') return jsonOf(value, call)
  const text = textOf(value) ?? ''
  call.read(text.length)
  return `${value.type} ${text}`
}

/** Texts and numbers come in order; of texts and other simple values, all are texts. */
export function setOf(items: readonly HclValue[], call: HclCall): HclList {
  const types = new Set(items.map(({ type }) => type))
  const unified =
    types.size > 1 && !types.has('list') && !types.has('object') && !types.has('null')
      ? items.map((item) => call.newText(textOf(item) ?? ''))
      : items
  const distinct = [...distinctOf(unified, call)]
  call.spend(distinct.length)
  distinct.sort((left, right) => {
    if (left.type === 'string' && right.type === 'string') {
      return call.compare(left.value, right.value)
    }
    if (left.type === 'number' && right.type === 'number') return left.value - right.value
    return left.type === 'boolean' && right.type === 'boolean'
      ? Number(left.value) - Number(right.value)
      : 0
  })
  return { type: 'list', items: distinct, isSet: true, position: call.position }
}
