/** Messages of LDAP (RFC 4511): requests as bytes, and what answers say. */
import { BerReader, BerWriter, readLength, tagOf } from './ber.ts'
import { writeFilter, type FilterNode } from './filter.ts'

/** Tags of operations. */
export const operation = {
  bind: 0x60,
  bound: 0x61,
  unbind: 0x42,
  search: 0x63,
  entry: 0x64,
  reference: 0x73,
  searchDone: 0x65,
  modify: 0x66,
  modified: 0x67,
  abandon: 0x50,
  extended: 0x77,
  extendedDone: 0x78,
} as const

export type Dereference = 'never' | 'finding' | 'searching' | 'always'

const dereferences: Readonly<Record<Dereference, number>> = {
  never: 0,
  searching: 1,
  finding: 2,
  always: 3,
}

export type Search = {
  readonly base: string
  readonly scope: 'base' | 'sub'
  readonly filter: FilterNode
  readonly attributes: readonly string[]
  /** Attributes whose values are bytes. */
  readonly binary?: readonly string[]
  readonly dereference?: Dereference
  /** 0: none. Beyond it, the search fails. */
  readonly sizeLimit?: number
  /** 0: without the paging control. */
  readonly pageSize?: number
}

export type FoundEntry = {
  readonly dn: string
  /** Of an attribute, by its name in any case. */
  values(attribute: string): readonly (string | Buffer)[]
}

export type Result = {
  readonly code: number
  /** The directory's own words. */
  readonly diagnostic: string
}

export type Envelope = { readonly id: number; readonly tag: number; readonly contentAt: number }

const pagedResults = '1.2.840.113556.1.4.319'
const simple = 0x80
const controls = 0xa0
const version = 3

/** An empty password makes it an anonymous or unauthenticated bind. */
export function bindRequest(id: number, dn: string, password: string): Buffer {
  const writer = new BerWriter()
  writer.text(password, simple)
  writer.text(dn)
  writer.integer(version)
  return message(writer, id, operation.bind, 0)
}

/** `cookie`: of the page before; empty for the first one. */
export function searchRequest(
  id: number,
  search: Search,
  timeLimitSeconds: number,
  cookie: Buffer,
): Buffer {
  const { base, scope, filter, attributes, dereference = 'never', sizeLimit = 0 } = search
  const { pageSize = 0 } = search
  const writer = new BerWriter()
  if (pageSize > 0) writePaging(writer, pageSize, cookie)
  const behind = writer.length
  for (const attribute of attributes.toReversed()) writer.text(attribute)
  writer.wrap(tagOf.sequence, behind)
  writeFilter(writer, filter)
  // Values too, not names alone.
  writer.boolean(false)
  writer.integer(timeLimitSeconds)
  writer.integer(sizeLimit)
  writer.enumerated(dereferences[dereference])
  writer.enumerated(scope === 'base' ? 0 : 2)
  writer.text(base)
  return message(writer, id, operation.search, behind)
}

/** Nothing answers it. */
export function abandonRequest(id: number, abandoned: number): Buffer {
  const writer = new BerWriter()
  writer.integer(abandoned, operation.abandon)
  writer.integer(id)
  writer.wrap(tagOf.sequence, 0)
  return writer.take()
}

/** Of RFC 2696. */
function writePaging(writer: BerWriter, pageSize: number, cookie: Buffer): void {
  const value = new BerWriter()
  value.octets(cookie)
  value.integer(pageSize)
  value.wrap(tagOf.sequence, 0)
  writer.octets(value.take())
  writer.text(pagedResults)
  writer.wrap(tagOf.sequence, 0)
  writer.wrap(controls, 0)
}

/** `behind`: the length of what follows the operation. */
function message(writer: BerWriter, id: number, tag: number, behind: number): Buffer {
  writer.wrap(tag, behind)
  writer.integer(id)
  writer.wrap(tagOf.sequence, 0)
  return writer.take()
}

/** Of a whole message: its number, the tag of its operation, and where that one's content begins. */
export function envelopeOf(message: Buffer): Envelope | null {
  const outer = readLength(message, 1)
  if (message[0] !== tagOf.sequence || outer === null || outer === 'short') return null
  if (message[outer.end] !== tagOf.integer) return null
  const size = message[outer.end + 1] ?? 0
  const idAt = outer.end + 2
  if (size < 1 || size > 4 || message.length < idAt + size + 2) return null
  const inner = readLength(message, idAt + size + 1)
  if (inner === null || inner === 'short') return null
  const tag = message[idAt + size] ?? 0
  return { id: message.readUIntBE(idAt, size), tag, contentAt: inner.end }
}

/** Of the last answer to a request. null: it is none. */
export function resultOf(message: Buffer, contentAt: number): Result | null {
  const reader = new BerReader(message, contentAt)
  const code = reader.enumerated()
  const matched = reader.octets()
  const diagnostic = reader.text()
  return code === null || matched === null || diagnostic === null ? null : { code, diagnostic }
}

/** null: it is none. `binary`: attributes whose values are bytes. */
export function entryOf(
  message: Buffer,
  contentAt: number,
  binary: readonly string[],
): FoundEntry | null {
  const reader = new BerReader(message, contentAt)
  const dn = reader.text()
  const attributes = reader.inside(tagOf.sequence)
  if (dn === null || attributes === null) return null
  const found: (readonly [name: string, values: readonly (string | Buffer)[]])[] = []
  while (attributes.hasMore) {
    const attribute = attributes.inside(tagOf.sequence)
    const name = attribute?.text()?.toLowerCase()
    const values = attribute?.inside(tagOf.set)
    if (name === undefined || values === null || values === undefined) return null
    const isBinary = binary.some((one) => one.toLowerCase() === name)
    const list: (string | Buffer)[] = []
    while (values.hasMore) {
      const value = isBinary ? values.octets() : values.text()
      if (value === null) return null
      list.push(value)
    }
    found.push([name, list])
  }
  return {
    dn,
    values: (attribute) => {
      const wanted = attribute.toLowerCase()
      return found.flatMap(([name, values]) => (name === wanted ? values : []))
    },
  }
}

/** Of the control that comes with the end of a page; empty where it was the last one. null: the control is broken. */
export function cookieOf(message: Buffer): Buffer | null {
  const whole = new BerReader(message).inside(tagOf.sequence)
  whole?.octets(tagOf.integer)
  whole?.octets(operation.searchDone)
  if (whole === null || !whole.sees(controls)) return Buffer.alloc(0)
  const list = whole.inside(controls)
  if (list === null) return null
  while (list.hasMore) {
    const control = list.inside(tagOf.sequence)
    const type = control?.text()
    if (control === null || type === null) return null
    if (type !== pagedResults) continue
    // Criticality, if it is there.
    control.octets(0x01)
    const value = control.octets()
    const fields = value === null ? null : new BerReader(value).inside(tagOf.sequence)
    // An estimate of how many there are.
    fields?.octets(tagOf.integer)
    return fields?.octets() ?? null
  }
  return Buffer.alloc(0)
}
