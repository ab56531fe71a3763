/**
 * The words of a template in the language of Go's `text/template`, as far as Nomad's users write it after `-t`:
 * text, and between `{{` and `}}` fields, variables, texts, numbers, parentheses, pipes. `{{-` and `-}}` trim blanks.
 */
import { MusterError } from '../errors.ts'

export type Token =
  | { readonly type: 'field'; readonly path: readonly string[] }
  /** Fields of what a parenthesis holds: `(index . 0).Name`. */
  | { readonly type: 'chain'; readonly path: readonly string[] }
  | { readonly type: 'variable'; readonly name: string; readonly path: readonly string[] }
  | { readonly type: 'word'; readonly word: string }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'number'; readonly value: number | bigint }
  | { readonly type: 'sign'; readonly sign: string }

export type Piece =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'action'; readonly tokens: readonly Token[]; readonly source: string }

/** Letters of a whole template. */
const templateLengthMax = 64 * 1024

export function refuse(text: string): never {
  throw new MusterError('invalid_argument', `the template: ${text}`)
}

/** Text and actions in turn; comments are gone, and blanks that were to be trimmed. */
export function scanTemplate(template: string): readonly Piece[] {
  if (template.length > templateLengthMax) refuse(`it is longer than ${templateLengthMax} letters`)
  const pieces: Piece[] = []
  let trimNext = false
  let at = 0
  while (at < template.length) {
    const open = template.indexOf('{{', at)
    let text = template.slice(at, open < 0 ? template.length : open)
    if (trimNext) text = text.trimStart()
    const trimsBefore = open >= 0 && /^\{\{-\s/.test(template.slice(open, open + 4))
    if (trimsBefore) text = text.trimEnd()
    if (text !== '') pieces.push({ type: 'text', text })
    if (open < 0) break
    const start = open + (trimsBefore ? 3 : 2)
    const comment = /^\s*\/\*[^]*?\*\/\s*?(\s-)?\}\}/.exec(template.slice(start))
    if (comment !== null) {
      at = start + comment[0].length
      trimNext = comment[1] !== undefined
      continue
    }
    const { tokens, end, trims } = scanAction(template, start)
    pieces.push({ type: 'action', tokens, source: template.slice(open, end) })
    at = end
    trimNext = trims
  }
  return pieces
}

type Action = { readonly tokens: readonly Token[]; readonly end: number; readonly trims: boolean }

const patterns = {
  blank: /\s+/y,
  end: /(\s-)?\}\}/y,
  field: /(?:\.[\p{L}_][\p{L}\p{N}_]*)+|\.(?![\p{L}\p{N}_])/uy,
  variable: /\$([\p{L}_][\p{L}\p{N}_]*)?((?:\.[\p{L}_][\p{L}\p{N}_]*)*)/uy,
  number: /[+-]?\d+(?:\.\d+)?(?![\p{L}\p{N}_.])/uy,
  word: /[\p{L}_][\p{L}\p{N}_]*/uy,
  quoted: /"(?:[^"\\\n]|\\.)*"/y,
  raw: /`[^`]*`/y,
  sign: /:=|[=|(),]/y,
} as const

function scanAction(template: string, start: number): Action {
  const tokens: Token[] = []
  let at = start
  const take = (name: keyof typeof patterns): RegExpExecArray | null => {
    const pattern = patterns[name]
    pattern.lastIndex = at
    const match = pattern.exec(template)
    if (match !== null) at = pattern.lastIndex
    return match
  }
  for (;;) {
    const end = take('end')
    if (end !== null) return { tokens, end: at, trims: end[1] !== undefined }
    if (take('blank') !== null) continue
    const isChained = template[at - 1] === ')'
    const token = scanToken(take)
    if (token !== null) {
      const chains = isChained && token.type === 'field' && token.path.length > 0
      tokens.push(chains ? { type: 'chain', path: token.path } : token)
      continue
    }
    if (at >= template.length) refuse(`${show(template.slice(start - 2))} is never closed with }}`)
    refuse(`${show(template.slice(at))} is not understood in ${show(template.slice(start - 2))}`)
  }
}

function scanToken(take: (name: keyof typeof patterns) => RegExpExecArray | null): Token | null {
  const number = take('number')
  if (number !== null) {
    const text = number[0].replace(/^\+/, '')
    return { type: 'number', value: text.includes('.') ? Number(text) : BigInt(text) }
  }
  const field = take('field')
  if (field !== null) return { type: 'field', path: pathOf(field[0]) }
  const variable = take('variable')
  if (variable !== null) {
    return { type: 'variable', name: variable[1] ?? '', path: pathOf(variable[2] ?? '') }
  }
  const quoted = take('quoted')
  if (quoted !== null) return { type: 'text', text: unquote(quoted[0]) }
  const raw = take('raw')
  if (raw !== null) return { type: 'text', text: raw[0].slice(1, -1) }
  const word = take('word')
  if (word !== null) return { type: 'word', word: word[0] }
  const sign = take('sign')
  return sign === null ? null : { type: 'sign', sign: sign[0] }
}

function pathOf(text: string): readonly string[] {
  return text.split('.').filter((name) => name !== '')
}

const escapes: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\u0007',
  b: '\b',
  f: '\f',
  v: '\v',
  '\\': '\\',
  '"': '"',
  "'": "'",
}

function unquote(text: string): string {
  return text
    .slice(1, -1)
    .replaceAll(/\\(x[\da-fA-F]{2}|u[\da-fA-F]{4}|[^])/g, (whole, rest: string) =>
      rest.length > 1
        ? String.fromCharCode(Number.parseInt(rest.slice(1), 16))
        : (escapes[rest] ?? refuse(`${whole} is no escape of a text`)),
    )
}

function show(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)
}
