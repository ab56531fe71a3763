/** Values to JSON and back, as Nomad writes it: keys in order, and no letter that HTML takes for its own. */
import { MusterError } from '../errors.ts'
import { parseJson, isObject, type Json } from '../exact-json.ts'
import { HCL_DEPTH_MAX, type HclValue } from '../hcl.ts'
import { literal, textOf } from '../hcl-value.ts'
import type { HclCall } from './call.ts'

export function jsonOf(value: HclValue, call: HclCall): string {
  const pieces: string[] = []
  let length = 0
  const add = (piece: string): void => {
    length += piece.length
    call.checkRoom(length)
    pieces.push(piece)
  }
  write(value, call, add)
  return pieces.join('')
}

function write(value: HclValue, call: HclCall, add: (piece: string) => void): void {
  call.spend(1)
  switch (value.type) {
    case 'null':
      return add('null')
    case 'string':
      return add(quoted(value.value, call))
    case 'number':
    case 'boolean':
      return add(textOf(value) ?? '')
    case 'list':
      for (const [index, item] of value.items.entries()) {
        add(index === 0 ? '[' : ',')
        write(item, call, add)
      }
      return add(value.items.length === 0 ? '[]' : ']')
    case 'object':
      for (const [index, [key, item]] of call.sortedEntries(value.entries).entries()) {
        add(index === 0 ? '{' : ',')
        add(`${quoted(key, call)}:`)
        write(item, call, add)
      }
      return add(value.entries.size === 0 ? '{}' : '}')
  }
}

function quoted(text: string, call: HclCall): string {
  call.checkRoom(text.length)
  call.read(text.length)
  const escape = (letter: string): string =>
    `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(text).replaceAll(/[<>&\u2028\u2029]/g, escape)
}

/** What `jsondecode()` comes to. */
export function valueOfJson(text: string, call: HclCall): HclValue {
  // The parser makes an object for as few as two letters, before anything else can be counted.
  call.spend(text.length >> 1)
  return valueOf(parsed(text, call), call, 0)
}

function parsed(text: string, call: HclCall): Json {
  try {
    return parseJson(text, 'the text')
  } catch (error) {
    if (!(error instanceof MusterError)) throw error
    return call.fail(error.message, 0)
  }
}

function valueOf(json: Json, call: HclCall, depth: number): HclValue {
  call.spend(1)
  if (depth > HCL_DEPTH_MAX) return call.fail(`the JSON nests deeper than ${HCL_DEPTH_MAX}`, 0)
  if (json === null || typeof json === 'boolean') return literal(json, call.position)
  if (typeof json === 'string') return call.newText(json)
  if (typeof json === 'number') return call.newNumber(json)
  if (typeof json === 'bigint') {
    return call.fail(`the number ${json} is too large to be kept exactly`, 0)
  }
  if (!isObject(json)) return call.newList(json.map((item) => valueOf(item, call, depth + 1)))
  const entries = new Map<string, HclValue>()
  for (const [key, item] of Object.entries(json)) {
    entries.set(key, valueOf(item, call, depth + 1))
  }
  return call.newObject(entries)
}
