/** How long a pool takes to see that one of it was killed, under circumstances that could make it slow. */
import { buildPool, calm, converged, World, type Node, type Weather } from './world.ts'

export type Circumstances = {
  readonly members: number
  readonly weather?: Weather
  /** Of those, leave gracefully just before. */
  readonly leavers?: number
  /** Between the complete pool and what happens. */
  readonly quietMs?: number
  /** The machine is gone, not only the process: nothing there says that nobody listens. */
  readonly unplugged?: boolean
  /** How many of those that stay feel as ill as can be. */
  readonly ill?: number
  /** Each process stands still now and then, for a time between these two, after it ran for one between those. */
  readonly stalls?: {
    readonly ms: readonly [number, number]
    readonly everyMs: readonly [number, number]
  }
}

export type Detection = {
  /** Milliseconds from the kill until the first, and until all, see the member failed. */
  readonly firstMs: number
  readonly allMs: number
  /** Living members that somebody declared failed meanwhile. */
  readonly wronged: number
}

export const detectionMsMax = 120_000

export function detect(seed: number, circumstances: Circumstances): Detection {
  const { unplugged = false } = circumstances
  const { members, weather = calm, leavers = 0, quietMs = 5_000, ill = 0, stalls } = circumstances
  const world = new World(seed, weather)
  buildPool(world, members, members * 30)
  if (!world.runUntil(() => converged(world), 60_000)) throw new Error('the pool does not form')
  world.run(quietMs + world.random.next() * 1_000)
  const leaving = world.nodes.slice(members - leavers)
  for (const node of leaving) world.act(node, (core, now) => core.leave(now))
  world.runUntil(() => leaving.every(({ core }) => core.leaving === 'done'), 30_000, 10)
  for (const node of leaving) world.kill(node)
  const [victim, ...others] = world.nodes
  if (victim === undefined) throw new Error('a pool has a member at least')
  for (const node of others.slice(0, ill)) makeIll(world, node, victim.name)
  const wronged = new Set<string>()
  world.onEvent = ({ on, event }) => {
    if (event.type !== 'member-failed' || on === victim.name || event.member.name === victim.name)
      return
    wronged.add(event.member.name)
  }
  if (stalls !== undefined) for (const node of world.nodes) stallNowAndThen(world, node, stalls)
  if (unplugged) victim.side = 1
  else world.kill(victim)
  const start = world.now
  const seen = ({ core }: Node): boolean => core.member(victim.name)?.status === 'failed'
  const time = (condition: () => boolean): number =>
    world.runUntil(condition, detectionMsMax, 10) ? world.now - start : Infinity
  const stay = others.filter(({ up }) => up)
  const firstMs = time(() => stay.some(seen))
  const allMs = time(() => stay.every(seen))
  return { firstMs, allMs, wronged: wronged.size }
}

/** Whoever is doubted and has to object feels ill. */
function makeIll(world: World, node: Node, from: string): void {
  for (let doubts = 0; doubts < 8; doubts += 1) {
    const incarnation = node.core.member(node.name)?.incarnation ?? 1
    world.act(node, (core, now) => {
      core.message({ type: 'suspect', incarnation, node: node.name, from }, node.endpoint, now)
    })
  }
}

function stallNowAndThen(
  world: World,
  node: Node,
  { ms, everyMs }: NonNullable<Circumstances['stalls']>,
): void {
  const between = ([least, most]: readonly [number, number]): number =>
    least + world.random.next() * (most - least)
  world.agenda.at(world.now + between(everyMs), () => {
    if (!node.up) return
    world.pause(node)
    world.agenda.at(world.now + between(ms), () => {
      world.resume(node)
      stallNowAndThen(world, node, { ms, everyMs })
    })
  })
}
