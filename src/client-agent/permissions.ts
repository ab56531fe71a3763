/**
 * What callers may do at a client agent: their tokens' policies, asked of a server and kept for a moment, and judged here
 * by the same rules. So a token that was revoked is good here for `freshMs` more, and with `extend-cache` for `staleMs` while no
 * server answers.
 *
 * The same answer says who they are in the audit log: the key that hashes secrets there stays with the servers.
 */
import { hashOf, permissionsOf, type AclSettings } from '../domains/acl/authorizer.ts'
import { admitted, admittedBy, type Admits } from '../domains/acl/bound-cidrs.ts'
import { compiled } from '../domains/acl/rule-sets.ts'
import { Fields } from '../api/fields.ts'
import { headersOfAgent, type Agent } from '../api/passed-on.ts'
import type { Clock } from '../lib/clock.ts'
import { codeOf, MusterError } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { LruMap } from '../lib/lru-map.ts'
import { within } from '../lib/async.ts'
import { nothingShown, type ShownToken } from '../runtime/audit-line.ts'
import type { TokenBearers } from '../runtime/audit.ts'
import { allowAll, type Authorizer, type Permissions } from '../rpc/authorizer.ts'
import type { Caller } from '../rpc/method.ts'
import { unknownToken } from '../rpc/refusal.ts'
import { requestJson, readAnswer } from './json-request.ts'
import type { Upstream } from './upstream.ts'

const freshMs = 1_000
/** With `extend-cache`, as a Consul agent keeps resolved tokens while it cannot reach a server. */
const staleMs = 30_000
const callersKeptMax = 4_096
const askMs = 10_000
/** Lines of the audit log wait this long to learn whose tokens they tell of. */
const shownMs = 1_000

const unending = new AbortController().signal

export type PermissionsOptions = {
  readonly settings: AclSettings
  readonly upstream: Upstream
  /** See `ApiProxy`. */
  readonly self: Agent | null
  readonly clock: Clock
  readonly log: Logger
}

type Told = {
  readonly permissions: Permissions
  /** Where the token may be used from; null: everywhere. */
  readonly admits: Admits | null
  readonly shown: ShownToken
}
type Kept = Told & { readonly atMs: number }

export type Callers = { readonly authorizer: Authorizer; readonly bearers: TokenBearers }

export function clientCallers(options: PermissionsOptions): Callers {
  if (!options.settings.enabled) return { authorizer: allowAll, bearers: nobody }
  const known = new KnownCallers(options)
  return { authorizer: known, bearers: known }
}

/** Without access control a token means nothing. */
const nobody: TokenBearers = {
  accessorOf: () => null,
  shown: (tokens) => Promise.resolve(new Map([...tokens].map((token) => [token, nothingShown]))),
}

/** Of callers without a token while no server answers. */
const nothing: Told = {
  permissions: permissionsOf(null, 'closed', 'deny'),
  admits: null,
  shown: nothingShown,
}

class KnownCallers implements Authorizer, TokenBearers {
  readonly #options: PermissionsOptions
  readonly #kept = new LruMap<string, Kept>(callersKeptMax)
  readonly #asking = new Map<string, Promise<Told>>()
  /** Until then no server is asked for the audit log alone: the last one did not answer. */
  #silentUntilMs = -Infinity

  constructor(options: PermissionsOptions) {
    this.#options = options
  }

  resolve({ token, remote }: Caller): Permissions | Promise<Permissions> {
    const told = this.#tell(token, remote)
    if (!(told instanceof Promise)) return admitted(told, remote)
    return told.then((answer) => admitted(answer, remote))
  }

  /** `remote`: who brings it, which a server may refuse; null: it is asked for this agent's own log. */
  #tell(token: string | null, remote: string | null): Told | Promise<Told> {
    const key = token === null ? '' : hashOf(token)
    const kept = this.#kept.get(key)
    if (kept !== undefined && this.#ageOf(kept) < freshMs) return kept
    // Of one token that is brought from two addresses at once, one may be refused.
    const from = `${key} ${remote ?? ''}`
    const asking = this.#asking.get(from)
    if (asking !== undefined) return asking
    const asked = this.#ask(key, token, remote).finally(() => this.#asking.delete(from))
    this.#asking.set(from, asked)
    return asked
  }

  accessorOf(token: string): string | null {
    return this.#shown(token).accessor
  }

  /** Who is not known here yet is asked for, but no line waits longer than `shownMs`, nor again for servers that are silent. */
  async shown(tokens: ReadonlySet<string>): Promise<ReadonlyMap<string, ShownToken>> {
    const { clock } = this.#options
    const unknown = [...tokens].filter((token) => {
      const kept = this.#kept.get(hashOf(token))
      // No hash: that server did not have the key yet.
      return kept === undefined || kept.shown.hash === null || this.#ageOf(kept) >= staleMs
    })
    if (unknown.length > 0 && clock.monotonicMs() >= this.#silentUntilMs) {
      const introduced = Promise.all(unknown.map((token) => this.#introduce(token)))
      if ((await within(introduced, clock, shownMs)) === null) this.#fellSilent()
    }
    return new Map([...tokens].map((token) => [token, this.#shown(token)]))
  }

  #shown(token: string): ShownToken {
    return this.#kept.get(hashOf(token))?.shown ?? nothingShown
  }

  /** Never rejects. */
  async #introduce(token: string): Promise<void> {
    try {
      await this.#tell(token, null)
    } catch (error) {
      // A token that no server knows is an answer.
      if (codeOf(error) !== 'unauthenticated') this.#fellSilent()
    }
  }

  #fellSilent(): void {
    this.#silentUntilMs = this.#options.clock.monotonicMs() + shownMs
  }

  async #ask(key: string, token: string | null, remote: string | null): Promise<Told> {
    const { upstream, clock } = this.#options
    const atMs = clock.monotonicMs()
    try {
      const told = await this.#fetch(upstream, token, remote)
      this.#kept.set(key, { ...told, atMs })
      return told
    } catch (error) {
      if (codeOf(error) === 'unauthenticated') this.#kept.delete(key)
      const kept = this.#kept.get(key)
      const isTrusted = this.#options.settings.downPolicy === 'extend-cache'
      if (isTrusted && kept !== undefined && this.#ageOf(kept) < staleMs) return kept
      // Some things are everybody's, such as the word that no server answers.
      if (token === null) return nothing
      throw error
    }
  }

  async #fetch(upstream: Upstream, token: string | null, remote: string | null): Promise<Told> {
    const { settings, self, log } = this.#options
    const url = '/v1/acl/token/self?expanded=true'
    const headers = self === null || remote === null ? {} : headersOfAgent(self, remote)
    const { status, json, text } = await requestJson(
      upstream,
      { method: 'GET', url, token, headers, timeoutMs: askMs },
      unending,
    )
    if (status === 403) throw unknownToken()
    if (status >= 300) throw new MusterError('unavailable', `a server said ${status}: ${text}`)
    const { accessor, hash, isManager, policies, boundCidrs } = readAnswer(() => rightsOf(json))
    const rules = isManager ? 'management' : compiled(policies, log)
    const bearer = token === null ? null : { accessor }
    return {
      permissions: permissionsOf(bearer, rules, settings.defaultPolicy),
      admits: boundCidrs === null ? null : admittedBy(boundCidrs),
      shown: { accessor, hash },
    }
  }

  #ageOf({ atMs }: Kept): number {
    return this.#options.clock.monotonicMs() - atMs
  }
}

function rightsOf(json: unknown) {
  const fields = new Fields(json)
  return {
    accessor: fields.text('AccessorID') ?? '',
    hash: fields.text('AuditHash') ?? null,
    isManager: fields.text('Type') === 'management',
    boundCidrs: fields.texts('BoundCIDRs') ?? null,
    policies: (fields.list('ExpandedPolicies') ?? []).map((value) => {
      const policy = new Fields(value)
      return { name: policy.text('Name') ?? '', rules: policy.text('Rules') ?? '' }
    }),
  }
}
