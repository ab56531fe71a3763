/** Why a token may do something or may not: the rules that were tried, and what is missing. */
import { Type } from 'typebox'
import { defineLocalMethod, defineQuery, type Requirement } from '../../rpc/method.ts'
import { MusterError } from '../../lib/errors.ts'
import { capabilityName, explain, type Explanation } from './authorize.ts'
import { hashOf, type AclSettings } from './authorizer.ts'
import { endOf, type TokenRow } from './model.ts'
import { aclIndex, tokenByAccessor, tokenByHash } from './queries.ts'
import { aclSettings, assertAclEnabled, batchTokens, freshRuleSets } from './services.ts'
import { shownToken } from './shown.ts'

/** Rules that one explanation shows. */
const triedMax = 100

/** Asked first, so that a caller without the right learns nothing, not even what a request requires. */
const mayExplain = defineLocalMethod({
  kind: 'local',
  name: 'acl.mayExplain',
  args: Type.Object({}),
  requires: () => ({ resource: 'acl', access: 'read' }),
  run: async (context) => {
    assertAclEnabled(context)
    return null
  },
})

const explanation = defineQuery({
  kind: 'query',
  name: 'acl.explain',
  args: Type.Object({
    /** Accessor or secret; empty: a caller without a token. */
    token: Type.String(),
    requirement: Type.Unsafe<Requirement>({}),
    /** A batch token that is over then is none. */
    nowMs: Type.Number(),
  }),
  requires: () => ({ resource: 'acl', access: 'read' }),
  query: async (reader, { token, requirement, nowMs }, context) => {
    assertAclEnabled(context)
    let row: TokenRow | null = null
    if (token !== '') {
      const batch = context.service(batchTokens).open(reader, token)?.row ?? null
      row =
        batch === null
          ? (tokenByHash(reader, hashOf(token)) ?? (await tokenByAccessor(reader, token)))
          : endOf(batch) > nowMs
            ? batch
            : null
      if (row === null) throw new MusterError('not_found', 'ACL token not found')
    }
    const rules = context.service(freshRuleSets)().of(reader, row)
    const index = aclIndex(reader, 'tokens')
    if (rules === 'closed') {
      throw new MusterError('incompatible', 'a policy of this token is of a newer program')
    }
    const settings = context.service(aclSettings)
    const found = explain(rules, requirement, settings.defaultPolicy)
    return { value: shown(found, row, settings), index }
  },
})

export const explainMethods = { mayExplain, explanation }

function shown(
  { allowed, question, tried, decidedBy }: Explanation,
  row: TokenRow | null,
  { defaultPolicy }: AclSettings,
) {
  const capability = question === null ? null : capabilityName(question)
  return {
    Allowed: allowed,
    DecidedBy: decidedBy,
    DefaultPolicy: defaultPolicy,
    Capability: capability,
    Missing: allowed ? null : capability,
    Namespace: question?.target.namespace ?? null,
    Name: question === null ? null : `${question.target.name}${question.target.below ? '*' : ''}`,
    Token: row === null ? null : shownToken(row),
    Rules: tried.slice(0, triedMax).map(({ policy, rule }) => ({
      Policy: policy,
      Where: rule.where,
      Kind: rule.family,
      Namespace: rule.namespace?.text ?? null,
      Name: rule.pattern.text,
      Capabilities: rule.deny ? ['deny'] : rule.capabilities,
    })),
  }
}
