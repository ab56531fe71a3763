/**
 * Distinguished names (RFC 4514): values escaped for them, parsed, and in a form in which two spellings of one name are
 * equal (types and values without regard to letter case, runs of blanks as one, the parts of a multi-valued RDN in order).
 */

export type DnPart = { readonly type: string; readonly value: string }

/** First the most specific RDN; each has one part or more. */
export type Dn = readonly (readonly DnPart[])[]

/** No name is longer as a whole, nor has more RDNs. */
export const dnLengthMax = 8_192
const rdnsMax = 256

/** Names of such characters alone, which most are, stand in a DN as they are. */
const nothingToEscape = /^[A-Za-z0-9._@-]*$/

/** `name` as a value within a DN. What looks escaped is not: its backslash is escaped as well. */
export function escapeDnValue(name: string): string {
  if (nothingToEscape.test(name)) return name
  let escaped = ''
  const characters = Array.from(name)
  characters.forEach((character, at) => {
    const isFirst = at === 0
    const isLast = at === characters.length - 1
    if ('"+,;<>\\'.includes(character)) escaped += `\\${character}`
    else if (isFirst && (character === ' ' || character === '#')) escaped += `\\${character}`
    else if (isLast && character === ' ') escaped += '\\ '
    else if (/^[\x20-\x7e]$/.test(character)) escaped += character
    else for (const byte of Buffer.from(character)) escaped += `\\${hex(byte)}`
  })
  return escaped
}

const attributeType = /\s*([A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)*)\s*=/y
/** Of a value, what stands for itself; blanks count by their place. */
const plainRun = /[^,;+"<>\0\\ ]+/y

/** Null: it is none. The empty text is none here: nothing that logs in is the root of a directory. */
export function parseDn(text: string): Dn | null {
  if (text === '' || text.length > dnLengthMax) return null
  const rdns: DnPart[][] = [[]]
  let at = 0
  for (;;) {
    attributeType.lastIndex = at
    const found = attributeType.exec(text)
    if (found === null) return null
    const value = readValue(text, attributeType.lastIndex)
    if (value === null) return null
    rdns.at(-1)?.push({ type: found[1] ?? '', value: value.text })
    at = value.end
    if (at >= text.length) return rdns
    if (text[at] !== '+') rdns.push([])
    if (rdns.length > rdnsMax) return null
    at += 1
  }
}

/** Up to an unescaped `,`, `;` or `+`. */
function readValue(text: string, start: number): { text: string; end: number } | null {
  let at = start
  while (text[at] === ' ') at += 1
  const bytes: Buffer[] = []
  /** Bytes that a trailing blank may not be cut from: an escaped one stays. */
  let kept = 0
  let length = 0
  const add = (piece: Buffer, stays: boolean): void => {
    bytes.push(piece)
    length += piece.length
    if (stays) kept = length
  }
  for (; at < text.length;) {
    const character = text[at] ?? ''
    if (character === ',' || character === ';' || character === '+') break
    if ('"<>'.includes(character) || character === '\0') return null
    if (character === '\\') {
      const code = text.slice(at + 1, at + 3)
      if (/^[0-9A-Fa-f]{2}$/.test(code)) {
        add(Buffer.from(code, 'hex'), true)
        at += 3
      } else if (/^[ "#+,;<=>\\]/.test(code)) {
        add(Buffer.from(code.slice(0, 1)), true)
        at += 2
      } else return null
    } else {
      plainRun.lastIndex = at
      const run = plainRun.exec(text)?.[0] ?? character
      add(Buffer.from(run), character !== ' ')
      at += run.length
    }
  }
  return { text: Buffer.concat(bytes).subarray(0, kept).toString(), end: at }
}

/** Equal for equal names. What is no DN stands for itself, lower-cased. */
export function normalisedDn(text: string): string {
  const dn = parseDn(text)
  if (dn === null) return text.trim().toLowerCase()
  return dn
    .map((rdn) =>
      rdn
        .map(({ type, value }) => `${type.toLowerCase()}=${escapeDnValue(normalisedValue(value))}`)
        .sort()
        .join('+'),
    )
    .join(',')
}

/** Of an attribute that is compared without regard to letter case. */
export function normalisedValue(value: string): string {
  return value.normalize('NFKC').toLowerCase().trim().replaceAll(/\s+/g, ' ')
}

/** The first CN of a DN; null: there is none, or the text is no DN. */
export function commonNameOf(text: string): string | null {
  const parts = parseDn(text)?.flat() ?? []
  return parts.find(({ type }) => type.toLowerCase() === 'cn' || type === '2.5.4.3')?.value ?? null
}

/** The parts `dc=` at the end of a DN, which name a domain; null: there are none, or the text is no DN. */
export function domainOf(text: string): string | null {
  const dn = parseDn(text) ?? []
  const last = dn.findLastIndex((rdn) => rdn.length > 1 || !isDomainPart(rdn[0]))
  const domain = dn.slice(last + 1).flat()
  return domain.map(({ value }) => `dc=${escapeDnValue(value)}`).join(',') || null
}

function isDomainPart(part: DnPart | undefined): boolean {
  return part?.type.toLowerCase() === 'dc' || part?.type === '0.9.2342.19200300.100.1.25'
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, '0')
}
