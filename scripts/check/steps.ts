/**
 * The steps of the gate, in order: first what reads the sources, then what runs them.
 * Each takes the project's folder and tells whether it passed, with the text to show if it did not.
 */
import { spawn } from 'node:child_process'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { countTap, type Counts } from './tap-count.ts'
import { failuresInTap } from './tap-failures.ts'

export type StepResult = {
  readonly counts: Counts
  readonly text: string
  /** Failed tests by name; a static step has none. */
  readonly failures?: readonly string[]
}
export type Step = {
  readonly name: string
  readonly kind: 'static' | 'test'
  readonly run: (root: string) => Promise<StepResult>
}

/** Starting a cluster and breaking it, and hundreds of simulated ones, take their time on a small, busy machine. */
const TEST_SECONDS_MAX = 600

/** tap leaves one processor to others: on a machine that has two, the unit tests would take twice as long. */
const JOBS_MIN = 2

/**
 * Cluster tests that wait for what they want to see, or judge answers however late: two of them at a time see the same. The
 * others measure gaps, times or memory, or demand that no write fails and no leader changes.
 */
const sharing = [
  'acl',
  'agent-api',
  'blocking-queries',
  'browsers',
  'catalog',
  'chaos',
  'cli',
  'client-agent',
  'client-audit',
  'compatibility',
  'consul-client',
  'consul-client-options',
  'dead-leader',
  'dead-servers',
  'defined-services',
  'dev-agents',
  'event-stream',
  'gossip-keys',
  'gossip-membership',
  'gossip-pools',
  'lost-quorum',
  'lost-quorum-return',
  'lost-quorum-survivors',
  'lost-state',
  'made-anew',
  'mixed-versions',
  'moved-servers',
  'partitions',
  'peer-tools',
  'production',
  'readme',
  'releases',
  'restored-locks',
  'rpc-tls',
  'rpc-tls-change-over',
  'same-names',
  'scheduled-snapshots',
  'secrets-at-rest',
  'snapshot-restore',
  'strangers',
  'survives-kills',
  'tls-bootstrap',
]

const isCluster = (path: string): boolean => path.startsWith('test/cluster/')

const sharesTheMachine = (path: string): boolean =>
  sharing.some((name) => path === `test/cluster/${name}.test.ts`)

export const steps: readonly Step[] = [
  tool('types', ['tsc', '--noEmit']),
  tool('format', ['prettier', '--check', '--log-level', 'warn', '.']),
  tool('lint', ['oxlint', '--type-aware', '--deny-warnings']),
  { name: 'arrows', kind: 'static', run: checkArrows },
  tool('unused', ['knip', '--no-progress']),
  {
    name: 'tidy',
    kind: 'static',
    run: async (root) => asOne(await runNode(root, ['scripts/tidy.ts'])),
  },
  {
    name: 'unit',
    kind: 'test',
    run: (root) =>
      runTests(root, 'unit', (path) => !isCluster(path), [
        ...(availableParallelism() <= JOBS_MIN ? [`--jobs=${JOBS_MIN}`] : []),
        `--timeout=${TEST_SECONDS_MAX}`,
      ]),
  },
  {
    name: 'cluster',
    kind: 'test',
    run: (root) =>
      runTests(root, 'cluster', (path) => isCluster(path) && sharesTheMachine(path), [
        '--jobs=2',
        `--timeout=${TEST_SECONDS_MAX}`,
      ]),
  },
  {
    name: 'cluster-alone',
    kind: 'test',
    run: (root) =>
      runTests(root, 'cluster-alone', (path) => isCluster(path) && !sharesTheMachine(path), [
        '--jobs=1',
        `--timeout=${TEST_SECONDS_MAX}`,
      ]),
  },
]

type Finished = { readonly code: number; readonly output: string }

/** A tool of node_modules whose exit code is the answer. */
function tool(name: string, [program = '', ...args]: readonly string[]): Step {
  return {
    name,
    kind: 'static',
    run: async (root) => asOne(await runNode(root, [binary(root, program), ...args])),
  }
}

function binary(root: string, name: string): string {
  return join(root, 'node_modules', '.bin', name)
}

function asOne({ code, output }: Finished): StepResult {
  return { counts: code === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 }, text: output }
}

/** A checker that saw nothing finds nothing: so it must say how many modules it saw. */
async function checkArrows(root: string): Promise<StepResult> {
  const finished = await runNode(root, [
    binary(root, 'depcruise'),
    '--config',
    '.dependency-cruiser.mjs',
    'src',
    'scripts',
    'test',
  ])
  const seen = Number(/\b(\d+) modules\b/.exec(finished.output)?.[1] ?? 0)
  if (seen > 0) return asOne(finished)
  return { counts: { passed: 0, failed: 1 }, text: `${finished.output}\nno module was seen` }
}

async function runTests(
  root: string,
  name: string,
  belongs: (path: string) => boolean,
  options: readonly string[],
): Promise<StepResult> {
  const names = await readdir(join(root, 'test'), { recursive: true })
  const files = names
    .map((name) => join('test', name))
    .filter((path) => path.endsWith('.test.ts') && belongs(path))
    .sort()
  if (files.length === 0)
    return { counts: { passed: 0, failed: 1 }, text: 'no test file was found' }
  // Kept after the run: a failed test's comments, its seed among them, are in there.
  const tapFile = join(root, '.tap', `check-${name}.tap`)
  await rm(tapFile, { force: true })
  await mkdir(dirname(tapFile), { recursive: true })
  const finished = await runNode(root, [
    binary(root, 'tap'),
    'run',
    '--reporter=min',
    `--output-file=${tapFile}`,
    ...options,
    ...files,
  ])
  const tap = await readFile(tapFile, 'utf8').catch(() => '')
  const counts = countTap(tap)
  const nothing = counts.passed === 0 && counts.failed === 0
  const silent = finished.code !== 0 && counts.failed === 0
  return {
    counts: nothing || silent ? { ...counts, failed: counts.failed + 1 } : counts,
    text: `${stripVTControlCharacters(finished.output)}\nThe whole output: ${relative(root, tapFile)}`,
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
