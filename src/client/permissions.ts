/**
 * What callers may do at a client agent: their tokens' policies, asked of a server and kept for a moment, and judged here
 * by the same rules. So a token that was revoked is good here for `freshMs` more, and while no server answers for `staleMs`.
 */
import {
  compiled,
  hashOf,
  keep,
  permissionsOf,
  type AclSettings,
} from '../domains/acl/authorizer.ts'
import { Fields } from '../api/fields.ts'
import type { Clock } from '../lib/clock.ts'
import { codeOf, MusterError } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { allowAll, type Authorizer, type Permissions } from '../rpc/authorizer.ts'
import type { Caller } from '../rpc/method.ts'
import { askJson, readAnswer } from './json-asks.ts'
import type { Upstream } from './upstream.ts'

const freshMs = 5_000
/** As the peer keeps what it knows while it cannot ask. */
const staleMs = 30_000
const callersKeptMax = 4_096
const askMs = 10_000

const unending = new AbortController().signal

export type PermissionsOptions = {
  readonly settings: AclSettings
  readonly upstream: Upstream
  readonly clock: Clock
  readonly log: Logger
}

type Kept = { readonly permissions: Permissions; readonly atMs: number }

export function clientAuthorizer(options: PermissionsOptions): Authorizer {
  return options.settings.enabled ? new ClientAuthorizer(options) : allowAll
}

class ClientAuthorizer implements Authorizer {
  readonly #options: PermissionsOptions
  readonly #kept = new Map<string, Kept>()
  readonly #asking = new Map<string, Promise<Permissions>>()

  constructor(options: PermissionsOptions) {
    this.#options = options
  }

  resolve({ token }: Caller): Permissions | Promise<Permissions> {
    const key = token === null ? '' : hashOf(token)
    const kept = this.#kept.get(key)
    if (kept !== undefined && this.#ageOf(kept) < freshMs) return kept.permissions
    const asking = this.#asking.get(key)
    if (asking !== undefined) return asking
    const asked = this.#ask(key, token).finally(() => this.#asking.delete(key))
    this.#asking.set(key, asked)
    return asked
  }

  async #ask(key: string, token: string | null): Promise<Permissions> {
    const { upstream, clock } = this.#options
    const atMs = clock.monotonicMs()
    try {
      const permissions = await this.#fetch(upstream, token)
      this.#kept.delete(key)
      keep(this.#kept, key, { permissions, atMs }, callersKeptMax)
      return permissions
    } catch (error) {
      if (codeOf(error) === 'unauthenticated') this.#kept.delete(key)
      const kept = this.#kept.get(key)
      if (kept !== undefined && this.#ageOf(kept) < staleMs) return kept.permissions
      // Some things are everybody's, such as the word that no server answers.
      if (token === null) return permissionsOf(null, 'closed', 'deny')
      throw error
    }
  }

  async #fetch(upstream: Upstream, token: string | null): Promise<Permissions> {
    const { settings, log } = this.#options
    const url = '/v1/acl/token/self?expanded=true'
    const { status, json, text } = await askJson(
      upstream,
      { method: 'GET', url, token, timeoutMs: askMs },
      unending,
    )
    if (status === 403) throw new MusterError('unauthenticated', 'ACL token not found')
    if (status >= 300) throw new MusterError('unavailable', `a server said ${status}: ${text}`)
    const { accessor, isManager, policies } = readAnswer(() => rightsOf(json))
    const rules = isManager ? 'management' : compiled(policies, log)
    return permissionsOf(token === null ? null : { accessor }, rules, settings.defaultPolicy)
  }

  #ageOf({ atMs }: Kept): number {
    return this.#options.clock.monotonicMs() - atMs
  }
}

function rightsOf(json: unknown) {
  const fields = new Fields(json)
  return {
    accessor: fields.text('AccessorID') ?? '',
    isManager: fields.text('Type') === 'management',
    policies: (fields.list('ExpandedPolicies') ?? []).map((value) => {
      const policy = new Fields(value)
      return { name: policy.text('Name') ?? '', rules: policy.text('Rules') ?? '' }
    }),
  }
}
