/**
 * Runs test files, each as a process of its own, several at a time, and puts their TAP together as tap's own runner would. That one gives
 * every process a loader for mocks and for coverage, which are not used here: a third of a second of work for each of
 * hundreds of files.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

export type TestFile = {
  readonly path: string
  /** Of one kind no more than `atOnce` run at a time. */
  readonly kind: string
}

export type FileRun = {
  readonly file: TestFile
  /** Its block of the whole: its own output indented, then its result line without a number. */
  readonly tap: string
  readonly ok: boolean
  readonly endedMs: number
  /** What it wrote beside TAP. */
  readonly errors: string
}

export type RunOptions = {
  readonly root: string
  readonly env: Readonly<Record<string, string>>
  /** Of Node.js, before the file. */
  readonly nodeArguments?: readonly string[]
  /** Processes at a time, in all. */
  readonly lanes: number
  /** By kind; a kind that is not named may have all lanes. */
  readonly atOnce: Readonly<Record<string, number>>
  /** A process that has not ended by then ends as a failure. */
  readonly secondsMax: number
}

/** The last word of a file that ran to its end, and has a test or says why not. */
const planned = /^1\.\.(?:[1-9]\d*|0 # skip\b.*)$/im
/** What a process gets to say which test it was in, after its time. */
const GRACE_MS = 10_000
/** Of what one file says; a test that floods its output must not take the gate's memory. */
const OUTPUT_CHARACTERS_MAX = 64 * 1024 * 1024

/** In their order as far as lanes and kinds allow; the results in the order in which the files ended. */
export async function runFiles(
  files: readonly TestFile[],
  options: RunOptions,
): Promise<readonly FileRun[]> {
  const waiting = [...files]
  const running = new Map<string, number>()
  const runs: FileRun[] = []
  const wakers = new Set<() => void>()
  const take = (): TestFile | undefined => {
    const at = waiting.findIndex(
      ({ kind }) => (running.get(kind) ?? 0) < (options.atOnce[kind] ?? Infinity),
    )
    return at < 0 ? undefined : waiting.splice(at, 1)[0]
  }
  const lane = async (number: number): Promise<void> => {
    while (waiting.length > 0) {
      const file = take()
      if (file === undefined) {
        await new Promise<void>((resolve) => wakers.add(resolve))
        continue
      }
      running.set(file.kind, (running.get(file.kind) ?? 0) + 1)
      runs.push(await runFile(file, number, options))
      running.set(file.kind, (running.get(file.kind) ?? 0) - 1)
      for (const wake of wakers) wake()
      wakers.clear()
    }
  }
  await Promise.all(Array.from({ length: options.lanes }, (_, number) => lane(number)))
  return runs
}

/** `lane`: test/support/free-ports.ts gives each its own range, by the name that tap's runner has for it. */
async function runFile(file: TestFile, lane: number, options: RunOptions): Promise<FileRun> {
  const startMs = performance.now()
  const child = spawn(process.execPath, [...(options.nodeArguments ?? []), file.path], {
    cwd: options.root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      ...options.env,
      TAP: '1',
      TAP_JOB_ID: String(lane),
      TAP_TIMEOUT: String(options.secondsMax),
    },
  })
  // The process ends itself at its time, unless it is stuck.
  const tooLong = setTimeout(() => child.kill('SIGKILL'), options.secondsMax * 1000 + GRACE_MS)
  const [out, errors] = [child.stdout, child.stderr].map(textOf)
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  clearTimeout(tooLong)
  const ms = performance.now() - startMs
  const tap = out?.() ?? ''
  const how =
    code !== 0 ? (signal ?? `code ${code}`) : planned.test(tap) ? null : 'without its plan'
  const ok = how === null
  return {
    file,
    ok,
    endedMs: startMs + ms,
    errors: errors?.() ?? '',
    tap: blockOf(file.path, tap, how, ms),
  }
}

function textOf(stream: NodeJS.ReadableStream): () => string {
  let text = ''
  stream.setEncoding('utf8')
  stream.on('data', (more: string) => {
    if (text.length < OUTPUT_CHARACTERS_MAX) text += more
  })
  return () => text
}

/** `failure`: how the process ended, if not well. */
function blockOf(path: string, tap: string, failure: string | null, ms: number): string {
  const lines = tap
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('TAP version'))
    .map((line) => `    ${line}`)
  const result = `${failure === null ? 'ok' : 'not ok'} - ${path} # time=${ms.toFixed(0)}ms`
  const why = failure === null ? [] : ['  ---', `  ended: ${failure}`, '  ...']
  return [`# Subtest: ${path}`, ...lines, result, ...why, ''].join('\n')
}

/** One stream of all. */
export function wholeTap(runs: readonly FileRun[]): string {
  let number = 0
  const blocks = runs.map(({ tap }) =>
    tap.replace(/^(ok|not ok) - /m, (_, result: string) => `${result} ${(number += 1)} - `),
  )
  return ['TAP version 14', ...blocks, `1..${runs.length}`, ''].join('\n')
}
