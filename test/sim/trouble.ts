/** What every kind of fault needs: the world, randomness, and a later that ends when the trouble does. */
import type { Random } from '../../src/lib/random.ts'
import { spread, streamOf } from './randomness.ts'
import type { SimServer } from './server.ts'
import type { World } from './world.ts'

export class Trouble {
  readonly world: World
  readonly random: Random
  over = false

  constructor(world: World) {
    this.world = world
    this.random = streamOf(world.plan.seed, 'faults')
  }

  later(delayMs: number, run: () => void): void {
    this.world.scheduler.after(delayMs, () => {
      if (!this.over) run()
    })
  }

  /** How long a fault lasts. */
  spellMs(): number {
    return spread(this.random, 20, this.world.plan.timing.electionMs * 12)
  }

  /** How long a crashed server stays away. */
  downMs(): number {
    return spread(this.random, 1, this.world.plan.timing.electionMs * 8)
  }

  revive(server: SimServer): void {
    if (this.world.servers.get(server.id) === server) server.start()
  }
}
