/**
 * The steps of the gate, in order: first what reads the sources, then what runs them.
 * Each takes the project's folder and tells whether it passed, with the text to show if it did not.
 */
import { spawn } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { processesFor, testFiles, type Suite, type TestKind } from './files.ts'
import { bundledProgram } from './program.ts'
import { runFiles, wholeTap, type ProcessRun } from './run-files.ts'
import { countTap, type Counts } from './tap-count.ts'
import { bundledPackages } from './bundled-packages.ts'
import { failuresInTap } from './tap-failures.ts'

export type StepResult = {
  /** Of a kind of tests from the beginning of its round: others may run beside it. */
  readonly seconds: number
  readonly counts: Counts
  readonly text: string
  /** Failed tests by name; a static step has none. */
  readonly failures?: readonly string[]
}
export type StaticStep = {
  readonly name: string
  readonly run: (root: string) => Promise<StepResult>
}

/** Starting a cluster and breaking it, and hundreds of simulated ones, take their time on a small, busy machine. */
const TEST_SECONDS_MAX = 600
/** Tests wait for half of their time, those of clusters for more: two processors have work for five processes. */
const LANES_MIN = 5
/** test/support/free-ports.ts has ranges for so many. */
const LANES_MAX = 8
const CLUSTERS_AT_ONCE = 3

export const staticSteps: readonly StaticStep[] = [
  // The longest first: the compiler's own diagnostics, and rules that ask it for types.
  tool('types', ['oxlint', '--type-aware', '--type-check', '--deny-warnings']),
  tool('format', ['oxfmt', '--check', '.']),
  { name: 'arrows', run: timed(checkArrows) },
  tool('unused', ['knip', '--no-progress']),
  { name: 'tidy', run: timed((root) => runNode(root, ['scripts/tidy.ts'])) },
  { name: 'program', run: timed(checkProgram) },
]

/** Of one round the kinds run at the same time. */
export const testRounds: readonly (readonly TestKind[])[] = [['unit', 'cluster'], ['cluster-alone']]

type Finished = { readonly code: number; readonly output: string }

/** A tool of node_modules whose exit code is the answer. */
function tool(name: string, [program = '', ...args]: readonly string[]): StaticStep {
  return {
    name,
    run: timed((root) => runNode(root, [binary(root, program), ...args])),
  }
}

function binary(root: string, name: string): string {
  return join(root, 'node_modules', '.bin', name)
}

function timed(run: (root: string) => Promise<Finished>): StaticStep['run'] {
  return async (root) => {
    const startMs = performance.now()
    const { code, output } = await run(root)
    const counts = code === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 }
    return { counts, seconds: (performance.now() - startMs) / 1000, text: output }
  }
}

/** A checker that saw nothing finds nothing: so it must say how many modules it saw. */
async function checkArrows(root: string): Promise<Finished> {
  const finished = await runNode(root, [
    binary(root, 'depcruise'),
    '--config',
    '.dependency-cruiser.mjs',
    'src',
    'scripts',
    'test',
  ])
  const seen = Number(/\b(\d+) modules\b/.exec(finished.output)?.[1] ?? 0)
  if (seen > 0) return finished
  return { code: 1, output: `${finished.output}\nno module was seen` }
}

async function checkProgram(root: string): Promise<Finished> {
  try {
    await bundledProgram(root)
    return { code: 0, output: '' }
  } catch (error) {
    return { code: 1, output: error instanceof Error ? error.message : String(error) }
  }
}

/** Runs a round's files. */
export async function runTests(
  root: string,
  suite: Suite,
  kinds: readonly TestKind[],
): Promise<ReadonlyMap<TestKind, StepResult>> {
  const processes = processesFor(await testFiles(root, suite, kinds))
  const needsProgram = kinds.some((kind) => kind !== 'unit')
  const program = needsProgram ? await bundledProgram(root) : null
  const startMs = performance.now()
  const runs = await runFiles(processes, {
    root,
    nodeArguments: await bundledPackages(root),
    env: {
      NODE_COMPILE_CACHE: compileCache(root),
      ...(program !== null && { MUSTER_TEST_PROGRAM: program }),
      ...(suite === 'long' && { TEST_LONG: '1' }),
    },
    lanes: Math.min(LANES_MAX, Math.max(LANES_MIN, availableParallelism())),
    atOnce: { cluster: CLUSTERS_AT_ONCE, 'cluster-alone': 1 },
    // In place of the two unit tests that ran beside them.
    atOnceLast: { cluster: CLUSTERS_AT_ONCE + 1 },
    secondsMax: TEST_SECONDS_MAX,
  })
  const results = new Map<TestKind, StepResult>()
  for (const kind of kinds) {
    const own = runs.filter((run) => run.kind === kind)
    const seconds = (Math.max(startMs, ...own.map(({ endedMs }) => endedMs)) - startMs) / 1000
    results.set(kind, { seconds, ...(await resultOf(root, suite, kind, own)) })
  }
  return results
}

async function resultOf(
  root: string,
  suite: Suite,
  kind: TestKind,
  runs: readonly ProcessRun[],
): Promise<Omit<StepResult, 'seconds'>> {
  if (runs.length === 0) return { counts: { passed: 0, failed: 1 }, text: 'no test file was found' }
  // Kept after the run: a failed test's comments, its seed among them, are in there.
  const tapFile = join(root, '.tap', `${suite}-${kind}.tap`)
  await mkdir(dirname(tapFile), { recursive: true })
  await rm(tapFile, { force: true })
  const tap = wholeTap(runs)
  await writeFile(tapFile, tap)
  const bad = runs.filter(({ ok }) => !ok)
  const errors = bad
    .filter(({ errors }) => errors !== '')
    .map((run) => `${run.name} wrote:\n${run.errors}`)
  return {
    counts: countTap(tap),
    text: [...errors, `The whole output: ${relative(root, tapFile)}`].join('\n'),
    failures: failuresInTap(tap),
  }
}

/** What test processes and the servers that they start share: the sources, compiled once instead of hundreds of times. */
export function compileCache(root: string): string {
  return join(root, '.tap', 'compile-cache')
}

/** With this very Node.js: the pinned one. */
async function runNode(root: string, args: readonly string[]): Promise<Finished> {
  return await new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_COMPILE_CACHE: compileCache(root) },
    })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    child.once('error', reject)
    child.once('close', (code) => resolve({ code: code ?? 1, output }))
  })
}
