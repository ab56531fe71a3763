/** What may be asked about the settings. */
import { Type } from 'typebox'
import { MusterError } from '../../lib/errors.ts'
import { defineLeaderMethod, defineQuery } from '../../rpc/method.ts'
import { setSettings, SetSettings, type SetSettingsOutcome } from './commands.ts'
import { oversubscriptionVersion } from './model.ts'
import { settingsOf } from './queries.ts'

const read = defineQuery({
  kind: 'query',
  name: 'schedulerSettings.read',
  args: Type.Object({}),
  requires: () => ({ resource: 'operator', access: 'read' }),
  query: (reader) => {
    const row = settingsOf(reader)
    return { value: row, index: Math.max(1, row.modifyIndex) }
  },
})

const set = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'schedulerSettings.set',
  args: SetSettings,
  requires: () => ({ resource: 'operator', access: 'write' }),
  run: async (context, args): Promise<SetSettingsOutcome & { readonly index: number }> => {
    const isLater = args.settings.oversubscribesMemory === true
    if (isLater && context.read().commandVersion < oversubscriptionVersion) {
      const text =
        'MemoryOversubscriptionEnabled needs this version of every server: upgrade the others'
      throw new MusterError('not_implemented', text)
    }
    const { index, outcome } = await context.propose(setSettings, args)
    return { ...outcome, index }
  },
})

export const settingsMethods = { read, set }
