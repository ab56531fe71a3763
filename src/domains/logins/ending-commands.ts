/** What ends with a mount or a token besides tokens: the secrets that were sealed for it, and what the mount calls its entities. */
import type { AnyReaction, Fact, Reacted } from '../../fsm/domain.ts'
import { defineReaction } from '../../fsm/fact.ts'
import { mountGone, tokenGone } from '../acl/fact-model.ts'
import { removeRow } from '../define.ts'
import { entitiesVersion } from '../entities/model.ts'
import { entityAliases } from '../entities/table.ts'
import type { SealedRow } from '../variables/model.ts'
import { sealedItems } from '../variables/table.ts'
import { mountsVersion } from './model.ts'
import { endsWithMount } from './mount-rows-commands.ts'

function endsSecrets<Payload>(
  name: string,
  on: Fact<Payload>,
  ownerOf: (payload: Payload) => string,
): AnyReaction {
  return defineReaction<Payload, SealedRow>({
    name,
    sinceVersion: mountsVersion,
    on,
    table: sealedItems,
    index: 'owner',
    prefix: (payload) => [ownerOf(payload)],
    // An owner's id is drawn once and goes once.
    since: null,
    emits: [],
    react: (_reader, _moment, _payload, rows): Reacted => ({
      changes: rows.map((row) => removeRow(sealedItems, row)),
      happened: [],
    }),
  })
}

/** Entities stay: a token of another mount may stand for one. */
const endsAliases = endsWithMount('logins.aliasesOfMount', entityAliases, entitiesVersion)

export const loginReactions: readonly AnyReaction[] = [
  endsSecrets('logins.secretsOfMount', mountGone, ({ mountId }) => mountId),
  endsSecrets('logins.secretsOfToken', tokenGone, ({ accessor }) => accessor),
  endsAliases,
]
