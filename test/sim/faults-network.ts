/** Faults of the network: cuts, foul weather, false alarms, and writes to a leader that nobody hears. */
import type { ServerId } from '../../src/raft/core/message.ts'
import { between, happens, integer, shuffled, spread, weighted } from './randomness.ts'
import { encodeCommand } from './commands.ts'
import { digestOf } from './observed-log.ts'
import { weatherOf } from './plan.ts'
import type { Trouble } from './trouble.ts'

export function partition(trouble: Trouble): void {
  const { world, random } = trouble
  const { network, servers, leader, trace } = world
  const ids = shuffled(random, [...servers.keys()])
  const cuts: (readonly [ServerId, ServerId])[] = []
  const both = (a: ServerId, b: ServerId) => cuts.push([a, b], [b, a])
  const apart = (left: readonly ServerId[], right: readonly ServerId[]) => {
    for (const a of left) for (const b of right) both(a, b)
  }
  const kind = weighted(random, {
    halves: 3,
    leader: 2,
    deaf: 1,
    mute: 1,
    oneWay: 2,
    ring: 1,
    court: 2,
  })
  const one = leader?.id ?? ids[0] ?? ''
  const others = ids.filter((id) => id !== one)
  if (kind === 'halves') {
    const size = integer(random, 1, Math.max(1, ids.length - 1))
    apart(ids.slice(0, size), ids.slice(size))
  } else if (kind === 'leader') apart([one], others)
  else if (kind === 'court') {
    // The leader keeps as many as are no majority with it: whoever asks there asks in vain.
    const kept = (others.length - 1) >> 1
    apart([one, ...others.slice(0, kept)], others.slice(kept))
  } else if (kind === 'deaf') for (const other of others) cuts.push([other, one])
  else if (kind === 'mute') for (const other of others) cuts.push([one, other])
  else if (kind === 'oneWay') {
    const links = ids.flatMap((a) => ids.filter((b) => b !== a).map((b) => [a, b] as const))
    cuts.push(...shuffled(random, links).slice(0, integer(random, 1, 3)))
  } else {
    for (const [i, a] of ids.entries()) {
      for (const b of ids.slice(i + 2)) if (!(i === 0 && b === ids.at(-1))) both(a, b)
    }
  }
  trace.add(() => `cut (${kind}): ${cuts.map(([a, b]) => `${a}>${b}`).join(' ')}`)
  for (const [a, b] of cuts) network.cut(a, b)
  // The sockets may break as well, which looks like the end of a process.
  if (kind === 'court' || happens(random, 0.3)) for (const [a, b] of cuts) hint(trouble, a, b)
  trouble.later(trouble.spellMs(), () => {
    trace.add(() => `healed (${kind})`)
    for (const [a, b] of cuts) network.heal(a, b)
  })
}

export function changeWeather(trouble: Trouble): void {
  const { world, random } = trouble
  const { network, plan, trace } = world
  network.weather = weatherOf(random, true)
  trace.add(() => `weather: ${JSON.stringify(network.weather)}`)
  trouble.later(trouble.spellMs(), () => {
    network.weather = plan.weather
  })
}

/** Sockets broke although nobody died. */
export function hintFalsely(trouble: Trouble): void {
  const { world, random } = trouble
  const [about = '', to = ''] = shuffled(random, [...world.servers.keys()])
  hint(trouble, about, to)
}

function hint(trouble: Trouble, about: ServerId, to: ServerId): void {
  const { network, scheduler } = trouble.world
  const endpoint = network.endpoint(to)
  if (endpoint === undefined) return
  trouble.later(between(trouble.random, 0, 5), () => {
    scheduler.enter(endpoint.life, () => endpoint.peerGone(about))
  })
}

/** A leader that hears nobody any more takes many writes: entries that others will have to cut off. */
export function burst(trouble: Trouble): void {
  const { world, random } = trouble
  const { leader, servers, network, scheduler, judges, plan } = world
  const running = leader?.running
  if (leader === null || running === null || running === undefined) return
  const others = [...servers.keys()].filter((id) => id !== leader.id)
  for (const other of others) network.cut(leader.id, other)
  if (happens(random, 0.5)) for (const other of others) network.cut(other, leader.id)
  const { life, node } = running
  for (let left = integer(random, 1, 40); left > 0; left -= 1) {
    const value = '.'.repeat(integer(random, 0, plan.paddingBytes))
    const data = encodeCommand({ type: 'put', key: 'burst', value: 'burst', padding: value })
    scheduler.after(
      between(random, 0, 10),
      () => {
        scheduler.enter(life, () => {
          // Nobody reads this key; what is acknowledged all the same has to last.
          node.propose(data).then(
            ({ index }) => judges.writes.acknowledged(index, digestOf({ kind: 'command', data })),
            () => undefined,
          )
        })
      },
      life,
    )
  }
  trouble.later(spread(random, 5, plan.timing.electionMs * 6), () => {
    for (const other of others) {
      network.heal(leader.id, other)
      network.heal(other, leader.id)
    }
  })
}
