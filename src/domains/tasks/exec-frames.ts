/** What is said over the WebSocket of a command, in Nomad's words. */
import { MusterError } from '../../lib/errors.ts'
import type { CommandInput, CommandOutput } from './services.ts'

type Told = Omit<CommandInput, 'allocation' | 'session'>

const stdinBytesMax = 128 * 1_024
const sideMax = 10_000

/** What the client says in one message, in the order in which it holds. Throws `invalid_argument`. */
export function toldBy(message: string): readonly Told[] {
  const frame = objectOf(parsed(message))
  const stdin = frame['stdin'] === undefined ? null : objectOf(frame['stdin'])
  const size = frame['tty_size'] === undefined ? null : objectOf(frame['tty_size'])
  const told: Told[] = []
  if (size !== null) {
    const [rows, columns] = [sideOf(size['height']), sideOf(size['width'])]
    // A terminal that is not shown has none.
    if (rows > 0 && columns > 0) told.push({ size: { rows, columns } })
  }
  const data = stdin?.['data'] ?? ''
  if (typeof data !== 'string') throw strange('stdin.data is base64')
  const bytes = Buffer.from(data, 'base64')
  if (bytes.length > stdinBytesMax) throw strange(`stdin.data has at most ${stdinBytesMax} bytes`)
  if (bytes.length > 0) told.push({ data: bytes })
  if (stdin?.['close'] === true) told.push({ ends: true })
  return told
}

/** What the client is told of it. */
export function framesOfOutput(output: CommandOutput): readonly string[] {
  switch (output.type) {
    case 'session':
      return []
    case 'stdout':
    case 'stderr': {
      const data = Buffer.from(output.data).toString('base64')
      return [JSON.stringify({ [output.type]: { data } })]
    }
    case 'exited':
      return [
        JSON.stringify({ stdout: { close: true } }),
        JSON.stringify({ stderr: { close: true } }),
        JSON.stringify({ exited: true, result: { exit_code: output.code } }),
      ]
  }
}

function parsed(message: string): unknown {
  try {
    return JSON.parse(message)
  } catch {
    throw strange('it is no JSON')
  }
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) throw strange('it holds objects')
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null))
}

/** Nomad's tools leave out a side that is 0. */
function sideOf(value: unknown = 0): number {
  const isSide = typeof value === 'number' && Number.isInteger(value)
  if (isSide && value >= 0 && value <= sideMax) return value
  throw strange(`tty_size has height and width, from 0 to ${sideMax}`)
}

function strange(what: string): MusterError {
  return new MusterError('invalid_argument', `a frame cannot be read: ${what}`)
}
