/**
 * Runs test files, several processes at a time, and puts their TAP together as tap's own runner would. That one gives every file a
 * process with a loader for mocks and for coverage, which are not used here: a third of a second of work for each of
 * hundreds of files.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export type TestProcess = {
  /** Several run one after another. */
  readonly paths: readonly string[]
  /** Of one kind no more than `atOnce` run at a time. */
  readonly kind: string
}

export type ProcessRun = {
  readonly kind: string
  /** `path`, or `5 files from path on`. */
  readonly name: string
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
  /** Of Node.js, before the files. */
  readonly nodeArguments?: readonly string[]
  /** Processes at a time, in all. */
  readonly lanes: number
  /** By kind; a kind that is not named may have all lanes. */
  readonly atOnce: Readonly<Record<string, number>>
  /** Instead, once nothing of another kind waits. */
  readonly atOnceLast?: Readonly<Record<string, number>>
  /** A process that has not ended by then ends as a failure. */
  readonly secondsMax: number
}

const batch = fileURLToPath(new URL('batch.ts', import.meta.url))
/** The last word of a process that ran to its end, and has a test or says why not. */
const planned = /^1\.\.(?:[1-9]\d*|0 # skip\b.*)$/im
/** What a process gets to say which test it was in, after its time. */
const GRACE_MS = 10_000
/** Of what one process says; a test that floods its output must not take the gate's memory. */
const OUTPUT_CHARACTERS_MAX = 64 * 1024 * 1024

/** In their order as far as lanes and kinds allow; the results in the order in which the processes ended. */
export async function runFiles(
  processes: readonly TestProcess[],
  options: RunOptions,
): Promise<readonly ProcessRun[]> {
  const waiting = [...processes]
  const running = new Map<string, number>()
  const runs: ProcessRun[] = []
  const wakers = new Set<() => void>()
  const limitOf = (kind: string): number => {
    const last = waiting.every((other) => other.kind === kind) ? options.atOnceLast?.[kind] : null
    return last ?? options.atOnce[kind] ?? Infinity
  }
  const take = (): TestProcess | undefined => {
    const at = waiting.findIndex(({ kind }) => (running.get(kind) ?? 0) < limitOf(kind))
    return at < 0 ? undefined : waiting.splice(at, 1)[0]
  }
  const lane = async (number: number): Promise<void> => {
    while (waiting.length > 0) {
      const next = take()
      if (next === undefined) {
        await new Promise<void>((resolve) => wakers.add(resolve))
        continue
      }
      running.set(next.kind, (running.get(next.kind) ?? 0) + 1)
      runs.push(await runProcess(next, number, options))
      running.set(next.kind, (running.get(next.kind) ?? 0) - 1)
      for (const wake of wakers) wake()
      wakers.clear()
    }
  }
  await Promise.all(Array.from({ length: options.lanes }, (_, number) => lane(number)))
  return runs
}

/** `lane`: test/support/free-ports.ts gives each its own range, by the name that tap's runner has for it. */
async function runProcess(
  { paths, kind }: TestProcess,
  lane: number,
  options: RunOptions,
): Promise<ProcessRun> {
  const startMs = performance.now()
  const words = [...(options.nodeArguments ?? []), ...(paths.length > 1 ? [batch] : []), ...paths]
  const child = spawn(process.execPath, words, {
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
  const name = paths.length > 1 ? `${paths.length} files from ${paths[0]} on` : (paths[0] ?? '')
  return {
    kind,
    name,
    ok: how === null,
    endedMs: startMs + ms,
    errors: errors?.() ?? '',
    tap: blockOf(name, tap, how, ms),
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
function blockOf(name: string, tap: string, failure: string | null, ms: number): string {
  const lines = tap
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('TAP version'))
    .map((line) => `    ${line}`)
  const result = `${failure === null ? 'ok' : 'not ok'} - ${name} # time=${ms.toFixed(0)}ms`
  const why = failure === null ? [] : ['  ---', `  ended: ${failure}`, '  ...']
  return [`# Subtest: ${name}`, ...lines, result, ...why, ''].join('\n')
}

/** One stream of all. */
export function wholeTap(runs: readonly ProcessRun[]): string {
  let number = 0
  const blocks = runs.map(({ tap }) =>
    tap.replace(/^(ok|not ok) - /m, (_, result: string) => `${result} ${(number += 1)} - `),
  )
  return ['TAP version 14', ...blocks, `1..${runs.length}`, ''].join('\n')
}
