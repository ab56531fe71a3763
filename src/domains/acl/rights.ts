/** What a token is good for, written out: for its owner, and for agents that decide by it away from the state. */
import type { Reader } from '../../fsm/domain.ts'
import type { AclSettings } from './authorizer.ts'
import type { TokenRow } from './model.ts'
import { roleOf } from './queries.ts'
import { policiesOf } from './rule-sets.ts'
import { shownPolicy, shownRole } from './shown.ts'

/** null: of callers without a token. */
export function shownRights(reader: Reader, row: TokenRow | null, settings: AclSettings) {
  return {
    ExpandedPolicies: policiesOf(reader, row).map(shownPolicy),
    ExpandedRoles: (row?.roles ?? []).flatMap((name) => {
      const role = roleOf(reader, name)
      return role === null ? [] : [shownRole(role)]
    }),
    AgentACLDefaultPolicy: settings.defaultPolicy,
  }
}
