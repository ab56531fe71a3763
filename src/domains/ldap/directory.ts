/**
 * The directory of one configuration: its URLs in order, which of them did not answer of late, and the connections that
 * logins share. A connection of the service account is bound once, and serves the searches of many logins at a time. Users' binds
 * have connections that nothing else is asked on, one bind at a time: one whose answer did not come ends the connection, so no
 * answer to another identity can be taken for one to the user.
 */
import { createSecureContext, type SecureContext, type SecureVersion } from 'node:tls'
import type { Clock } from '../../lib/clock.ts'
import { leftMs, type Budget } from './budget.ts'
import { DirectoryConnection } from './connection.ts'
import { ConnectionPool } from './connection-pool.ts'
import { dial } from './dial.ts'
import { DirectoryError } from './directory-error.ts'
import type { Dereference } from './messages.ts'
import type { TlsVersion } from './tls-model.ts'
import { parseUrls, type DirectoryUrl } from './urls.ts'
import { watched, type Watch } from './watch.ts'

/** A configuration with its secrets open, in memory alone. */
export type DirectorySettings = {
  readonly url: string
  readonly caseSensitiveNames: boolean
  readonly connectionTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly starttls: boolean
  readonly tlsMinVersion: TlsVersion
  readonly tlsMaxVersion: TlsVersion
  readonly insecureTls: boolean
  readonly certificate: string
  readonly clientTlsCert: string
  readonly clientTlsKey: string
  readonly binddn: string
  /** Those that may be right, the likeliest first: two while a rotation's outcome is not known. Empty: none. */
  readonly bindpasses: readonly string[]
  readonly userdn: string
  readonly userattr: string
  readonly discoverdn: boolean
  readonly denyNullBind: boolean
  readonly upndomain: string
  readonly userfilter: string
  readonly anonymousGroupSearch: boolean
  readonly groupfilter: string
  readonly groupdn: string
  readonly groupattr: string
  readonly usernameAsAlias: boolean
  readonly dereferenceAliases: Dereference
  readonly maxPageSize: number
  readonly useTokenGroups: boolean
  readonly enableSamaccountnameLogin: boolean
}

/** Logins that search on one connection at a time: a few connections carry all of them, many requests in one packet. */
export const searchesPerConnection = 32
/** How long a URL that did not answer is tried after the others. */
export const deadMs = 30_000

const secureVersions: Readonly<Record<TlsVersion, SecureVersion>> = {
  tls10: 'TLSv1',
  tls11: 'TLSv1.1',
  tls12: 'TLSv1.2',
  tls13: 'TLSv1.3',
}

/** service: bound as the service account, or anonymously where there is none. unbound: as it was connected. */
export type SearchKind = 'service' | 'unbound'

/** user: for the next user's bind, which replaces whoever is bound (RFC 4511, 4.2.1). */
type PoolKind = SearchKind | 'user'

export class Directory {
  readonly settings: DirectorySettings
  readonly #clock: Clock
  readonly #watch: Watch | null
  readonly #urls: readonly (DirectoryUrl | null)[]
  readonly #pools: Readonly<Record<PoolKind, ConnectionPool>>
  /** When the URL at a position is tried in its turn again. */
  readonly #deadUntil = new Map<number, number>()
  /** Attempts at URLs that did not answer: others wait for the outcome instead of adding to them. */
  readonly #probes = new Map<number, Promise<boolean>>()
  #secureContext: SecureContext | null = null
  /** Whether the directory knows the matching rule that follows groups in groups; by URL. */
  readonly chainRule = new Map<string, boolean>()

  constructor(settings: DirectorySettings, clock: Clock, watch: Watch | null = null) {
    this.settings = settings
    this.#clock = clock
    this.#watch = watch
    this.#urls = parseUrls(settings.url)
    this.#pools = {
      service: new ConnectionPool(clock, searchesPerConnection),
      unbound: new ConnectionPool(clock, searchesPerConnection),
      user: new ConnectionPool(clock, 1),
    }
  }

  /** A new connection to the first URL that can be connected to. The caller closes it. */
  async connect(budget: Budget): Promise<DirectoryConnection> {
    const failures: string[] = []
    const order = this.#order()
    for (const [turn, position] of order.entries()) {
      const url = this.#urls[position] ?? null
      if (url === null) {
        failures.push('not a URL of a directory')
        continue
      }
      // An attempt at it that is under way, after the last one failed, is waited for.
      const probe = this.#probes.get(position)
      if (probe !== undefined && !(await probe)) {
        failures.push(`${url.text}: does not answer`)
        continue
      }
      // Each that is still to be tried gets its part of the time, so that the last one is tried as well.
      const limitMs = Math.min(
        this.settings.connectionTimeoutMs,
        leftMs(budget) / (order.length - turn),
      )
      try {
        return await this.#dial(position, url, budget, limitMs)
      } catch (error) {
        // A directory that was reached and does not want TLS has decided: nothing is sent in clear text instead.
        if (error instanceof DirectoryError && error.kind === 'refused') throw error
        if (budget.signal.aborted) throw error
        failures.push(error instanceof Error ? error.message : String(error))
      }
    }
    throw new DirectoryError('unreachable', failures.join('; ') || 'there is no URL')
  }

  /** Runs searches on a shared connection. One that had ended is replaced once. */
  search<T>(
    kind: SearchKind,
    budget: Budget,
    run: (connection: DirectoryConnection) => Promise<T>,
  ): Promise<T> {
    return this.#lent(kind, () => this.#open(kind, budget), run)
  }

  /** Binds as a user on a connection for users' binds, and asks nothing else on it. */
  bindUser(name: string, password: string, budget: Budget): Promise<void> {
    const bind = (connection: DirectoryConnection) => connection.bind(name, password, budget)
    return this.#lent('user', () => this.connect(budget), bind)
  }

  /** Closes what waits; what is lent is closed when it comes back. */
  close(): void {
    for (const pool of Object.values(this.#pools)) pool.close()
  }

  get idleCount(): number {
    const { service, unbound, user } = this.#pools
    return service.idleCount + unbound.idleCount + user.idleCount
  }

  /** Binds as the service account, with each password that may be right. */
  async bindService(connection: DirectoryConnection, budget: Budget): Promise<void> {
    const { binddn, bindpasses } = this.settings
    if (binddn === '' || bindpasses.length === 0) return connection.bind('', '', budget)
    for (const [at, password] of bindpasses.entries()) {
      try {
        return await connection.bind(binddn, password, budget)
      } catch (error) {
        const isWrong = error instanceof DirectoryError && error.resultCode === invalidCredentials
        if (!isWrong || at === bindpasses.length - 1) throw error
      }
    }
  }

  async #open(kind: SearchKind, budget: Budget): Promise<DirectoryConnection> {
    const connection = await this.connect(budget)
    if (kind === 'unbound') return connection
    try {
      await this.bindService(connection, budget)
      return connection
    } catch (error) {
      connection.close()
      throw error
    }
  }

  async #lent<T>(
    kind: PoolKind,
    open: () => Promise<DirectoryConnection>,
    run: (connection: DirectoryConnection) => Promise<T>,
  ): Promise<T> {
    const pool = this.#pools[kind]
    const waiting = pool.take()
    if (waiting !== null) {
      try {
        return await run(waiting.connection)
      } catch (error) {
        if (!hadEnded(error)) throw error
      } finally {
        pool.giveBack(waiting)
      }
    }
    const added = pool.add(await open())
    try {
      return await run(added.connection)
    } finally {
      pool.giveBack(added)
    }
  }

  /** In their order, those that did not answer of late behind the others. */
  #order(): number[] {
    const nowMs = this.#clock.monotonicMs()
    const isDead = (position: number): boolean => (this.#deadUntil.get(position) ?? 0) > nowMs
    const positions = this.#urls.map((_url, position) => position)
    return [...positions.filter((at) => !isDead(at)), ...positions.filter(isDead)]
  }

  async #dial(
    position: number,
    url: DirectoryUrl,
    budget: Budget,
    limitMs: number,
  ): Promise<DirectoryConnection> {
    const isProbe = this.#deadUntil.has(position)
    const outcome = Promise.withResolvers<boolean>()
    if (isProbe) this.#probes.set(position, outcome.promise)
    let answered = false
    try {
      const asked = () => ({ step: 'connect' as const, url: url.text })
      const { starttls, insecureTls: insecure, requestTimeoutMs } = this.settings
      const way = { starttls, insecure, secureContext: () => this.#tls() }
      const socket = await watched(this.#watch, this.#clock, asked, () =>
        dial(url, way, budget, limitMs),
      )
      answered = true
      this.#deadUntil.delete(position)
      return new DirectoryConnection(socket, url.text, requestTimeoutMs, this.#watch)
    } catch (error) {
      // A caller that went away says nothing of the directory.
      if (!budget.signal.aborted) {
        this.#deadUntil.set(position, this.#clock.monotonicMs() + deadMs)
      }
      throw error
    } finally {
      if (isProbe) {
        this.#probes.delete(position)
        outcome.resolve(answered)
      }
    }
  }

  /** Throws what the library says of texts that do not fit; they were checked when they were written. */
  #tls(): SecureContext {
    this.#secureContext ??= secureContextOf(this.settings)
    return this.#secureContext
  }
}

export const invalidCredentials = 49

/** Of a connection that had ended while it waited. */
function hadEnded(error: unknown): boolean {
  return error instanceof DirectoryError && error.kind === 'closed'
}

export function secureContextOf(
  settings: Pick<
    DirectorySettings,
    'tlsMinVersion' | 'tlsMaxVersion' | 'certificate' | 'clientTlsCert' | 'clientTlsKey'
  >,
): SecureContext {
  const { tlsMinVersion, tlsMaxVersion, certificate, clientTlsCert, clientTlsKey } = settings
  const isOld = tlsMinVersion === 'tls10' || tlsMinVersion === 'tls11'
  return createSecureContext({
    minVersion: secureVersions[tlsMinVersion],
    maxVersion: secureVersions[tlsMaxVersion],
    // The library refuses the signatures of the old versions otherwise.
    ...(isOld ? { ciphers: 'DEFAULT@SECLEVEL=0' } : {}),
    ...(certificate === '' ? {} : { ca: certificate }),
    ...(clientTlsCert === '' ? {} : { cert: clientTlsCert, key: clientTlsKey }),
  })
}
