/** Functions on texts. */
import type { HclCall, HclFunctions } from './call.ts'
import { format } from './format.ts'
import { isPlain, lengthOf, lettersOf, lower, title, upper } from './letters.ts'

/** Blanks that `indent()` puts before a line. */
const indentMax = 1_000
const anyWhole = { min: -Number.MAX_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }

export const textFunctions: HclFunctions = {
  chomp: { parameters: 'text', run: (call) => withoutLineEnds(call.text(0)) },
  format: {
    parameters: 'pattern, values…',
    run: (call) => {
      const values = Array.from({ length: call.count - 1 }, (_, index) => call.any(index + 1))
      return format(call.text(0), values, call)
    },
  },
  formatlist: { parameters: 'pattern, values…', run: formatList },
  indent: {
    parameters: 'blanks, text',
    run: (call) => {
      const blanks = call.whole(0, { min: 0, max: indentMax })
      return replaceAll(call.text(1), '\n', `\n${' '.repeat(blanks)}`, call)
    },
  },
  join: {
    parameters: 'separator, list, lists…',
    run: (call) => {
      const separator = call.text(0)
      const texts = Array.from({ length: call.count - 1 }, (_, at) => call.texts(at + 1)).flat()
      const length = texts.reduce((sum, text) => sum + text.length, 0)
      call.checkRoom(length + separator.length * Math.max(texts.length - 1, 0))
      return texts.join(separator)
    },
  },
  lower: { parameters: 'text', run: (call) => lower(call.text(0), call) },
  replace: {
    parameters: 'text, old, new',
    run: (call) => replaceAll(call.text(0), call.text(1), call.text(2), call),
  },
  split: {
    parameters: 'separator, text',
    run: (call) => {
      const separator = call.text(0)
      const text = call.text(1)
      const parts = separator === '' ? Array.from(text) : text.split(separator)
      return call.newList(parts.map((part) => call.newText(part)))
    },
  },
  strlen: { parameters: 'text', run: (call) => lengthOf(call.text(0), call) },
  strrev: { parameters: 'text', run: (call) => reversedText(call.text(0), call) },
  substr: { parameters: 'text, offset, length', run: substr },
  title: { parameters: 'text', run: (call) => title(call.text(0), call) },
  trim: { parameters: 'text, letters', run: trim },
  trimprefix: {
    parameters: 'text, prefix',
    run: (call) => {
      const [text, prefix] = [call.text(0), call.text(1)]
      return text.startsWith(prefix) ? text.slice(prefix.length) : text
    },
  },
  trimspace: { parameters: 'text', run: (call) => call.text(0).trim() },
  trimsuffix: {
    parameters: 'text, suffix',
    run: (call) => {
      const [text, suffix] = [call.text(0), call.text(1)]
      return text.endsWith(suffix) ? text.slice(0, text.length - suffix.length) : text
    },
  },
  upper: { parameters: 'text', run: (call) => upper(call.text(0), call) },
}

export function reversedText(text: string, call: HclCall): string {
  return lettersOf(text, call).toReversed().join('')
}

function withoutLineEnds(text: string): string {
  let end = text.length
  while (text.charAt(end - 1) === '\n') end -= text.charAt(end - 2) === '\r' ? 2 : 1
  return text.slice(0, end)
}

/** Where `old` is nothing, around every letter. */
function replaceAll(text: string, old: string, replacement: string, call: HclCall): string {
  if (old === '') {
    const letters = Array.from(text)
    call.checkRoom(text.length + replacement.length * (letters.length + 1))
    return replacement + letters.map((letter) => letter + replacement).join('')
  }
  const parts = text.split(old)
  call.checkRoom(text.length + (replacement.length - old.length) * (parts.length - 1))
  return parts.join(replacement)
}

function substr(call: HclCall) {
  const text = call.text(0)
  const offset = call.whole(1, anyWhole)
  const length = call.whole(2, { min: -1, max: Number.MAX_SAFE_INTEGER })
  const letters = isPlain(text) ? null : lettersOf(text, call)
  const begin = offset < 0 ? Math.max((letters ?? text).length + offset, 0) : offset
  const end = length === -1 ? undefined : begin + length
  return letters === null ? text.slice(begin, end) : letters.slice(begin, end).join('')
}

function trim(call: HclCall) {
  const text = call.text(0)
  const letters = new Set(call.text(1))
  let begin = 0
  for (const letter of text) {
    if (!letters.has(letter)) break
    begin += letter.length
  }
  let end = text.length
  while (end > begin) {
    const pair = text.slice(Math.max(end - 2, begin), end)
    const letter = (pair.codePointAt(0) ?? 0) > 0xffff ? pair : pair.slice(-1)
    if (!letters.has(letter)) break
    end -= letter.length
  }
  call.spend((text.length - end + begin) >> 3)
  return text.slice(begin, end)
}

/** The lists go on together; what is no list is the same in each. */
function formatList(call: HclCall) {
  const pattern = call.text(0)
  const values = Array.from({ length: call.count - 1 }, (_, index) => call.any(index + 1))
  const lists = values.filter((value) => value.type === 'list')
  const length = lists[0]?.items.length ?? 1
  if (lists.some(({ items }) => items.length !== length)) {
    return call.fail('the lists must be of one length')
  }
  const texts: string[] = []
  for (let row = 0; row < length; row++) {
    call.spend(values.length)
    const cells = values.map((value) =>
      value.type === 'list' ? (value.items[row] ?? value) : value,
    )
    texts.push(format(pattern, cells, call))
  }
  return call.newList(texts.map((text) => call.newText(text)))
}
