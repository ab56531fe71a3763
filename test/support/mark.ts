/** A variable by which one cluster is told from another. */
import type { Cluster } from './cluster.ts'
import { eventually, eventuallyTrue } from './eventually.ts'

const path = 'whose/this'

export async function mark(cluster: Cluster, mark: string): Promise<void> {
  await eventuallyTrue('the mark is written', async () => {
    return (await cluster.variables(0).put(path, mark)).type === 'ok'
  })
}

/** The mark, as server `at` has it from its leader. */
export async function markSeenBy(cluster: Cluster, at: number): Promise<string | null> {
  const seen = await eventually(`server ${at} can be read`, async () => {
    const read = await cluster.variables(at).read(path, 'default')
    return read.type === 'ok' ? read.seen : undefined
  })
  return seen.value
}
