/**
 * Who a caller is and what it may do, on the state of this server. A token is looked up by its hash, so that no time
 * taken tells how much of a guess was right. What was found is kept until a token, policy or role changes.
 */
import { hash } from 'node:crypto'
import type { Reader } from '../../fsm/domain.ts'
import type { Clock } from '../../lib/clock.ts'
import { codeOf, textOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { unknownToken } from '../../rpc/refusal.ts'
import { allowAll, type Authorizer, type Permissions } from '../../rpc/authorizer.ts'
import type { Caller, Requirement } from '../../rpc/method.ts'
import { isAllowed, missingText, type DefaultPolicy } from './authorize.ts'
import { anonymousPolicy, type PolicyRow, type TokenRow } from './model.ts'
import { parsePolicy, type Rule } from './policy-model.ts'
import { aclIndex, policyOf, roleOf, tokenByHash } from './queries.ts'
import { RuleSet, type PolicyRules } from './rule-set-model.ts'

export type AclSettings = {
  readonly enabled: boolean
  /** Where no rule says anything. */
  readonly defaultPolicy: DefaultPolicy
}

/** Callers whose permissions are kept, and sets of policies that are kept compiled. */
export const callersKeptMax = 16_384
export const ruleSetsKeptMax = 4_096

export type AclAuthorizerOptions = {
  readonly settings: AclSettings
  /** This server's state, as it is whenever it is read. */
  readonly reader: Reader
  /**
   * Resolves when this server's state is as new as the leader's, or rejects. A token that is not known here may have
   * been made a moment ago.
   */
  readonly freshen: () => Promise<void>
  readonly clock: Clock
  readonly log: Logger
}

type Kept = {
  readonly permissions: Permissions
  readonly expirationTimeMs: number
  readonly state: StateMark
}

/** While these stand still, whatever was found stands. */
type StateMark = {
  readonly tokens: number
  readonly policies: number
  readonly roles: number
  readonly floor: number
}

/** Tells whose a token is. */
export interface TokenOwners {
  /** By its secret, on the state of this server; null: nobody's that it knows of. */
  accessorOf(token: string): string | null
}

export function aclAuthorizer(options: AclAuthorizerOptions): Authorizer & TokenOwners {
  if (options.settings.enabled) return new AclAuthorizer(options)
  return { resolve: (caller) => allowAll.resolve(caller), accessorOf: () => null }
}

export class AclAuthorizer implements Authorizer, TokenOwners {
  readonly #options: AclAuthorizerOptions
  readonly #ruleSets: RuleSets
  readonly #kept = new Map<string, Kept>()
  /** Hashes of secrets that were good when they came last, in memory only: making one costs more than all else of a look-up. */
  readonly #hashes = new Map<string, string>()

  constructor(options: AclAuthorizerOptions) {
    this.#options = options
    this.#ruleSets = new RuleSets(options.log)
  }

  resolve({ token }: Caller): Permissions | Promise<Permissions> {
    const key = this.#keyOf(token)
    const found = this.#find(key)
    if (token !== null) this.#remember(token, found === null ? null : key)
    return found ?? this.#findFresh(key)
  }

  accessorOf(token: string): string | null {
    return this.#find(this.#keyOf(token))?.accessor ?? null
  }

  touch(reader: Reader, { token }: Caller): void {
    const row = token === null ? null : tokenByHash(reader, this.#keyOf(token))
    policiesOf(reader, row)
  }

  #keyOf(token: string | null): string {
    return token === null ? '' : (this.#hashes.get(token) ?? hashOf(token))
  }

  /** Null: it is good no more. */
  #remember(token: string, key: string | null): void {
    if (key === null) this.#hashes.delete(token)
    else if (!this.#hashes.has(token)) keep(this.#hashes, token, key, callersKeptMax)
  }

  async #findFresh(key: string): Promise<Permissions> {
    try {
      await this.#options.freshen()
    } catch (error) {
      // Without a leader nobody can say more than this server knows.
      this.#options.log.debug('a token could not be looked for at the leader', {
        error: textOf(error),
      })
    }
    const found = this.#find(key)
    if (found === null) throw unknownToken()
    return found
  }

  /** Null: there is no such token, or its time is over. */
  #find(key: string): Permissions | null {
    const { reader, clock } = this.#options
    const nowMs = clock.wallMs()
    const kept = this.#kept.get(key)
    if (kept !== undefined && stillStands(kept.state, reader)) {
      return kept.expirationTimeMs > nowMs ? kept.permissions : null
    }
    const state = markOf(reader)
    const row = key === '' ? null : tokenByHash(reader, key)
    if (key !== '' && row === null) return null
    const expirationTimeMs = row?.expirationTimeMs ?? Infinity
    if (expirationTimeMs <= nowMs) return null
    const { defaultPolicy } = this.#options.settings
    const permissions = permissionsOf(row, this.#ruleSets.of(reader, row), defaultPolicy)
    this.#kept.delete(key)
    keep(this.#kept, key, { permissions, expirationTimeMs, state }, callersKeptMax)
    return permissions
  }
}

/** As the state stores it. A secret is 256 bits of chance, so there is nothing that salt or slowness would protect. */
export function hashOf(secret: string): string {
  return hash('sha256', secret, 'base64url')
}

/** Of those whose rights do not follow from rules. */
const management = {}
const closed = {}

export function permissionsOf(
  row: Pick<TokenRow, 'accessor'> | null,
  rules: RuleSet | 'management' | 'closed',
  defaultPolicy: DefaultPolicy,
): Permissions {
  return {
    ...(row !== null && { accessor: row.accessor }),
    rights: rules === 'management' ? management : rules === 'closed' ? closed : rules,
    may: (requirement: Requirement) => {
      if (rules === 'management') return true
      if (rules === 'closed') return requirement.resource === 'none'
      return isAllowed(rules, requirement, defaultPolicy)
    },
    maySome: ({ resource, access }) => {
      if (rules === 'management' || rules === 'closed') return rules === 'management'
      // As in the table: no default gives rights to tokens away.
      if (defaultPolicy === 'allow' && resource !== 'acl') return true
      return rules.grantsSome(resource, access)
    },
    missing: missingText,
  }
}

/** Compiled policies, by what they are compiled of. Tokens with the same policies share them. */
export class RuleSets {
  readonly #log: Logger
  readonly #sets = new Map<string, RuleSet | 'closed'>()
  #floor = 0

  constructor(log: Logger) {
    this.#log = log
  }

  /** Of a token, or of callers without one. closed: a policy is there that this program cannot read. */
  of(reader: Reader, row: TokenRow | null): RuleSet | 'management' | 'closed' {
    if (row?.type === 'management') return 'management'
    // After a restore the same index may stand for other rules.
    if (reader.floorIndex !== this.#floor) {
      this.#sets.clear()
      this.#floor = reader.floorIndex
    }
    const policies = policiesOf(reader, row)
    const key = policies.map(({ name, modifyIndex }) => `${name}@${modifyIndex}`).join(' ')
    const known = this.#sets.get(key)
    if (known !== undefined) return known
    const made = compiled(policies, this.#log)
    keep(this.#sets, key, made, ruleSetsKeptMax)
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
export function policiesOf(reader: Reader, row: TokenRow | null): readonly PolicyRow[] {
  const names = new Set(row === null ? [anonymousPolicy] : row.policies)
  for (const role of row?.roles ?? []) {
    for (const name of roleOf(reader, role)?.policies ?? []) names.add(name)
  }
  return [...names].sort().flatMap((name) => policyOf(reader, name) ?? [])
}

function markOf(reader: Reader): StateMark {
  return {
    tokens: aclIndex(reader, 'tokens'),
    policies: aclIndex(reader, 'policies'),
    roles: aclIndex(reader, 'roles'),
    floor: reader.floorIndex,
  }
}

/** Asked on every request, so nothing is made for it. */
function stillStands(mark: StateMark, reader: Reader): boolean {
  return (
    mark.tokens === aclIndex(reader, 'tokens') &&
    mark.policies === aclIndex(reader, 'policies') &&
    mark.roles === aclIndex(reader, 'roles') &&
    mark.floor === reader.floorIndex
  )
}

/** The oldest goes at the bound. */
export function keep<Value>(map: Map<string, Value>, key: string, value: Value, max: number): void {
  if (map.size >= max) {
    const [oldest] = map.keys()
    if (oldest !== undefined) map.delete(oldest)
  }
  map.set(key, value)
}
