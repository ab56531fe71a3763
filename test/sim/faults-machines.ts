/** Faults of machines: crashes of one, of a majority, of all; orderly stops; processes that stand still; bad disks. */
import { between, happens, pick, shuffled, spread, weighted } from './randomness.ts'
import { refusals } from './disk.ts'
import type { Trouble } from './trouble.ts'

export function crash(trouble: Trouble): void {
  const { world, random } = trouble
  const up = shuffled(
    random,
    [...world.servers.values()].filter((server) => server.up),
  )
  const { leader } = world
  const kind = weighted(random, { one: 4, leader: 3, majority: 2, all: 2 })
  const victims = {
    one: up.slice(0, 1),
    leader: leader === null ? up.slice(0, 1) : [leader],
    majority: up.slice(0, (up.length >> 1) + 1),
    all: up,
  }[kind]
  const power = happens(random, 0.75)
  const together = happens(random, 0.5) ? trouble.downMs() : null
  for (const server of victims) {
    // All at one moment, or one after the other.
    const delayMs = kind === 'one' || happens(random, 0.5) ? 0 : between(random, 0, 20)
    trouble.later(delayMs, () => {
      if (!server.up) return
      world.count(power ? 'power losses' : 'kills')
      server.crash(power)
      trouble.later(together ?? trouble.downMs(), () => trouble.revive(server))
    })
  }
}

export function stopOne(trouble: Trouble): void {
  const { world, random } = trouble
  const { running } = world
  if (running.length === 0) return
  const server = pick(random, running)
  const life = server.life
  void server.stop().then(() => undefined)
  trouble.later(trouble.downMs() + 100, () => {
    // One that does not come to its end is killed, as an init system would.
    if (server.life === life) server.crash(false)
    trouble.revive(server)
  })
}

export function pause(trouble: Trouble): void {
  const { world, random } = trouble
  const { running, leader, plan } = world
  const server = happens(random, 0.5) ? leader : running.length === 0 ? null : pick(random, running)
  server?.freeze(spread(random, 10, plan.timing.electionMs * 6))
}

export function strikeDisk(trouble: Trouble): void {
  const { world, random } = trouble
  const { running, plan } = world
  if (running.length === 0) return
  const server = pick(random, running)
  const kind = weighted(random, { slow: 3, stall: 3, failure: 1, refusal: 3 })
  if (kind === 'stall') server.stallDisk(spread(random, 20, plan.timing.electionMs * 4))
  else if (kind === 'failure') server.breakDisk()
  else if (kind === 'refusal') {
    world.count('disks full or read-only')
    server.refuseWrites(pick(random, refusals))
    trouble.later(trouble.spellMs(), () => server.refuseWrites(null))
  } else {
    server.slowDisk(spread(random, 2, 50))
    trouble.later(trouble.spellMs(), () => server.slowDisk(1))
  }
}

/** Too much work for all machines: they stand still again and again, for a fifth of a timeout at most; disks and network are late. */
export function overload(trouble: Trouble): void {
  const { world, random } = trouble
  const { network, plan, running } = world
  let over = false
  const stutter = (): void => {
    if (over) return
    if (world.running.length > 0) {
      pick(random, world.running).freeze(spread(random, 2, plan.timing.electionMs / 5))
    }
    trouble.later(spread(random, 5, plan.timing.electionMs / 3), stutter)
  }
  stutter()
  for (const server of running) server.slowDisk(spread(random, 1, 20))
  network.weather = { ...plan.weather, jitterMs: spread(random, 1, plan.timing.electionMs / 20) }
  trouble.later(trouble.spellMs(), () => {
    over = true
    for (const server of running) server.slowDisk(1)
    network.weather = plan.weather
  })
}
