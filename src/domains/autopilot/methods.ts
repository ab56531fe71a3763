/** The configuration, and how the servers fare as the leader sees it. */
import { Type } from 'typebox'
import { defineLeaderMethod, defineQuery } from '../../rpc/method.ts'
import { SetAutopilot, type SetAutopilotOutcome } from './commands.ts'
import { checkAutopilot } from './model.ts'
import { autopilotOf } from './queries.ts'

export type ServerHealth = {
  readonly id: string
  readonly name: string
  /** host:port of the RPC listener */
  readonly address: string
  /** Of its gossip; '' when it is not in the pool. */
  readonly gossipStatus: string
  readonly version: string
  readonly isLeader: boolean
  readonly isVoter: boolean
  /** Since it answered; null: not yet. */
  readonly lastContactMs: number | null
  readonly lastTerm: number
  readonly lastIndex: number
  readonly healthy: boolean
  /** Unix milliseconds; since when it is as healthy as it is. */
  readonly stableSinceMs: number
}

export type ClusterHealth = {
  readonly healthy: boolean
  /** Voters that may fail with a majority left. */
  readonly failureTolerance: number
  readonly servers: readonly ServerHealth[]
}

export type AutopilotMethods = ReturnType<typeof autopilotMethods>

/** `health`: at the leader. */
export function autopilotMethods(health: () => ClusterHealth) {
  const read = defineQuery({
    kind: 'query',
    name: 'autopilot.read',
    args: Type.Object({}),
    requires: () => ({ resource: 'operator', access: 'read' }),
    query: (reader) => {
      const row = autopilotOf(reader)
      return { value: row, index: Math.max(1, row.modifyIndex) }
    },
  })

  const set = defineLeaderMethod({
    kind: 'leader',
    repeatable: true,
    name: 'autopilot.set',
    args: SetAutopilot,
    requires: () => ({ resource: 'operator', access: 'write' }),
    run: async (context, { config, cas }): Promise<SetAutopilotOutcome> => {
      const args = { config: checkAutopilot(config), cas }
      const { outcome } = await context.propose({ type: 'autopilot.set', args })
      return outcome as SetAutopilotOutcome
    },
  })

  const check = defineLeaderMethod({
    kind: 'leader',
    name: 'autopilot.health',
    args: Type.Object({}),
    requires: () => ({ resource: 'operator', access: 'read' }),
    run: async () => health(),
  })

  return { read, set, check }
}
