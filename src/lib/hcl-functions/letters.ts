/** Texts as the letters that people see: `é` is one, also where it is written with two code points. */
import type { HclCall } from './call.ts'

/** Made when it is first needed: it reads tables for 10 ms. */
let segmenter: Intl.Segmenter | null = null

/** Grapheme clusters. Each is a step, because to find them takes as long. */
export function lettersOf(text: string, call: HclCall): readonly string[] {
  if (isPlain(text)) {
    call.spend(text.length >> 3)
    return Array.from(text)
  }
  call.spend(text.length)
  segmenter ??= new Intl.Segmenter('und', { granularity: 'grapheme' })
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}

export function lengthOf(text: string, call: HclCall): number {
  return isPlain(text) ? text.length : lettersOf(text, call).length
}

export function lower(text: string, call: HclCall): string {
  return isPlain(text) ? text.toLowerCase() : mapped(text, call, (letter) => letter.toLowerCase())
}

export function upper(text: string, call: HclCall): string {
  return isPlain(text) ? text.toUpperCase() : mapped(text, call, (letter) => letter.toUpperCase())
}

/** The first letter of each word. */
export function title(text: string, call: HclCall): string {
  call.spend(text.length)
  let before = ' '
  return Array.from(text, (letter) => {
    const isFirst = !/[\p{L}\p{N}_]/u.test(before) && isSeparator(before)
    before = letter
    return isFirst ? oneOf(letter.toUpperCase(), letter) : letter
  }).join('')
}

/** Beyond ASCII only blanks part words. */
function isSeparator(letter: string): boolean {
  return /^[\p{ASCII}\s]$/u.test(letter)
}

/** Every unit is a letter of its own: a carriage return and a line feed are one together. */
export function isPlain(text: string): boolean {
  return /^[\x20-\x7e\n\t]*$/.test(text)
}

/** Letter by letter: neither the place of a letter in its word nor `ß` as `SS` counts. */
function mapped(text: string, call: HclCall, map: (letter: string) => string): string {
  call.spend(text.length)
  return Array.from(text, (letter) => oneOf(map(letter), letter)).join('')
}

function oneOf(changed: string, letter: string): string {
  return changed.length === letter.length ? changed : letter
}
