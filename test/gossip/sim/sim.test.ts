/**
 * Whole pools in simulated time. `SEED` replays a run, `SIM_MEMBERS=1000` is the long form of the first one.
 */
import t from 'tap'
import { pushPullIntervalMs, suspicionTimes } from '../../../src/gossip/core/profile.ts'
import {
  buildPool,
  calm,
  converged,
  endpointOf,
  isAlive,
  lossy,
  World,
  type Logged,
  type Node,
  type Weather,
} from './world.ts'

const seed = Number(process.env['SEED'] ?? 1)
const membersMany = Number(process.env['SIM_MEMBERS'] ?? 100)

type Run = {
  readonly world: World
  readonly log: Logged[]
  readonly node: (index: number) => Node
  /** Names that somebody declared failed or left since the last look. */
  readonly gone: () => string[]
}

/** A pool in which everybody knows everybody, and the news of that is told. */
function pool(size: number, weather: Weather, seedOffset = 0): Run {
  const world = new World(seed + seedOffset, weather)
  const log: Logged[] = []
  // A large pool joins a million times; nobody asks about that.
  world.onEvent = (logged) => {
    if (logged.event.type !== 'member-joined') log.push(logged)
  }
  buildPool(world, size, size * 30)
  // Of a million pairs packets alone may leave out one or two; exchanges, at longest every three minutes, heal them.
  if (!world.runUntil(() => converged(world), 400_000)) throw new Error('the pool does not form')
  world.run(5_000)
  return {
    world,
    log,
    node: (index) => {
      const node = world.nodes[index]
      if (node === undefined) throw new Error(`there is no member ${index}`)
      return node
    },
    gone: () => {
      const names = log.flatMap(({ event }) =>
        event.type === 'member-failed' || event.type === 'member-left' ? [event.member.name] : [],
      )
      log.length = 0
      return [...new Set(names)]
    },
  }
}

/** Time until all that are up see the member in that status; -1: not within the limit. */
function untilAll(world: World, name: string, status: string, limitMs: number): number {
  const start = world.now
  const seen = (node: Node): boolean =>
    !node.up || node.name === name || (node.core.member(name)?.status ?? 'unknown') === status
  return world.runUntil(() => world.nodes.every(seen), limitMs) ? world.now - start : -1
}

/** Time until the first sees it so. */
function untilFirst(world: World, name: string, status: string, limitMs: number): number {
  const start = world.now
  const seen = (node: Node): boolean => node.up && node.core.member(name)?.status === status
  return world.runUntil(() => world.nodes.some(seen), limitMs) ? world.now - start : -1
}

void t.test(`${membersMany} members at 10 % loss (seed ${seed})`, (t) => {
  const { world, node, gone, log } = pool(membersMany, lossy)
  t.comment(`all know all after ${world.now - 5_000} ms of joining one after the other`)
  const quiet = (): boolean =>
    world.nodes.every(({ core }) => core.sizes.claims + core.sizes.intents === 0)
  t.ok(world.runUntil(quiet, 300_000), 'all news is told')
  t.same(gone(), [], 'nobody was declared dead while they joined')
  const before = { packets: world.packets, messages: world.messages, bytes: world.bytes }
  const quietMs = 60_000
  world.run(quietMs)
  const rate = (now: number, then: number): string =>
    ((now - then) / membersMany / (quietMs / 1_000)).toFixed(2)
  t.comment(
    `in quiet, per member and second: ${rate(world.packets, before.packets)} packets, ` +
      `${rate(world.messages, before.messages)} messages, ${rate(world.bytes, before.bytes)} bytes`,
  )
  const raised = log.filter(({ event }) => {
    return event.type === 'member-suspected' && event.suspicion.evidence.type === 'probe'
  })
  t.comment(`${raised.length} suspicions by probes in ${quietMs / 1_000} s`)
  t.same(gone(), [], 'nobody living is declared dead')
  t.ok(converged(world))

  const victim = node(Math.floor(membersMany / 2))
  world.kill(victim)
  const { minMs, maxMs } = suspicionTimes(world.profile, {
    members: membersMany,
    living: membersMany,
  })
  const first = untilFirst(world, victim.name, 'failed', 2 * maxMs)
  const rest = untilAll(world, victim.name, 'failed', 60_000)
  t.comment(`killed: seen by the first after ${first} ms, by all after ${first + rest} ms`)
  t.ok(first >= minMs, 'it had the time to object')
  t.ok(rest >= 0 && rest < 10_000)
  t.same(gone(), [victim.name], 'and nobody else')

  world.restart(victim)
  world.act(victim, (core, now) => core.join(node(0).endpoint, false, now))
  const back = untilAll(world, victim.name, 'alive', 60_000)
  t.comment(`restarted with nothing: alive for all after ${back} ms`)
  t.ok(back >= 0)
  t.ok(world.runUntil(() => converged(world), 60_000))
  t.end()
})

void t.test('five members on a calm network, to be compared with five agents', (t) => {
  const times: { readonly first: number; readonly all: number }[] = []
  for (let run = 0; run < 20; run += 1) {
    const { world, node, gone } = pool(5, calm, run)
    world.run(world.random.next() * 1_000)
    gone()
    world.kill(node(3))
    const first = untilFirst(world, 'm3', 'failed', 60_000)
    times.push({ first, all: first + untilAll(world, 'm3', 'failed', 60_000) })
    t.same(gone(), ['m3'])
  }
  const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1] ?? 0
  const firsts = times.map(({ first }) => first)
  const alls = times.map(({ all }) => all)
  t.comment(
    `killed: first after ${median(firsts)} ms, all after ${median(alls)} ms (medians of 20)`,
  )
  t.ok(Math.max(...alls) < 10_000)
  t.end()
})

void t.test('a cut pool is two, and one again when the cut is mended', (t) => {
  const { world, node, gone } = pool(40, lossy)
  gone()
  for (let index = 0; index < 15; index += 1) node(index).side = 1
  world.run(90_000)
  const sizes = world.nodes.map(({ core }) => {
    return core.members().filter(({ status }) => status === 'alive').length
  })
  t.same(sizes, [...sizes.slice(0, 15).fill(15), ...sizes.slice(15).fill(25)])
  for (const member of world.nodes) member.side = 0
  const start = world.now
  t.ok(world.runUntil(() => converged(world), 300_000))
  t.comment(`one pool again ${world.now - start} ms after the cut was mended`)
  gone()
  world.run(60_000)
  t.same(gone(), [], 'and it stays so')
  t.end()
})

void t.test('a short stop of a process is not a death, a long one is until it goes on', (t) => {
  const { world, node, gone } = pool(30, lossy)
  gone()
  for (const index of [3, 4, 5]) world.pause(node(index))
  world.run(3_000)
  for (const index of [3, 4, 5]) world.resume(node(index))
  world.run(60_000)
  t.same(gone(), [], 'three seconds')
  world.pause(node(7))
  const failed = untilAll(world, 'm7', 'failed', 120_000)
  t.same(gone(), ['m7'], 'for ever')
  world.run(40_000)
  world.resume(node(7))
  const back = untilAll(world, 'm7', 'alive', 60_000)
  t.comment(
    `stopped for long: failed for all after ${failed} ms, alive ${back} ms after it went on`,
  )
  t.ok(failed >= 0 && back >= 0)
  t.ok(world.runUntil(() => converged(world), 60_000))
  t.same(gone(), [], 'it blames nobody for what it did not hear')
  t.end()
})

void t.test('who has no UDP but TCP is not declared dead, and is named', (t) => {
  const { world, node, log, gone } = pool(10, calm)
  gone()
  node(4).packetsBlocked = true
  world.run(20_000)
  const named = log.filter(({ event }) => {
    return event.type === 'member-reach' && event.member.reach === 'stream-only'
  })
  t.ok(
    named.some(({ on, event }) => {
      return on !== 'm4' && event.type === 'member-reach' && event.member.name === 'm4'
    }),
  )
  node(4).packetsBlocked = false
  world.run(30_000)
  t.same(gone(), [])
  t.ok(
    world.nodes.every(({ core }) => core.members().every(({ reach }) => reach !== 'stream-only')),
  )
  t.end()
})

void t.test('whoever leaves has left for all, and no one has it for failed', (t) => {
  const { world, node, log } = pool(30, lossy)
  log.length = 0
  world.act(node(9), (core, now) => core.leave(now))
  const left = untilAll(world, 'm9', 'left', 30_000)
  const done = (): boolean => log.some(({ on, event }) => on === 'm9' && event.type === 'left-pool')
  t.ok(world.runUntil(done, 30_000))
  world.kill(node(9))
  world.run(60_000)
  t.comment(`left for all after ${left} ms`)
  t.notOk(log.some(({ event }) => event.type === 'member-failed'))
  world.restart(node(9))
  world.act(node(9), (core, now) => core.join(node(0).endpoint, false, now))
  t.ok(untilAll(world, 'm9', 'alive', 30_000) >= 0, 'and may come back')
  world.run(60_000)
  t.ok(converged(world))
  t.end()
})

void t.test('given up is given up, and a machine made anew under the name joins at once', (t) => {
  for (const prune of [false, true]) {
    const { world, node, gone } = pool(30, lossy, prune ? 1 : 0)
    world.kill(node(5))
    t.ok(untilAll(world, 'm5', 'failed', 60_000) >= 0)
    world.act(node(0), (core, now) => core.forceLeave('m5', prune, now))
    const given = untilAll(world, 'm5', prune ? 'unknown' : 'left', 30_000)
    t.ok(given >= 0)
    gone()
    world.run(200_000)
    const { core } = node(20)
    t.equal(core.member('m5')?.status ?? 'unknown', prune ? 'unknown' : 'left')
    t.same(gone(), [], 'it does not come back by itself')
    const anew = world.addNode('m5', endpointOf(500))
    world.act(anew, (core, now) => core.join(node(3).endpoint, false, now))
    const joined = untilAll(world, 'm5', 'alive', 30_000)
    t.comment(`given up for all after ${given} ms; made anew, alive for all after ${joined} ms`)
    t.ok(joined >= 0 && joined < 10_000)
    world.run(60_000)
    t.same(gone(), [])
    t.ok(isAlive(node(20), 'm5'))
  }
  t.end()
})

void t.test(
  'a member that comes back elsewhere at once gets its name when the old place is given up',
  (t) => {
    const times: number[] = []
    for (let run = 0; run < 5; run += 1) {
      const { world, node, gone } = pool(5, lossy, run)
      world.kill(node(3))
      const moved = world.addNode('m3', endpointOf(500))
      world.act(moved, (core, now) => core.join(node(0).endpoint, false, now))
      const start = world.now
      const known = ({ up, core }: Node): boolean => {
        const member = core.member('m3')
        return !up || (member?.status === 'alive' && member.endpoint.port === moved.endpoint.port)
      }
      t.ok(world.runUntil(() => world.nodes.every(known), 180_000))
      times.push(world.now - start)
      gone()
      world.run(60_000)
      t.same(gone(), [], 'and it stays so')
    }
    t.comment(
      `at another address, alive for all after ${times.map((ms) => ms / 1_000).join(', ')} s`,
    )
    t.end()
  },
)

void t.test('an exchange heals what every packet missed', (t) => {
  const { world, node } = pool(8, calm)
  const nothing: Weather = { ...calm, lossRate: 1 }
  world.weather = nothing
  world.act(node(2), (core, now) => core.setTags(new Map([['role', 'db']]), now))
  world.run(100)
  for (const { core } of world.nodes)
    t.equal(core.member('m2')?.tags.size, core.name === 'm2' ? 1 : 0)
  // All of its transmissions are lost; from now on nothing is.
  world.run(400)
  world.weather = calm
  const heard = (): boolean => world.nodes.every(({ core }) => core.member('m2')?.tags.size === 1)
  t.ok(world.runUntil(heard, 4 * pushPullIntervalMs(world.profile, 8)))
  t.end()
})

void t.test('the same seed gives the same run', (t) => {
  const [one, other] = [1, 2].map(() => {
    const { world, log } = pool(15, lossy)
    world.kill(world.nodes[3] ?? world.addNode('never'))
    world.run(30_000)
    return `${world.packets} ${world.bytes} ${log.map(({ at, on, event }) => `${at}${on}${event.type}`).join()}`
  })
  t.ok((one ?? '').length > 100)
  t.equal(one, other)
  t.end()
})
