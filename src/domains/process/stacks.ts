/** V8's CPU and heap profiles, which are trees of calls, as stacks with values. */
import type { HeapProfiler, Profiler } from 'node:inspector'
import type { Frame, Stack } from './pprof.ts'

/** Stacks deeper than this lose their outermost calls. */
const depthMax = 256

const nsPerMicrosecond = 1_000

/** Values: samples, nanoseconds. What the event loop idled is left out: nobody ran. */
export function cpuStacks(profile: Profiler.Profile): readonly Stack[] {
  const parents = new Map<number, Profiler.ProfileNode>()
  const nodes = new Map<number, Profiler.ProfileNode>()
  for (const node of profile.nodes) {
    nodes.set(node.id, node)
    for (const child of node.children ?? []) parents.set(child, node)
  }
  const sums = new Map<number, { count: number; nanoseconds: number }>()
  const deltas = profile.timeDeltas ?? []
  for (const [at, id] of (profile.samples ?? []).entries()) {
    const sum = sums.get(id) ?? { count: 0, nanoseconds: 0 }
    sum.count += 1
    // A sample stands for the time until the next one; clocks of processors may step back a little.
    sum.nanoseconds += Math.max(0, deltas[at + 1] ?? 0) * nsPerMicrosecond
    sums.set(id, sum)
  }
  return [...sums].flatMap(([id, { count, nanoseconds }]): Stack[] => {
    const frames: Frame[] = []
    let node = nodes.get(id)
    while (node !== undefined && frames.length < depthMax) {
      if (!isRoot(node.callFrame)) frames.push(node.callFrame)
      node = parents.get(node.id)
    }
    const [innermost] = frames
    if (innermost === undefined || innermost.functionName === '(idle)') return []
    return [{ frames, values: [count, nanoseconds] }]
  })
}

/** Values: samples, bytes; of the samples that were taken after the one numbered `after`. */
export function heapStacks(
  profile: HeapProfiler.SamplingHeapProfile,
  after: number,
): readonly Stack[] {
  const sums = new Map<number, { count: number; bytes: number }>()
  for (const { nodeId, size, ordinal } of profile.samples) {
    if (ordinal <= after) continue
    const sum = sums.get(nodeId) ?? { count: 0, bytes: 0 }
    sum.count += 1
    sum.bytes += size
    sums.set(nodeId, sum)
  }
  const stacks: Stack[] = []
  // Recursion is as deep as the stacks that V8 took, which it cuts itself.
  const visit = (node: HeapProfiler.SamplingHeapProfileNode, outer: readonly Frame[]): void => {
    const frames = isRoot(node.callFrame) ? outer : [node.callFrame, ...outer].slice(0, depthMax)
    const sum = sums.get(node.id)
    if (sum !== undefined && frames.length > 0) {
      stacks.push({ frames, values: [sum.count, sum.bytes] })
    }
    for (const child of node.children) visit(child, frames)
  }
  visit(profile.head, [])
  return stacks
}

function isRoot({ functionName, url }: Frame): boolean {
  return functionName === '(root)' && url === ''
}
