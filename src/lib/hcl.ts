/**
 * The grammar of the HCL that people write, for agents and for policies: attributes, blocks with labels, strings,
 * heredocs, numbers, booleans, lists, objects and comments. Templates, references and functions are refused, never
 * guessed; `hcl-expression.ts` reads them. Values are kept in maps and lists with their positions, so that no name in a file can touch a prototype.
 */
import { MusterError } from './errors.ts'
import { HclScanner, type HclPosition } from './hcl-scanner.ts'

export type { HclPosition } from './hcl-scanner.ts'

export const HCL_LENGTH_MAX = 1024 * 1024
export const HCL_DEPTH_MAX = 32

export type HclValue =
  | { readonly type: 'string'; readonly value: string; readonly position: HclPosition }
  | { readonly type: 'number'; readonly value: number; readonly position: HclPosition }
  | { readonly type: 'boolean'; readonly value: boolean; readonly position: HclPosition }
  | { readonly type: 'null'; readonly position: HclPosition }
  | {
      readonly type: 'list'
      readonly items: readonly HclValue[]
      /** Each item is there once, and texts and numbers are in order. */
      readonly isSet?: true
      readonly position: HclPosition
    }
  | {
      readonly type: 'object'
      readonly entries: ReadonlyMap<string, HclValue>
      readonly position: HclPosition
    }

export type HclBlock<Value = HclValue> = {
  readonly name: string
  readonly labels: readonly string[]
  readonly body: HclBody<Value>
  readonly position: HclPosition
}

export type HclBody<Value = HclValue> = {
  /** A name stands for one attribute at most, and never for an attribute and a block. */
  readonly attributes: ReadonlyMap<string, Value>
  /** In the order of the file; several may bear one name. */
  readonly blocks: readonly HclBlock<Value>[]
  /** Of the name of each attribute, and of the first block of each name. */
  readonly positions: ReadonlyMap<string, HclPosition>
}

/** Reads the value of an attribute. */
type ReadValue<Value> = (scanner: HclScanner, depth: number) => Value

/** Throws `invalid_argument` with `file:line:column` and what would be right. */
export function parseHcl(text: string, file: string): HclBody {
  return parseHclWith(text, file, parseValue)
}

/** As `parseHcl`, with values of another grammar. */
export function parseHclWith<Value>(
  text: string,
  file: string,
  readValue: ReadValue<Value>,
): HclBody<Value> {
  if (text.length > HCL_LENGTH_MAX) {
    throw new MusterError(
      'too_large',
      `${file}: the file has ${text.length} letters; at most ${HCL_LENGTH_MAX} are read`,
    )
  }
  const scanner = new HclScanner(text, file)
  const body = parseBody(scanner, 0, readValue)
  if (!scanner.atEnd()) scanner.fail('this } closes nothing')
  return body
}

function parseBody<Value>(
  scanner: HclScanner,
  depth: number,
  readValue: ReadValue<Value>,
): HclBody<Value> {
  checkDepth(scanner, depth)
  const attributes = new Map<string, Value>()
  const blocks: HclBlock<Value>[] = []
  const positions = new Map<string, HclPosition>()
  for (;;) {
    scanner.skipBlank()
    if (scanner.atEnd() || scanner.peek() === '}') return { attributes, blocks, positions }
    const position = scanner.position()
    const name = scanner.name()
    if (name === null) {
      scanner.fail(`expected the name of an attribute or a block, found ${scanner.describeNext()}`)
    }
    scanner.skipSpace()
    const attribute = scanner.takeIf('=')
    const first = positions.get(name)
    if (first !== undefined && (attribute || attributes.has(name))) {
      scanner.fail(`${name} is set twice, first in line ${first.line}`, position)
    }
    positions.set(name, first ?? position)
    if (attribute) {
      scanner.skipSpace()
      attributes.set(name, readValue(scanner, depth + 1))
    } else {
      blocks.push(parseBlock(scanner, { depth, name, position }, readValue))
    }
    endOfItem(scanner, name)
  }
}

function parseBlock<Value>(
  scanner: HclScanner,
  {
    depth,
    name,
    position,
  }: { readonly depth: number; readonly name: string; readonly position: HclPosition },
  readValue: ReadValue<Value>,
): HclBlock<Value> {
  const labels: string[] = []
  for (;;) {
    scanner.skipSpace()
    if (scanner.takeIf('{')) break
    const label = scanner.peek() === '"' ? scanner.quoted() : scanner.name()
    if (label === null) {
      scanner.fail(
        `after ${name} comes = and a value, or { and a block, not ${scanner.describeNext()}`,
      )
    }
    labels.push(label)
  }
  const body = parseBody(scanner, depth + 1, readValue)
  if (!scanner.takeIf('}')) scanner.fail(`the block ${name} is never closed with }`, position)
  return { name, labels, body, position }
}

function endOfItem(scanner: HclScanner, name: string): void {
  scanner.skipSpace()
  if (scanner.atEnd() || scanner.peek() === '}' || scanner.takeNewline()) return
  scanner.fail(`expected the end of the line after ${name}, found ${scanner.describeNext()}`)
}

function parseValue(scanner: HclScanner, depth: number): HclValue {
  checkDepth(scanner, depth)
  const position = scanner.position()
  const letter = scanner.peek()
  if (letter === '"') return { type: 'string', value: scanner.quoted(), position }
  if (letter === '[') return { type: 'list', items: parseList(scanner, depth), position }
  if (letter === '{') return { type: 'object', entries: parseObject(scanner, depth), position }
  if (scanner.lookingAt('<<')) return { type: 'string', value: scanner.heredoc(), position }
  const number = scanner.number()
  if (number !== null) return { type: 'number', value: number, position }
  const word = scanner.name()
  if (word === 'true' || word === 'false') {
    return { type: 'boolean', value: word === 'true', position }
  }
  if (word === 'null') return { type: 'null', position }
  if (word === null) scanner.fail(`expected a value, found ${scanner.describeNext()}`, position)
  return scanner.fail(`${word} is no value; write text in quotes, as in "${word}"`, position)
}

function parseList(scanner: HclScanner, depth: number): readonly HclValue[] {
  const position = scanner.position()
  scanner.takeIf('[')
  const items: HclValue[] = []
  for (;;) {
    scanner.skipBlank()
    if (scanner.takeIf(']')) return items
    if (scanner.atEnd()) scanner.fail('this list is never closed with ]', position)
    items.push(parseValue(scanner, depth + 1))
    scanner.skipBlank()
    if (!scanner.takeIf(',') && scanner.peek() !== ']') {
      if (scanner.atEnd()) scanner.fail('this list is never closed with ]', position)
      scanner.fail(`items of a list are separated by commas, found ${scanner.describeNext()}`)
    }
  }
}

function parseObject(scanner: HclScanner, depth: number): ReadonlyMap<string, HclValue> {
  const position = scanner.position()
  scanner.takeIf('{')
  const entries = new Map<string, HclValue>()
  for (;;) {
    scanner.skipBlank()
    if (scanner.takeIf('}')) return entries
    if (scanner.atEnd()) scanner.fail('this object is never closed with }', position)
    const keyPosition = scanner.position()
    const key = scanner.peek() === '"' ? scanner.quoted() : scanner.name()
    if (key === null) scanner.fail(`expected a key, found ${scanner.describeNext()}`)
    if (entries.has(key)) scanner.fail(`${key} is set twice in this object`, keyPosition)
    scanner.skipSpace()
    if (!scanner.takeIf('=') && !scanner.takeIf(':')) {
      scanner.fail(`after the key ${key} comes = and a value, not ${scanner.describeNext()}`)
    }
    scanner.skipSpace()
    entries.set(key, parseValue(scanner, depth + 1))
    scanner.skipSpace()
    if (!scanner.takeIf(',') && !scanner.takeNewline() && scanner.peek() !== '}') {
      if (scanner.atEnd()) scanner.fail('this object is never closed with }', position)
      scanner.fail(`expected a comma or the end of the line, found ${scanner.describeNext()}`)
    }
  }
}

export function checkDepth(scanner: HclScanner, depth: number): void {
  if (depth > HCL_DEPTH_MAX) scanner.fail(`blocks and values nest deeper than ${HCL_DEPTH_MAX}`)
}
