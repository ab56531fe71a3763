/** Release forms as their users have them: made once, tried in an empty folder, without anything of the project in the environment. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { eventually } from './eventually.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const start = promisify(execFile)
const MAKE_MS = 240_000

export const { arch } = process

/** Makes the forms below `folder`, for one platform. Returns the folder that they are in. */
export async function makeRelease(
  folder: string,
  forms: readonly string[],
  platform: string = arch,
): Promise<string> {
  const options = ['--arch', platform, ...forms.flatMap((form) => ['--form', form])]
  await start(
    process.execPath,
    [join(root, 'scripts/release.ts'), ...options, '--output', folder],
    {
      timeout: MAKE_MS,
    },
  )
  return join(folder, `linux-${platform}`)
}

/** The machine's own programs, and nothing of this project; the test's Node.js is named where npm needs one. */
export function bareEnvironment(home: string): Record<string, string> {
  const path = process.env['PATH'] ?? ''
  const others = path.split(':').filter((folder) => !folder.startsWith(root))
  return { PATH: [...others, dirname(process.execPath)].join(':'), HOME: home, TMPDIR: home }
}

export type Ran = { readonly code: number; readonly out: string; readonly err: string }

/** Runs a command to its end, in `home`. */
export async function runIn(
  home: string,
  [program = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  const child = spawn(program, args, {
    cwd: home,
    env: { ...bareEnvironment(home), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  const [code] = await once(child, 'close')
  return { code: typeof code === 'number' ? code : -1, out, err }
}

export type UsedAgent = {
  readonly written: number
  readonly read: string
  readonly code: number | null
  readonly log: string
}

/** Starts an agent in `home`, writes a key and reads it, and ends it by SIGTERM. */
export async function useAgent(
  home: string,
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<UsedAgent> {
  await mkdir(home, { recursive: true })
  const [program = '', ...args] = command
  const child = spawn(program, args, {
    cwd: home,
    env: { ...bareEnvironment(home), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit')
  let log = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (log += text))
  }
  try {
    const api = await eventually('the agent to be started', () => {
      const address = / started: http=(\S+)/.exec(log)?.[1]
      return address === undefined ? undefined : `http://${address}`
    })
    // The request waits for a leader by itself.
    const written = await fetch(`${api}/v1/kv/release`, { method: 'PUT', body: 'tried' })
    const read = await fetch(`${api}/v1/kv/release?raw`)
    const text = await read.text()
    child.kill('SIGTERM')
    const [code] = await exited
    return { written: written.status, read: text, code, log }
  } finally {
    child.kill('SIGKILL')
  }
}
