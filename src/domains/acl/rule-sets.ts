/** Policies compiled into rules. Tokens with the same policies have the same object, so that equal rights are known to be equal. */
import type { Reader } from '../../fsm/domain.ts'
import { codeOf, textOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { LruMap } from '../../lib/lru-map.ts'
import { anonymousPolicy, type PolicyRow, type TokenRow } from './model.ts'
import { parsePolicy, type Rule } from './policy-model.ts'
import { builtInPolicy } from './built-in-policy-model.ts'
import { policyOf, roleOf } from './queries.ts'
import { RuleSet, type PolicyRules } from './rule-set-model.ts'

/** Sets of policies that are kept compiled. */
export const ruleSetsKeptMax = 4_096

/** Of a token: what its rules follow from. */
export type RulesSource = Pick<TokenRow, 'type' | 'policies' | 'roles'>

/** closed: a policy is there that this program cannot read. */
export type Rules = RuleSet | 'management' | 'closed'

export class RuleSets {
  readonly #log: Logger
  readonly #sets = new LruMap<string, RuleSet | 'closed'>(ruleSetsKeptMax)
  #floor = 0

  constructor(log: Logger) {
    this.#log = log
  }

  /** Of a token, or of callers without one: the same as before until one of the policies it uses changes. */
  of(reader: Reader, row: RulesSource | null): Rules {
    if (row?.type === 'management') return 'management'
    // After a restore the same index may stand for other rules.
    if (reader.floorIndex !== this.#floor) {
      this.#sets.clear()
      this.#floor = reader.floorIndex
    }
    const policies = policiesOf(reader, row)
    // No name has a line's end.
    const key = policies.map(({ name, modifyIndex }) => `${name}@${modifyIndex}`).join('\n')
    const known = this.#sets.get(key)
    if (known !== undefined) return known
    const made = compiled(policies, this.#log)
    this.#sets.set(key, made)
    return made
  }
}

/** closed: one of them cannot be read. */
export function compiled(
  policies: readonly Pick<PolicyRow, 'name' | 'rules'>[],
  log: Logger,
): RuleSet | 'closed' {
  const parsed: PolicyRules[] = []
  for (const { name, rules } of policies) {
    try {
      parsed.push({ policy: name, rules: parsePolicy(rules) satisfies readonly Rule[] })
    } catch (error) {
      // Of a newer program. Leaving it out would also leave out what it denies.
      const reason = `${codeOf(error)}: ${textOf(error)}`
      log.error('a policy cannot be read: its tokens may do nothing', { name, reason })
      return 'closed'
    }
  }
  return new RuleSet(parsed)
}

/** Its own and those of its roles, each once, sorted. Names of what was deleted stand for nothing. */
export function policiesOf(reader: Reader, row: RulesSource | null): readonly PolicyRow[] {
  const names = new Set(row === null ? [anonymousPolicy] : row.policies)
  for (const role of row?.roles ?? []) {
    for (const name of roleOf(reader, role)?.policies ?? []) names.add(name)
  }
  return [...names].sort().flatMap((name) => policyOf(reader, name) ?? builtInPolicy(name) ?? [])
}
