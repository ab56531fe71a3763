/**
 * Options of a command line in the style of Consul and Nomad: one dash or two, `-config x` or `-config=x`, repeatable, before,
 * between and after the other words. After `--` nothing is an option; a lone `-` never is one.
 */
import { parseDurationMs } from '../lib/duration.ts'
import { MusterError } from '../lib/errors.ts'
import { nearest } from './nearest.ts'

export type Flag = {
  readonly summary: string
  /** What its value is called in the help; null: the flag is a switch. */
  readonly value: string | null
  /** An empty value says something. */
  readonly empty?: true
}

export type FlagTable = Readonly<Record<string, Flag>>

export type Flags = {
  /** Values in the order given. */
  all(name: string): readonly string[]
  /** The value given last, which wins. */
  last(name: string): string | undefined
  /** Given, and for a switch not given as `false`. */
  has(name: string): boolean
}

/** Words of a command line that are not options. */
export type Operands = {
  /** As the help shows them: `PATH KEY=VALUE...`. */
  readonly usage: string
  readonly countMin: number
  readonly countMax: number
  /** From this word on it is a command of its own, with its own options; words count from 0. */
  readonly commandAt?: number
}

export const noOperands: Operands = { usage: '', countMin: 0, countMax: 0 }

export function oneOperand(usage: string): Operands {
  return { usage, countMin: 1, countMax: 1 }
}

export type CommandLine = { readonly flags: Flags; readonly operands: readonly string[] }

/** The `details` of an error that says the command line itself is wrong. */
const misusedFlag = Symbol('misused flag')

/** Throws what `isMisuse` knows: the command was not understood, and nothing was done. */
export function misused(text: string): never {
  throw new MusterError('invalid_argument', text, { details: misusedFlag })
}

export function isMisuse(error: unknown): error is MusterError {
  return error instanceof MusterError && error.details === misusedFlag
}

const option = /^--?([A-Za-z][\w-]*)(?:=(.*))?$/s

/** The words in which options are looked for: those before `--`, or before the command that is to be run. */
export function ownWords(
  args: readonly string[],
  table: FlagTable,
  { commandAt = Infinity }: Operands,
): readonly string[] {
  let words = 0
  for (let at = 0; at < args.length; at += 1) {
    const argument = args[at] ?? ''
    if (argument === '--') return args.slice(0, at)
    const match = option.exec(argument)
    if (match === null) {
      if (words >= commandAt) return args.slice(0, at)
      words += 1
      continue
    }
    const [, name = '', attached] = match
    const flag = Object.hasOwn(table, name) ? table[name] : undefined
    if (typeof flag?.value === 'string' && attached === undefined) at += 1
  }
  return args
}

/** `operands` bounds how many words may stand beside the options. */
export function parseCommandLine(
  args: readonly string[],
  table: FlagTable,
  operands: Operands,
): CommandLine {
  const values = new Map<string, string[]>()
  const words: string[] = []
  const own = ownWords(args, table, operands)
  for (let at = 0; at < own.length; at += 1) {
    const argument = own[at] ?? ''
    const match = option.exec(argument)
    if (match === null) {
      if (argument.length > 1 && argument.startsWith('-')) {
        misused(`${JSON.stringify(argument)} is no option; after -- it would be taken as it is`)
      }
      words.push(argument)
      continue
    }
    const [, name = '', attached] = match
    const flag = Object.hasOwn(table, name) ? table[name] : undefined
    if (flag === undefined) misused(unknownFlag(name, table))
    if (flag.value === null) {
      put(values, name, switchValue(name, attached))
      continue
    }
    const value = attached ?? own[(at += 1)]
    if (value === undefined || (value === '' && flag.empty !== true)) {
      misused(`-${name} needs a value: -${name} ${flag.value}`)
    }
    put(values, name, value)
  }
  const rest = args.slice(own.length)
  words.push(...(rest[0] === '--' ? rest.slice(1) : rest))
  checkCount(words, operands)
  const last = (name: string): string | undefined => values.get(name)?.at(-1)
  return {
    operands: words,
    flags: {
      all: (name) => values.get(name) ?? [],
      last,
      has: (name) => values.has(name) && (table[name]?.value !== null || last(name) === 'true'),
    },
  }
}

function unknownFlag(name: string, table: FlagTable): string {
  const known = Object.keys(table)
  const meant = nearest(name, known)
  if (meant !== null) return `there is no option -${name}; did you mean -${meant}?`
  const list = known.length === 0 ? '' : `; there are ${known.map((word) => `-${word}`).join(', ')}`
  return `there is no option -${name}${list}`
}

function switchValue(name: string, attached: string | undefined): string {
  if (attached === undefined || attached === 'true') return 'true'
  if (attached === 'false') return 'false'
  return misused(`-${name} is a switch and takes no value`)
}

function put(values: Map<string, string[]>, name: string, value: string): void {
  const earlier = values.get(name)
  if (earlier === undefined) values.set(name, [value])
  else earlier.push(value)
}

function checkCount(words: readonly string[], operands: Operands): void {
  if (words.length < operands.countMin) {
    misused(
      operands.usage.startsWith('[')
        ? `at least one is needed of ${operands.usage}`
        : `${operands.usage} is missing`,
    )
  }
  if (words.length <= operands.countMax) return
  const extra = JSON.stringify(words[operands.countMax])
  misused(
    operands.countMax === 0
      ? `${extra} is no option, and none was expected here`
      : `${extra} is too much: there is nothing after ${operands.usage}`,
  )
}

/** A whole number of at least `min`, or undefined when the option was not given. */
export function countFlag(flags: Flags, name: string, min: number): number | undefined {
  const text = flags.last(name)
  if (text === undefined) return undefined
  const count = /^\d{1,15}$/.test(text) ? Number(text) : -1
  if (count < min)
    misused(`-${name} must be a whole number from ${min}, not ${JSON.stringify(text)}`)
  return count
}

/** Unsigned 64 bits as text, with every digit, or undefined when the option was not given. */
export function unsignedFlag(flags: Flags, name: string): string | undefined {
  const text = flags.last(name)
  if (text === undefined || /^\d{1,20}$/.test(text)) return text
  return misused(`-${name} must be a whole number from 0, not ${JSON.stringify(text)}`)
}

/** As text, or null when the option was not given. */
export function bytesFlag(flags: Flags, name: string): string | null {
  const text = flags.last(name) ?? null
  if (text === null || /^\d{1,15}$/.test(text)) return text
  return misused(`-${name} is a number of bytes`)
}

/** Of a switch with a default of its own: undefined when it was not given. */
export function switchFlag(flags: Flags, name: string): boolean | undefined {
  const text = flags.last(name)
  return text === undefined ? undefined : text === 'true'
}

/** Milliseconds, more than 0, or undefined when the option was not given. */
export function durationFlag(flags: Flags, name: string): number | undefined {
  const text = flags.last(name)
  if (text === undefined) return undefined
  const ms = parseDurationMs(text)
  if (ms === undefined || ms <= 0) {
    misused(`-${name} must be a duration such as 500ms, 15s or 1m30s, not ${JSON.stringify(text)}`)
  }
  return ms
}

/** As it was given, of any length, or undefined. */
export function durationTextFlag(flags: Flags, name: string): string | undefined {
  const text = flags.last(name)
  if (text === undefined || parseDurationMs(text) !== undefined) return text
  return misused(`-${name} must be a duration such as 10s or 200ms, not ${JSON.stringify(text)}`)
}
