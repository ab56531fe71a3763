/** What all parts of a release share: the project's folder, its manifest, its tools, and the platforms a release is for. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import manifest from '../../package.json' with { type: 'json' }

export const root = fileURLToPath(new URL('../..', import.meta.url))
export const { version, description, license } = manifest
export const runtime = manifest.optionalDependencies

export type Platform = {
  /** As `process.arch` says it, and the packages of Node.js. */
  readonly arch: 'x64' | 'arm64'
  /** As Debian says it. */
  readonly debian: 'amd64' | 'arm64'
  /** LevelDB's prebuilt binding, in its package. */
  readonly binding: string
}

export const platforms: readonly Platform[] = [
  { arch: 'x64', debian: 'amd64', binding: 'linux-x64/classic-level.node' },
  { arch: 'arm64', debian: 'arm64', binding: 'linux-arm64/classic-level.armv8.node' },
]

export const bindingName = ({ arch }: Platform): string => `classic-level-linux-${arch}.node`

/**
 * V8's code is read whole at a start, so that commands have a smaller one than agents. Of this machine's platform: what a
 * release for another lacks.
 */
export const cachePurposes = ['agent', 'command'] as const
export type CachePurpose = (typeof cachePurposes)[number]
export const cacheName = (purpose: CachePurpose): string =>
  `${purpose}-linux-${process.arch}-${process.version}.cache`

const binaries = join(root, 'node_modules/.bin')

/** LevelDB's binding for a platform, as its package has it. */
export function bindingOf({ binding }: Pick<Platform, 'binding'>): string {
  return join(root, 'node_modules/classic-level/prebuilds', binding)
}

const launcher = readFileSync(join(root, 'bin/muster'), 'utf8')

/** Flags of Node.js for every server: those of `bin/muster`, which says why. */
export const nodeFlags: readonly string[] = found(/^exec "\$node" ([^"]+)"/gm, 'flags').flatMap(
  ([, words = '']) => words.split(/[\s\\]+/).filter((word) => word !== ''),
)

const allocatorMatches = found(/^export (MALLOC_\w+)="\$\{\w+:-(\d+)\}"$/gm, 'allocator')

/** The C library's allocator, as `bin/muster` sets it. */
export const allocator: Readonly<Record<string, string>> = Object.fromEntries(
  allocatorMatches.map(([, name = '', value = '']) => [name, value]),
)

/** The same as lines for a shell, which leave what is set already. */
export const allocatorLines: readonly string[] = allocatorMatches.map(([line]) => line)

function found(pattern: RegExp, what: string): readonly RegExpMatchArray[] {
  const matches = [...launcher.matchAll(pattern)]
  if (matches.length === 0) throw new Error(`bin/muster has no ${what}`)
  return matches
}

/** A program of node_modules: a script, which finds this Node.js in its path, or a binary that an install put in its place. */
export function tool(name: string): readonly [string, ...string[]] {
  return [join(binaries, name)]
}

export type RunOptions = {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

/** Resolves with what it printed; rejects with that when it fails. */
export async function runTool(
  [program, ...before]: readonly [string, ...string[]],
  args: readonly string[],
  { cwd = root, env = {} }: RunOptions = {},
): Promise<string> {
  return await new Promise((resolve, reject) => {
    const child = spawn(program, [...before, ...args], {
      cwd,
      env: { ...process.env, PATH: `${binaries}:${process.env['PATH']}`, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    let errors = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text
    })
    child.once('error', reject)
    child.once('close', (code, signal) => {
      if (code === 0) resolve(output)
      else reject(new Error(`${program} failed (${code ?? signal}):\n${output}${errors}`))
    })
  })
}
