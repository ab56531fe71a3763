/**
 * Which test file runs when. `npm test` runs them all but the soaks; `npm run test:long` runs the soaks, and once more with new seeds
 * and longer whatever draws at random.
 */
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { chunks } from '../../src/lib/chunks.ts'
import type { TestProcess } from './run-files.ts'

export type Suite = 'gate' | 'long'
export type TestKind = 'unit' | 'cluster' | 'cluster-alone'
export type TestFile = {
  readonly path: string
  readonly kind: TestKind
  /** It may not have a process with other files. */
  readonly ownProcess: boolean
}

/**
 * Cluster tests that measure gaps, times or memory, or demand that no write fails and no leader changes: one by one. The others
 * wait for what they want to see, or judge answers however late: three of them at a time see the same.
 */
const alone = [
  'catch-up',
  'full-disk',
  'gossip-forgery',
  'handover',
  'lease-deadlines',
  'lock-command',
  'login-ends',
  'login-flood',
  'repeated-writes',
  'rolling-restart',
  'rpc-tls-renewal',
  'session-deadlines',
  'silent-leader',
  'silent-to-clients',
  'stalled-bodies',
  'watchers',
]

/**
 * Cluster tests that keep up faults, load or hostile input for a while, with servers of two versions too, and the one that makes all forms
 * of a release.
 */
const soaks = [
  'catch-up',
  'chaos',
  'full-disk',
  'gossip-forgery',
  'hostile-answers',
  'lock-command',
  'mixed-versions',
  'releases',
  'repeated-writes',
  'rolling-restart',
  'stalled-bodies',
  'survives-kills',
  'workload-chaos',
]

/** The longest first, so that none of them is begun when all others have ended; what is not here is short. */
const longest = [
  'test/cluster/chaos.test.ts',
  'test/cluster/survives-kills.test.ts',
  'test/cluster/workload-chaos.test.ts',
  'test/cluster/workloads.test.ts',
  'test/cluster/gossip-membership.test.ts',
  'test/cluster/client-nodes.test.ts',
  'test/cluster/client-agent.test.ts',
  'test/cluster/cut-off-nodes.test.ts',
  'test/cluster/readme.test.ts',
  'test/cluster/leader-loss.test.ts',
  'test/cluster/same-names.test.ts',
  'test/cluster/dead-servers.test.ts',
  'test/cluster/frozen-agents.test.ts',
  'test/cluster/acl.test.ts',
  'test/cluster/directory-logins.test.ts',
  'test/cluster/mixed-versions.test.ts',
  'test/cluster/made-anew.test.ts',
  'test/cluster/lost-quorum.test.ts',
  'test/cluster/snapshot-restore.test.ts',
  'test/cluster/warm.test.ts',
  'test/sim/sim.test.ts',
  'test/gossip/node.test.ts',
  'test/gossip/name-vote.test.ts',
  'test/domains/sessions/restored-locks.test.ts',
  'test/domains/catalog/duties.test.ts',
  'test/api/fuzz-routes.test.ts',
  'test/wire/hostile.test.ts',
  'test/wire/hostile-protocol.test.ts',
  'test/cli/lock.test.ts',
  'test/api/websocket-hostile.test.ts',
  'test/domains/operator/archive-fuzz.test.ts',
  'test/domains/bounded-cascades.test.ts',
  'test/gossip/serf-leave.test.ts',
  'test/raft/storage/crash.test.ts',
]

const clusterFolder = 'test/cluster/'

/** All that the lists above name. */
export const namedFiles: readonly string[] = [
  ...[...alone, ...soaks].map((name) => `${clusterFolder}${name}.test.ts`),
  ...longest,
]

function nameOf(path: string): string {
  return path.slice(clusterFolder.length, -'.test.ts'.length)
}

export function kindOf(path: string): TestKind {
  if (!path.startsWith(clusterFolder)) return 'unit'
  return alone.includes(nameOf(path)) ? 'cluster-alone' : 'cluster'
}

function isSoak(path: string): boolean {
  return path.startsWith(clusterFolder) && soaks.includes(nameOf(path))
}

const randomnessFile = 'test/support/randomness.ts'
/** Who measures the heap of the process, and by whom. */
const heapFiles = [
  'test/support/heap.ts',
  'test/lib/churn-map.test.ts',
  'test/lib/heap-growth.test.ts',
]

/** Those of these files that need one of `roots`, by themselves or by what they import, and the roots. */
export function needing(
  roots: readonly string[],
  imports: ReadonlyMap<string, readonly string[]>,
): ReadonlySet<string> {
  const found = new Set(roots)
  for (let before = 0; before < found.size;) {
    before = found.size
    for (const [path, imported] of imports) {
      if (imported.some((other) => found.has(other))) found.add(path)
    }
  }
  return found
}

/** What each of these files imports of ours, from the project's folder. */
async function importsOf(
  root: string,
  paths: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const imports = new Map<string, readonly string[]>()
  for (const path of paths) {
    const text = await readFile(join(root, path), 'utf8')
    const found = [...text.matchAll(/\bfrom '(\.[^']+)'/g)]
    imports.set(
      path,
      found.map(([, name = '']) => join(dirname(path), name)),
    )
  }
  return imports
}

/** Test files of these kinds, in the order in which they are best begun. */
export async function testFiles(
  root: string,
  suite: Suite,
  kinds: readonly TestKind[],
): Promise<readonly TestFile[]> {
  const names = await readdir(join(root, 'test'), { recursive: true })
  const sources = names.map((name) => join('test', name)).filter((path) => path.endsWith('.ts'))
  const imports = await importsOf(root, sources)
  // The stream of draws is the process's: with others before it, a file would draw others.
  const chancy = needing([randomnessFile], imports)
  const measuring = needing(heapFiles, imports)
  // Every test file belongs to one of the two suites, some to both.
  const belongs = (path: string): boolean =>
    suite === 'gate' ? !isSoak(path) : isSoak(path) || chancy.has(path)
  const rank = (path: string): number => {
    const at = longest.indexOf(path)
    return at < 0 ? longest.length : at
  }
  return (
    sources
      .filter((path) => path.endsWith('.test.ts') && belongs(path))
      .map((path) => {
        const kind = kindOf(path)
        return {
          path,
          kind,
          ownProcess:
            kind !== 'unit' || chancy.has(path) || measuring.has(path) || longest.includes(path),
        }
      })
      .filter(({ kind }) => kinds.includes(kind))
      // Only so many clusters run at a time: begun later, they alone would be left in the end.
      .sort(
        (a, b) =>
          Number(a.kind === 'unit') - Number(b.kind === 'unit') ||
          rank(a.path) - rank(b.path) ||
          (a.path < b.path ? -1 : 1),
      )
  )
}

/** Four at a time; the fewer there are the less waits at the end for the last one. */
const batchFiles = 12

/** A process each for those that need their own, then one for twelve of the others, neighbours as far as they go. */
export function processesFor(files: readonly TestFile[]): readonly TestProcess[] {
  const apart = files.filter(({ ownProcess }) => ownProcess)
  const others = files.filter(({ ownProcess }) => !ownProcess).map(({ path }) => path)
  return [
    ...apart.map(({ path, kind }) => ({ paths: [path], kind })),
    ...chunks(others, batchFiles).map((paths) => ({ paths, kind: 'unit' })),
  ]
}
