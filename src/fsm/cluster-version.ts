/**
 * The command version that a cluster runs at: the lowest of its servers' programs when it was last raised. Part of the state and
 * raised by an entry of the log, so that all servers agree from which index on newer commands may come.
 *
 * Invariant: it never falls, neither by a restore nor when a server of an older program comes: that one is refused.
 */
import { Type } from 'typebox'
import type { Static } from 'typebox'
import { MusterError } from '../lib/errors.ts'
import { counterFloorVersion, floorOfSuccession } from './counter-floor.ts'
import { proposable } from './domain.ts'
import type { StateCommand } from './restore.ts'

/** Where every cluster begins. */
export const firstCommandVersion = 1

const Raise = Type.Object({
  version: Type.Integer({ minimum: firstCommandVersion, maximum: 1_000_000 }),
})

/** The outcome is the cluster's version afterwards. */
export const raiseVersion = proposable<Static<typeof Raise>, number>('state.raiseVersion')

/** `newest`: the command version of this program. */
export function versionCommands(newest: number): Readonly<Record<string, StateCommand<number>>> {
  return {
    [raiseVersion.type]: {
      args: Raise,
      run({ batch, index }, { version }: Static<typeof Raise>) {
        assertKnown(version, newest)
        const before = batch.commandVersion
        if (version > before) batch.setCommandVersion(version)
        const keepsFloor = before < counterFloorVersion && version >= counterFloorVersion
        // The recovery of its quorum was before this, when the cluster kept no floor.
        if (keepsFloor && batch.configuration.succession !== undefined) {
          batch.setCounterFloor(floorOfSuccession(batch.counterFloor, index))
        }
        return batch.commandVersion
      },
    },
  }
}

/** Throws `incompatible` when the cluster runs at a version that this program does not know. */
export function assertKnown(version: number, newest: number): void {
  if (version <= newest) return
  throw new MusterError(
    'incompatible',
    `the cluster runs at command version ${version}; this program knows versions up to ${newest}: run a newer one`,
  )
}
