/**
 * What goes wrong, and when, by seed. For a while anything may be broken at once; but no more servers are lost
 * for good than a cluster can do without, so that after the healing it has to come together.
 */
import { between, happens, weighted } from './randomness.ts'
import { breakLease } from './faults-lease.ts'
import { crash, overload, pause, stopOne, strikeDisk } from './faults-machines.ts'
import { burst, changeWeather, hintFalsely, partition } from './faults-network.ts'
import { changeMembers, transfer } from './faults-people.ts'
import type { FaultName } from './plan.ts'
import { Trouble } from './trouble.ts'
import type { World } from './world.ts'

const faults = {
  partition,
  weather: changeWeather,
  gone: hintFalsely,
  burst,
  lease: breakLease,
  crash,
  stop: stopOne,
  pause,
  disk: strikeDisk,
  load: overload,
  transfer,
  membership: changeMembers,
} satisfies Record<FaultName, (trouble: Trouble) => void>

export class Faults {
  readonly #trouble: Trouble

  constructor(world: World) {
    this.#trouble = new Trouble(world)
    const { random } = this.#trouble
    world.onElected = () => {
      // Just when a leader does not know yet what its predecessors did.
      if (world.plan.faults.membership === 0 || !happens(random, 0.3)) return
      this.#trouble.later(between(random, 0, 15), () => changeMembers(this.#trouble))
    }
  }

  begin(): void {
    const { world, random } = this.#trouble
    const gapMs = -Math.log(1 - random.next()) * world.plan.faultGapMs
    this.#trouble.later(gapMs, () => {
      const name = weighted(random, world.plan.faults)
      world.count(name)
      faults[name](this.#trouble)
      this.begin()
    })
  }

  /** No new trouble; what is broken is mended. */
  stop(): void {
    const { network, servers } = this.#trouble.world
    this.#trouble.over = true
    network.healAll()
    for (const server of servers.values()) {
      server.slowDisk(1)
      server.refuseWrites(null)
      server.start()
    }
  }
}
