/**
 * Variables whose names have a dot, as `discovery.type`: shells drop them, and shells stand above tasks. So they come as far as the last
 * shell under names that it keeps, and `env` gives them their own. It finds the values in its environment (`-S` with `${…}`), never in its
 * arguments, which are everyone's to read. Names that the shells above keep for themselves come the same way.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { MusterError, textOf } from '../../lib/errors.ts'

export const envProgram = '/usr/bin/env'
const keptPrefix = 'MUSTER_DOTTED_'

type Environment = Readonly<Record<string, string>>

export type Dotted = {
  readonly env: Environment
  /** For `env -S`; empty: there are no such names. */
  readonly naming: string
}

const none: ReadonlySet<string> = new Set()

/** Names that neither shells nor `env` could pass on stay as they are. `ofShells`: further names that the shells above do not. */
export function withKeptNames(env: Environment, ofShells = none): Dotted {
  const names = lostNames(env, ofShells)
  if (names.length === 0) return { env, naming: '' }
  const others = Object.entries(env).filter(([name]) => !names.includes(name))
  const kept = names.map((name, at) => [`${keptPrefix}${at}`, env[name] ?? ''] as const)
  const forgotten = kept.map(([name]) => `-u ${name}`)
  const named = names.map((name, at) => `"${name}=\${${keptPrefix}${at}}"`)
  return {
    env: Object.fromEntries([...others, ...kept]),
    naming: [...forgotten, ...named].join(' '),
  }
}

/** The words that run `program` with the names. */
export function namingWords(naming: string, program: string): readonly string[] {
  if (naming === '') return [program]
  if (program.includes('=')) {
    const text = `${program} has = in its path, and its environment a name with a dot: rename one`
    throw new MusterError('invalid_argument', text)
  }
  return [envProgram, '-S', naming, program]
}

/** The machine's `env` was seen to do it. Each start, command and check of a task would run it once more. */
let canName = false

/** Throws `not_implemented` where the machine's `env` cannot do it, as that of BusyBox. */
export async function checkNames(env: Environment, ofShells = none): Promise<void> {
  const [name] = lostNames(env, ofShells)
  if (name === undefined || canName) return
  await promisify(execFile)(envProgram, ['-S', envProgram], { env: {} }).catch((error: unknown) => {
    // An exit code says that it cannot; nothing else does, as a want of descriptors.
    const code: unknown = error instanceof Error && 'code' in error ? error.code : null
    if (typeof code !== 'number' && code !== 'ENOENT') {
      throw new MusterError('unavailable', textOf(error), { cause: error })
    }
    const why = ofShells.has(name) ? 'has a name that shells keep' : 'has a dot in its name'
    const text = `the variable ${name} ${why}, which needs ${envProgram} of GNU coreutils 8.30 or later on the node: name it otherwise`
    throw new MusterError('not_implemented', text)
  })
  canName = true
}

function lostNames(env: Environment, ofShells: ReadonlySet<string>): readonly string[] {
  return Object.keys(env).filter(
    (name) => ofShells.has(name) || (/^[\w.]+$/.test(name) && name.includes('.')),
  )
}
