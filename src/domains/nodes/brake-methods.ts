/** What may be asked about the storm brake. */
import { Type } from 'typebox'
import { defineLeaderMethod, defineQuery } from '../../rpc/method.ts'
import { releaseBrake, setBrake, SetBrake, type BrakeOutcome } from './brake-commands.ts'
import { checkBrake, type Storm } from './brake-model.ts'
import { heldEvaluations, stormShownAt } from './brake-queries.ts'

export type BrakeSeen = { readonly storm: Storm; readonly heldEvaluations: number }

/** Blocks until the brake itself changes. */
const read = defineQuery({
  kind: 'query',
  name: 'nodes.brake',
  long: true,
  args: Type.Object({ nowMs: Type.Integer({ minimum: 0 }) }),
  requires: () => ({ resource: 'operator', access: 'read' }),
  query: async (reader, { nowMs }) => {
    const storm = await stormShownAt(reader, nowMs)
    const value: BrakeSeen = { storm, heldEvaluations: await heldEvaluations(reader) }
    return { value, index: Math.max(1, storm.brake.modifyIndex) }
  },
})

const set = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'nodes.setBrake',
  args: SetBrake,
  requires: () => ({ resource: 'operator', access: 'write' }),
  run: async (context, { settings, cas }): Promise<BrakeOutcome> => {
    const nowMs = Math.floor(context.clock.wallMs())
    const accessor = context.accessor ?? ''
    const args = { settings: checkBrake(settings), cas, accessor, nowMs }
    const { outcome } = await context.propose(setBrake, args)
    return outcome
  },
})

const release = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'nodes.releaseBrake',
  args: Type.Object({}),
  requires: () => ({ resource: 'operator', access: 'write' }),
  run: async (context): Promise<BrakeOutcome> => {
    const nowMs = Math.floor(context.clock.wallMs())
    const accessor = context.accessor ?? ''
    const args = { storm: null, cause: 'operator' as const, accessor, nowMs }
    const { outcome } = await context.propose(releaseBrake, args)
    return outcome
  },
})

export const brakeMethods = { read, set, release }
