/**
 * What goes wrong, and when, by seed: the network, the machines, the disks, and people who change the cluster.
 * One more server than a majority can do without is never lost for good; for a while, anything may be.
 */
import type { Random } from '../../src/lib/random.ts'
import type { ServerId } from '../../src/raft/core/message.ts'
import { between, happens, integer, pick, shuffled, spread, streamOf, weighted } from './chance.ts'
import { weatherOf, type FaultName } from './plan.ts'
import type { SimServer } from './server.ts'
import { memberOf, type World } from './world.ts'

/** Servers there are at once, those about to leave included. */
const serversMax = 7

export class Faults {
  readonly #world: World
  readonly #random: Random
  #stopped = false
  /** Servers that were removed and are about to be thrown away. */
  readonly #leaving = new Set<ServerId>()

  constructor(world: World) {
    this.#world = world
    this.#random = streamOf(world.plan.seed, 'faults')
  }

  begin(): void {
    const { plan, scheduler } = this.#world
    const gapMs = -Math.log(1 - this.#random.next()) * plan.faultGapMs
    scheduler.after(gapMs, () => {
      if (this.#stopped) return
      this.#strike(weighted(this.#random, plan.faults))
      this.begin()
    })
  }

  /** No new trouble; what is broken is mended. */
  stop(): void {
    const { network, servers } = this.#world
    this.#stopped = true
    network.healAll()
    for (const server of servers.values()) {
      server.slowDisk(1)
      server.start()
    }
  }

  #strike(fault: FaultName): void {
    this.#world.count(fault)
    switch (fault) {
      case 'partition':
        return this.#partition()
      case 'weather':
        return this.#weather()
      case 'crash':
        return this.#crash()
      case 'stop':
        return this.#stopOne()
      case 'pause':
        return this.#pause()
      case 'disk':
        return this.#disk()
      case 'transfer':
        return this.#transfer()
      case 'membership':
        return this.#membership()
      case 'gone':
        return this.#falseHint()
    }
  }

  // --- network ---

  #partition(): void {
    const { network, servers, leader, trace } = this.#world
    const ids = shuffled(this.#random, [...servers.keys()])
    const cuts: (readonly [ServerId, ServerId])[] = []
    const both = (a: ServerId, b: ServerId) => cuts.push([a, b], [b, a])
    const kind = weighted(this.#random, {
      halves: 3,
      leader: 2,
      deaf: 1,
      mute: 1,
      oneWay: 2,
      ring: 1,
    })
    const one = leader?.id ?? ids[0] ?? ''
    const others = ids.filter((id) => id !== one)
    if (kind === 'halves') {
      const size = integer(this.#random, 1, Math.max(1, ids.length - 1))
      for (const a of ids.slice(0, size)) for (const b of ids.slice(size)) both(a, b)
    } else if (kind === 'leader') for (const other of others) both(one, other)
    else if (kind === 'deaf') for (const other of others) cuts.push([other, one])
    else if (kind === 'mute') for (const other of others) cuts.push([one, other])
    else if (kind === 'oneWay') {
      const links = ids.flatMap((a) => ids.filter((b) => b !== a).map((b) => [a, b] as const))
      cuts.push(...shuffled(this.#random, links).slice(0, integer(this.#random, 1, 3)))
    } else {
      for (const [i, a] of ids.entries()) {
        for (const b of ids.slice(i + 2)) if (!(i === 0 && b === ids.at(-1))) both(a, b)
      }
    }
    trace.add(() => `cut (${kind}): ${cuts.map(([a, b]) => `${a}>${b}`).join(' ')}`)
    for (const [a, b] of cuts) network.cut(a, b)
    this.#later(this.#spell(), () => {
      trace.add(() => `healed (${kind})`)
      for (const [a, b] of cuts) network.heal(a, b)
    })
  }

  #weather(): void {
    const { network, plan, trace } = this.#world
    network.weather = weatherOf(this.#random, true)
    trace.add(() => `weather: ${JSON.stringify(network.weather)}`)
    this.#later(this.#spell(), () => {
      network.weather = plan.weather
    })
  }

  /** Sockets broke although nobody died. */
  #falseHint(): void {
    const { network, servers, scheduler } = this.#world
    const [about = '', to = ''] = shuffled(this.#random, [...servers.keys()])
    const endpoint = network.endpoint(to)
    if (endpoint === undefined) return
    scheduler.enter(endpoint.life, () => endpoint.peerGone(about))
  }

  // --- machines ---

  #crash(): void {
    const up = shuffled(
      this.#random,
      [...this.#world.servers.values()].filter((server) => server.up),
    )
    const { leader } = this.#world
    const kind = weighted(this.#random, { one: 4, leader: 3, majority: 2, all: 2 })
    const victims = {
      one: up.slice(0, 1),
      leader: leader === null ? up.slice(0, 1) : [leader],
      majority: up.slice(0, (up.length >> 1) + 1),
      all: up,
    }[kind]
    const power = happens(this.#random, 0.75)
    const together = happens(this.#random, 0.5) ? this.#downMs() : null
    for (const server of victims) {
      // All at one moment, or one after the other.
      const delayMs =
        kind === 'one' || happens(this.#random, 0.5) ? 0 : between(this.#random, 0, 20)
      this.#later(delayMs, () => {
        if (!server.up) return
        this.#world.count(power ? 'power losses' : 'kills')
        server.crash(power)
        this.#later(together ?? this.#downMs(), () => this.#revive(server))
      })
    }
  }

  #stopOne(): void {
    const { running } = this.#world
    if (running.length === 0) return
    const server = pick(this.#random, running)
    const life = server.life
    void server.stop().then(() => undefined)
    this.#later(this.#downMs() + 100, () => {
      // One that does not come to its end is killed, as an init system would.
      if (server.life === life) server.crash(false)
      this.#revive(server)
    })
  }

  #pause(): void {
    const { running, leader, plan } = this.#world
    const server = happens(this.#random, 0.5)
      ? leader
      : running.length === 0
        ? null
        : pick(this.#random, running)
    server?.freeze(spread(this.#random, 10, plan.timing.electionMs * 6))
  }

  #disk(): void {
    const { running, plan } = this.#world
    if (running.length === 0) return
    const server = pick(this.#random, running)
    const kind = weighted(this.#random, { slow: 3, stall: 3, failure: 1 })
    if (kind === 'stall') server.stallDisk(spread(this.#random, 20, plan.timing.electionMs * 4))
    else if (kind === 'failure') server.breakDisk()
    else {
      server.slowDisk(spread(this.#random, 2, 50))
      this.#later(this.#spell(), () => server.slowDisk(1))
    }
  }

  // --- people ---

  #transfer(): void {
    const { leader, servers } = this.#world
    if (leader === null) return
    const target = happens(this.#random, 0.5) ? null : pick(this.#random, [...servers.keys()])
    void this.#world
      .request(leader, 2_000, async ({ running }) => {
        if (running === null) return
        const { scheduler } = this.#world
        const deadlineMs = scheduler.clockOf(running.life).monotonicMs() + 1_000
        await running.node.transferLeadership(target, deadlineMs)
      })
      .then((reply) => this.#world.count(`transfer ${reply.type}`))
  }

  #membership(): void {
    const { leader, servers } = this.#world
    const status = leader?.status
    if (leader === null || status === null || status === undefined) return
    const { members } = status.configuration
    const voters = members.filter(({ role }) => role === 'voter').map(({ id }) => id)
    const learners = members.filter(({ role }) => role === 'learner').map(({ id }) => id)
    const kind = weighted(this.#random, {
      add: servers.size < serversMax ? 3 : 0,
      promote: learners.length > 0 ? 4 : 0,
      removeVoter: voters.length > 2 ? 2 : 0,
      removeLearner: learners.length > 0 ? 0.5 : 0,
      readdress: 0.3,
    })
    switch (kind) {
      case 'add': {
        const server = this.#world.addServer()
        server.start()
        void this.#change(leader, { type: 'addLearner', member: memberOf(server.id) }).then(
          (done) => {
            // Refused or lost: nobody may ever speak to it; later removals decide by the members then.
            if (!done) this.#later(1_000, () => this.#maybeThrowAway(server))
          },
        )
        return
      }
      case 'promote':
        void this.#change(leader, { type: 'promote', id: pick(this.#random, learners) })
        return
      case 'removeVoter':
        this.#remove(leader, happens(this.#random, 0.3) ? leader.id : pick(this.#random, voters))
        return
      case 'removeLearner':
        this.#remove(leader, pick(this.#random, learners))
        return
      case 'readdress':
        void this.#change(leader, {
          type: 'readdress',
          member: { ...memberOf(pick(this.#random, voters)), address: 'elsewhere:2' },
        })
    }
  }

  #remove(leader: SimServer, id: ServerId): void {
    void this.#change(leader, { type: 'remove', id }).then((done) => {
      const server = this.#world.servers.get(id)
      // It goes on for a while, and may disturb.
      if (done && server !== undefined) {
        this.#later(between(this.#random, 0, 3_000), () => this.#maybeThrowAway(server))
      }
    })
  }

  async #change(
    leader: SimServer,
    change: Parameters<NonNullable<SimServer['running']>['node']['changeMembership']>[0],
  ): Promise<boolean> {
    const reply = await this.#world.request(leader, 2_000, async ({ running }) => {
      if (running === null) throw new Error('a request reaches running servers only')
      await running.node.changeMembership(change)
    })
    this.#world.trace.add(() => `${leader.id} ${JSON.stringify(change)}: ${reply.type}`)
    if (reply.type === 'ok') this.#world.count(`members: ${change.type}`)
    return reply.type === 'ok'
  }

  /** Only if it is no member by any configuration that counts or may come to count. */
  #maybeThrowAway(server: SimServer): void {
    const { servers } = this.#world
    if (servers.get(server.id) !== server || this.#leaving.has(server.id)) return
    const statuses = [...servers.values()].map((other) => other.status)
    const isMember = statuses.some((status) =>
      status?.configuration.members.some(({ id }) => id === server.id),
    )
    // One that is down may know another configuration: then nobody is thrown away.
    if (isMember || statuses.includes(null)) return
    this.#leaving.add(server.id)
    this.#world.destroy(server)
  }

  #revive(server: SimServer): void {
    if (this.#world.servers.get(server.id) === server) server.start()
  }

  #later(delayMs: number, run: () => void): void {
    this.#world.scheduler.after(delayMs, () => {
      if (!this.#stopped) run()
    })
  }

  #spell(): number {
    return spread(this.#random, 20, this.#world.plan.timing.electionMs * 12)
  }

  #downMs(): number {
    return spread(this.#random, 1, this.#world.plan.timing.electionMs * 8)
  }
}
