/** Colour and weight: on a terminal whose owner did not forbid it, and nowhere else. */
import { styleText } from 'node:util'
import type { Terminal } from '../verb.ts'

export type Paint = (text: string) => string

export type Style = {
  readonly heading: Paint
  readonly good: Paint
  readonly bad: Paint
}

const plain: Style = {
  heading: (text) => text,
  good: (text) => text,
  bad: (text) => text,
}

const coloured: Style = {
  heading: (text) => styleText('bold', text, { validateStream: false }),
  good: (text) => styleText('green', text, { validateStream: false }),
  bad: (text) => styleText('red', text, { validateStream: false }),
}

/** For standard output. */
export function styleOf(terminal: Terminal): Style {
  const forbidden = terminal.env('NO_COLOR') !== undefined || terminal.env('TERM') === 'dumb'
  return terminal.outIsTerminal && !forbidden ? coloured : plain
}
