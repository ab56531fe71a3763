/**
 * Who a caller is and what it may do, on the state of this server. A token is looked up by its hash, so that no time
 * taken tells how much of a guess was right.
 *
 * What was found is kept for each caller, and stands until its own token, or a policy or role that the token uses, changes.
 * Every request checks that: while the tables of tokens, policies and roles stand still there is nothing to look at; when
 * one of them has changed since, the caller's own rows are compared by the index of their last change.
 */
import type { Reader } from '../../fsm/domain.ts'
import type { Clock } from '../../lib/clock.ts'
import { textOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { LruMap } from '../../lib/lru-map.ts'
import { unknownToken } from '../../rpc/refusal.ts'
import { allowAll, type Authorizer, type Permissions } from '../../rpc/authorizer.ts'
import type { Caller, Requirement } from '../../rpc/method.ts'
import type { TokenOwners } from '../host.ts'
import { isAllowed, missingText, opensByDefault, type DefaultPolicy } from './authorize.ts'
import { batchName, type BatchToken, type BatchTokens } from './batch-tokens.ts'
import { admitted, admittedBy, type Admits } from './bound-cidrs.ts'
import { endOf, type TokenRow } from './model.ts'
import { aclIndex, tokenByHash } from './queries.ts'
import { hashOf } from './secret-hash.ts'
import { policiesOf, RuleSets, type Rules, type RulesSource } from './rule-sets.ts'

export { hashOf }

export type AclSettings = {
  readonly enabled: boolean
  /** Where no rule says anything. */
  readonly defaultPolicy: DefaultPolicy
  /** Of tokens while no leader says whether they were revoked. */
  readonly downPolicy: DownPolicy
}

export type DownPolicy = 'deny' | 'extend-cache'

/** Callers whose permissions are kept, those without a token not counted; the least recently seen one is evicted. */
export const callersKeptMax = 16_384

export type AclAuthorizerOptions = {
  readonly settings: AclSettings
  /** This server's state, as it is whenever it is read. */
  readonly reader: Reader
  /**
   * Resolves when this server's state is as new as the leader's, or rejects. A token that is not known here may have
   * been made a moment ago.
   */
  readonly freshen: () => Promise<void>
  /** Null: a token that is known here stands. Otherwise resolves once that is so, or rejects. */
  readonly confirm: () => Promise<void> | null
  /** At the leader: one use fewer is left of the token with this hash. False: none was left, or it is gone. */
  readonly spend: (hash: string, caller: Caller) => Promise<boolean>
  /** Opens tokens that are stored nowhere. */
  readonly batch: Pick<BatchTokens, 'open' | 'stands'>
  readonly clock: Clock
  readonly log: Logger
}

/** A caller as it was found, and what that follows from. */
type Known = {
  /** null: the caller has no token. */
  readonly subject: Subject | null
  readonly rules: Rules
  readonly permissions: Permissions
  readonly endMs: number
  /** null: from everywhere. */
  readonly admits: Admits | null
  /** null: it may be used any number of times. */
  readonly usesLeft: number | null
  /** null: its row is stored, or it has no token. */
  readonly batch: BatchToken | null
  readonly floorIndex: number
  /** Of the tables, when the rows above were last seen to stand. */
  tokensIndex: number
  policiesIndex: number
  rolesIndex: number
}

/** Of a token's row, which may be long: what rights follow from. */
type Subject = RulesSource & Pick<TokenRow, 'hash' | 'modifyIndex'>

export function aclAuthorizer(options: AclAuthorizerOptions): Authorizer & TokenOwners {
  if (options.settings.enabled) return new AclAuthorizer(options)
  return { resolve: (caller) => allowAll.resolve(caller), accessorOf: () => null }
}

export class AclAuthorizer implements Authorizer, TokenOwners {
  readonly #options: AclAuthorizerOptions
  readonly #ruleSets: RuleSets
  /** By the secret, in memory only. Only secrets that were good when they came last. */
  readonly #known = new LruMap<string, Known>(callersKeptMax)
  #anonymous: Known | undefined

  constructor(options: AclAuthorizerOptions) {
    this.#options = options
    this.#ruleSets = new RuleSets(options.log)
  }

  resolve(caller: Caller): Permissions | Promise<Permissions> {
    const confirming = caller.token === null ? null : this.#options.confirm()
    return confirming === null
      ? this.#resolve(caller)
      : confirming.then(() => this.#resolve(caller))
  }

  #resolve(caller: Caller): Permissions | Promise<Permissions> {
    const known = this.#find(caller.token)
    if (known === null) return this.#findFresh(caller)
    return known.usesLeft === null ? admitted(known, caller.remote) : this.#counted(known, caller)
  }

  settle(caller: Caller): Promise<unknown> | null {
    const known = this.#find(caller.token)
    return known === null || known.usesLeft === null ? null : this.#counted(known, caller)
  }

  accessorOf(token: string): string | null {
    const known = this.#find(token)
    return known === null || known.usesLeft === 0 ? null : (known.permissions.accessor ?? null)
  }

  touch(reader: Reader, { token }: Caller): void {
    const row = token === null ? null : this.#rowOf(reader, token)
    policiesOf(reader, row)
  }

  #rowOf(reader: Reader, token: string): TokenRow | null {
    const stored = tokenByHash(reader, hashOf(token))
    return stored ?? this.#options.batch.open(reader, token)?.row ?? null
  }

  /** A request from outside of the networks costs no use. */
  async #counted(known: Known, caller: Caller): Promise<Permissions> {
    const permissions = await admitted(known, caller.remote)
    if (caller.use === true) return permissions
    const { subject, usesLeft } = known
    if (subject === null || usesLeft === 0) throw unknownToken()
    // What else the request asks meanwhile waits for the same answer.
    caller.use ??= this.#options.spend(subject.hash, caller)
    if (!(await caller.use)) throw unknownToken()
    caller.use = true
    return permissions
  }

  async #findFresh(caller: Caller): Promise<Permissions> {
    const { token, remote } = caller
    try {
      await this.#options.freshen()
    } catch (error) {
      // Without a leader nobody can say more than this server knows.
      this.#options.log.debug('a token could not be looked for at the leader', {
        error: textOf(error),
      })
    }
    const found = this.#find(token)
    if (found === null) throw unknownToken()
    return found.usesLeft === null ? admitted(found, remote) : this.#counted(found, caller)
  }

  /** Null: there is no such token, or it is worth nothing any more. */
  #find(token: string | null): Known | null {
    const before = token === null ? this.#anonymous : this.#known.get(token)
    const known = before !== undefined && this.#stands(before) ? before : this.#look(token)
    if (known === null) {
      if (token !== null) this.#known.delete(token)
      return null
    }
    if (known !== before) {
      if (token === null) this.#anonymous = known
      else this.#known.set(token, known)
    }
    return known.endMs === Infinity || known.endMs > this.#options.clock.wallMs() ? known : null
  }

  /** Asked on every request, so nothing is made for it while the tables stand still. */
  #stands(known: Known): boolean {
    const { reader } = this.#options
    // After a restore the same indexes may stand for other rows.
    if (known.floorIndex !== reader.floorIndex) return false
    if (known.batch !== null && !this.#options.batch.stands(reader, known.batch)) return false
    const tokensIndex = aclIndex(reader, 'tokens')
    if (known.tokensIndex !== tokensIndex) {
      if (known.subject !== null && known.batch === null) {
        const row = tokenByHash(reader, known.subject.hash)
        if (row?.modifyIndex !== known.subject.modifyIndex) return false
      }
      known.tokensIndex = tokensIndex
    }
    const policiesIndex = aclIndex(reader, 'policies')
    const rolesIndex = aclIndex(reader, 'roles')
    if (known.policiesIndex !== policiesIndex || known.rolesIndex !== rolesIndex) {
      if (this.#ruleSets.of(reader, known.subject) !== known.rules) return false
      known.policiesIndex = policiesIndex
      known.rolesIndex = rolesIndex
    }
    return true
  }

  #look(token: string | null): Known | null {
    const { reader, settings } = this.#options
    const hash = token === null ? null : hashOf(token)
    const stored = hash === null ? null : tokenByHash(reader, hash)
    const batch = token === null || stored !== null ? null : this.#options.batch.open(reader, token)
    const row = stored ?? batch?.row ?? null
    if (hash !== null && row === null) return null
    const rules = this.#ruleSets.of(reader, row)
    const bearer = batch === null ? row : { accessor: batchName(batch.row) }
    const endMs = row === null ? Infinity : endOf(row)
    const permissions = {
      ...permissionsOf(bearer, rules, settings.defaultPolicy),
      ...(batch !== null && {
        madeUntil: {
          accessor: accessorOver(reader, batch),
          endMs,
          mountId: batch.row.issuer?.mountId ?? null,
          stands: (later: Reader) => this.#options.batch.stands(later, batch),
        },
      }),
    }
    return {
      subject: row === null ? null : subjectOf(row),
      rules,
      permissions: endMs === Infinity ? permissions : { ...permissions, endMs },
      endMs,
      admits: row?.boundCidrs === undefined ? null : admittedBy(row.boundCidrs),
      usesLeft: row?.usesLeft ?? null,
      batch,
      floorIndex: reader.floorIndex,
      tokensIndex: aclIndex(reader, 'tokens'),
      policiesIndex: aclIndex(reader, 'policies'),
      rolesIndex: aclIndex(reader, 'roles'),
    }
  }
}

/** Of the token that a batch token ends with. */
function accessorOver(reader: Reader, { parentHash }: BatchToken): string | null {
  return parentHash === null ? null : (tokenByHash(reader, parentHash)?.accessor ?? null)
}

function subjectOf({ hash, modifyIndex, type, policies, roles }: TokenRow): Subject {
  return { hash, modifyIndex, type, policies, roles }
}

/** Of those whose rights do not follow from rules. */
const management = {}
const closed = {}

export function permissionsOf(
  row: Pick<TokenRow, 'accessor'> | null,
  rules: Rules,
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
      if (opensByDefault(resource, defaultPolicy)) return true
      return rules.grantsSome(resource, access)
    },
    missing: missingText,
  }
}
