/**
 * Options of a command line in the style of the peers: one dash or two, `-config x` or `-config=x`, repeatable.
 */
import { MusterError } from '../lib/errors.ts'

export type Flag = {
  readonly summary: string
  /** What its value is called in the help; null: the flag is a switch. */
  readonly value: string | null
}

export type FlagTable = Readonly<Record<string, Flag>>

export type Flags = {
  /** Values in the order given. */
  all(name: string): readonly string[]
  has(name: string): boolean
}

/** The `details` of an error that says the command line itself is wrong. */
export const misusedFlag = Symbol('misused flag')

/** Throws `invalid_argument`, with `misusedFlag` as details, for what the table does not know. */
export function parseFlags(args: readonly string[], table: FlagTable): Flags {
  const values = new Map<string, string[]>()
  let index = 0
  while (index < args.length) {
    const argument = args[index] ?? ''
    index += 1
    const match = /^--?([A-Za-z][\w-]*)(?:=(.*))?$/s.exec(argument)
    if (match === null)
      misused(`${JSON.stringify(argument)} is no option, and none was expected here`)
    const [, name = '', attached] = match
    const flag = Object.hasOwn(table, name) ? table[name] : undefined
    if (flag === undefined) {
      const known = Object.keys(table).map((word) => `-${word}`)
      misused(
        `there is no option -${name}${known.length === 0 ? '' : `; there are ${known.join(', ')}`}`,
      )
    }
    let value = attached
    if (flag.value === null) {
      if (value !== undefined && value !== 'true')
        misused(`-${name} is a switch and takes no value`)
      value = 'true'
    } else if (value === undefined) {
      value = args[index]
      index += 1
    }
    if (value === undefined || value === '')
      misused(`-${name} needs a value: -${name} ${flag.value}`)
    const earlier = values.get(name)
    if (earlier === undefined) values.set(name, [value])
    else earlier.push(value)
  }
  return {
    all: (name) => values.get(name) ?? [],
    has: (name) => values.has(name),
  }
}

function misused(text: string): never {
  throw new MusterError('invalid_argument', text, { details: misusedFlag })
}
