/**
 * LDAP search filters (RFC 4515): values escaped for them, and a filter's text as the bytes that go to the directory.
 *
 * A filter is parsed once, into a tree whose values are bytes: `\c3\a9` is one letter of two bytes.
 */
import { MusterError } from '../../lib/errors.ts'
import { tagOf, type BerWriter } from './ber.ts'

/** Nested `(&(|(!…)))`. */
export const filterDepthMax = 32
export const filterLengthMax = 256 * 1_024

export type FilterNode =
  | { readonly type: 'and' | 'or'; readonly parts: readonly FilterNode[] }
  | { readonly type: 'not'; readonly part: FilterNode }
  | {
      readonly type: 'equal' | 'greater' | 'less' | 'approx'
      readonly attribute: string
      readonly value: Buffer
    }
  | { readonly type: 'present'; readonly attribute: string }
  | { readonly type: 'substrings'; readonly attribute: string; readonly pieces: readonly Buffer[] }
  | {
      readonly type: 'extensible'
      readonly attribute: string
      readonly rule: string
      readonly dnAttributes: boolean
      readonly value: Buffer
    }

const plain = /^[\x20-\x27\x2b-\x5b\x5d-\x7e]*$/

/** Everything but printable ASCII, and `* ( ) \`, as `\hh` of its UTF-8 bytes. */
export function escapeFilterValue(value: string): string {
  if (plain.test(value)) return value
  let escaped = ''
  for (const character of value) {
    if (plain.test(character)) escaped += character
    else for (const byte of Buffer.from(character)) escaped += `\\${hex(byte)}`
  }
  return escaped
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, '0')
}

/** A filter as RFC 4515 writes it, every value escaped. */
export function filterText(node: FilterNode): string {
  switch (node.type) {
    case 'and':
    case 'or':
      return `(${node.type === 'and' ? '&' : '|'}${node.parts.map(filterText).join('')})`
    case 'not':
      return `(!${filterText(node.part)})`
    case 'present':
      return `(${node.attribute}=*)`
    case 'substrings':
      return `(${node.attribute}=${node.pieces.map(valueText).join('*')})`
    case 'extensible': {
      const rule = node.rule === '' ? '' : `:${node.rule}`
      return `(${node.attribute}${node.dnAttributes ? ':dn' : ''}${rule}:=${valueText(node.value)})`
    }
    default:
      return `(${node.attribute}${operators[node.type]}${valueText(node.value)})`
  }
}

const operators = { equal: '=', greater: '>=', less: '<=', approx: '~=' } as const

/** What is not plain, byte by byte as `\hh`. */
function valueText(value: Buffer): string {
  let text = ''
  for (const byte of value) {
    const character = String.fromCharCode(byte)
    text += plain.test(character) ? character : `\\${hex(byte)}`
  }
  return text
}

/** Throws `invalid_argument` with the place of the first mistake. Blanks around the whole filter do not count. */
export function parseFilter(text: string): FilterNode {
  const trimmed = text.trim()
  if (trimmed.length > filterLengthMax) throw wrong('is too long', 0)
  const parser = new Parser(trimmed.startsWith('(') ? trimmed : `(${trimmed})`)
  return parser.whole()
}

const attributeDescription = /[A-Za-z0-9][A-Za-z0-9.-]*(?:;[A-Za-z0-9-]+)*/y
const ruleName = /[A-Za-z0-9][A-Za-z0-9.-]*/y
/** Of a value, what stands for itself. */
const plainRun = /[^*\\()\0]+/y

class Parser {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  whole(): FilterNode {
    const node = this.#node(0)
    if (this.#at !== this.#text.length) throw wrong('goes on behind its end', this.#at)
    return node
  }

  #node(depth: number): FilterNode {
    if (depth > filterDepthMax) throw wrong('is nested too deeply', this.#at)
    this.#expect('(')
    const node = this.#inside(depth)
    this.#expect(')')
    return node
  }

  #inside(depth: number): FilterNode {
    const sign = this.#text[this.#at]
    if (sign === '&' || sign === '|') {
      this.#at += 1
      const parts: FilterNode[] = []
      while (this.#text[this.#at] === '(') parts.push(this.#node(depth + 1))
      return { type: sign === '&' ? 'and' : 'or', parts }
    }
    if (sign === '!') {
      this.#at += 1
      return { type: 'not', part: this.#node(depth + 1) }
    }
    return this.#item()
  }

  #item(): FilterNode {
    const attribute = this.#match(attributeDescription)
    if (this.#text[this.#at] === ':') return this.#extensible(attribute)
    if (attribute === '') throw wrong('lacks the name of an attribute', this.#at)
    const sign = this.#text[this.#at] ?? ''
    const kinds = { '>': 'greater', '<': 'less', '~': 'approx' } as const
    if (sign === '>' || sign === '<' || sign === '~') {
      this.#at += 1
      this.#expect('=')
      const [value, ...more] = this.#pieces()
      if (value === undefined || more.length > 0) throw wrong('has a * too many', this.#at)
      return { type: kinds[sign], attribute, value }
    }
    this.#expect('=')
    const pieces = this.#pieces()
    const [value] = pieces
    if (pieces.length === 1 && value !== undefined) return { type: 'equal', attribute, value }
    if (pieces.every((piece) => piece.length === 0)) return { type: 'present', attribute }
    return { type: 'substrings', attribute, pieces }
  }

  /** Behind the attribute: `[:dn][:rule]:=value`. */
  #extensible(attribute: string): FilterNode {
    let dnAttributes = false
    let rule = ''
    while (this.#text[this.#at] === ':' && this.#text[this.#at + 1] !== '=') {
      this.#at += 1
      const word = this.#match(ruleName)
      if (word === '' || rule !== '') throw wrong('has a matching rule that is none', this.#at)
      if (word.toLowerCase() === 'dn' && !dnAttributes) dnAttributes = true
      else rule = word
    }
    this.#expect(':')
    this.#expect('=')
    if (attribute === '' && rule === '') throw wrong('lacks a matching rule', this.#at)
    const [value, ...more] = this.#pieces()
    if (value === undefined || more.length > 0) throw wrong('has a * too many', this.#at)
    return { type: 'extensible', attribute, rule, dnAttributes, value }
  }

  /** Up to the closing parenthesis, cut at each `*`. */
  #pieces(): Buffer[] {
    const pieces: Buffer[] = []
    let bytes: Buffer[] = []
    for (;;) {
      const character = this.#text[this.#at]
      if (character === undefined || character === ')') break
      if (character === '(' || character === '\0') {
        throw wrong('has a character that is to be escaped', this.#at)
      }
      if (character === '*') {
        pieces.push(joined(bytes))
        bytes = []
        this.#at += 1
      } else if (character === '\\') {
        const code = this.#text.slice(this.#at + 1, this.#at + 3)
        if (!/^[0-9A-Fa-f]{2}$/.test(code)) throw wrong('has a broken escape', this.#at)
        bytes.push(Buffer.from(code, 'hex'))
        this.#at += 3
      } else {
        bytes.push(Buffer.from(this.#match(plainRun)))
      }
    }
    pieces.push(joined(bytes))
    return pieces
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0] ?? ''
    this.#at += found.length
    return found
  }

  #expect(character: string): void {
    if (this.#text[this.#at] !== character) throw wrong(`lacks a ${character}`, this.#at)
    this.#at += 1
  }
}

function joined(bytes: readonly Buffer[]): Buffer {
  const [only] = bytes
  return bytes.length === 1 && only !== undefined ? only : Buffer.concat(bytes)
}

function wrong(what: string, at: number): MusterError {
  return new MusterError('invalid_argument', `the filter ${what}, at character ${at + 1}`)
}

/** Tags of the choice `Filter` (RFC 4511, 4.5.1.7). */
const tags = {
  and: 0xa0,
  or: 0xa1,
  not: 0xa2,
  equal: 0xa3,
  substrings: 0xa4,
  greater: 0xa5,
  less: 0xa6,
  present: 0x87,
  approx: 0xa8,
  extensible: 0xa9,
} as const

/** The filter as the directory gets it. */
export function writeFilter(writer: BerWriter, node: FilterNode): void {
  if (node.type === 'present') {
    writer.text(node.attribute, tags.present)
    return
  }
  const before = writer.length
  writeContent(writer, node)
  writer.wrap(tags[node.type], before)
}

/** The last part first, as `BerWriter` has it. */
function writeContent(writer: BerWriter, node: Exclude<FilterNode, { type: 'present' }>): void {
  switch (node.type) {
    case 'and':
    case 'or':
      for (const part of node.parts.toReversed()) writeFilter(writer, part)
      return
    case 'not':
      writeFilter(writer, node.part)
      return
    case 'substrings': {
      const before = writer.length
      writePieces(writer, node.pieces)
      writer.wrap(tagOf.sequence, before)
      writer.text(node.attribute)
      return
    }
    case 'extensible':
      if (node.dnAttributes) writer.octets(Buffer.from([0xff]), 0x84)
      writer.octets(node.value, 0x83)
      if (node.attribute !== '') writer.text(node.attribute, 0x82)
      if (node.rule !== '') writer.text(node.rule, 0x81)
      return
    default:
      writer.octets(node.value)
      writer.text(node.attribute)
  }
}

/** initial [0], any [1], final [2]; empty ones are left out. */
function writePieces(writer: BerWriter, pieces: readonly Buffer[]): void {
  const last = pieces.length - 1
  for (const [back, piece] of pieces.toReversed().entries()) {
    if (piece.length === 0) continue
    const at = last - back
    writer.octets(piece, at === 0 ? 0x80 : at === last ? 0x82 : 0x81)
  }
}
