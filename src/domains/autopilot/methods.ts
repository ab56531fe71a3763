/** The configuration, and how the servers fare as the leader sees it. */
import { Type } from 'typebox'
import { defineLeaderMethod, defineQuery } from '../../rpc/method.ts'
import { setAutopilot, SetAutopilot, type SetAutopilotOutcome } from './commands.ts'
import { checkAutopilot } from './model.ts'
import { autopilotOf } from './queries.ts'
import { clusterHealth } from './services.ts'

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
    const { outcome } = await context.propose(setAutopilot, args)
    return outcome
  },
})

const check = defineLeaderMethod({
  kind: 'leader',
  name: 'autopilot.health',
  args: Type.Object({}),
  requires: () => ({ resource: 'operator', access: 'read' }),
  run: async (context) => context.service(clusterHealth)(),
})

export const autopilotMethods = { read, set, check }
