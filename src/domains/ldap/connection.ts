/**
 * One connection to a directory, with the few operations that logins need, many at a time. A request that is not answered in
 * time ends no other's; an answer that breaks a rule ends the connection. It is never made again behind the caller's back.
 *
 * What every login asks is encoded here (`messages.ts`); the package `ldapts` knows what is rare.
 */
import { Attribute, BindResponse, Change, ModifyRequest, StatusCodeParser } from 'ldapts'
import { bounded, type Budget } from './budget.ts'
import { DirectoryError } from './directory-error.ts'
import { filterText } from './filter.ts'
import {
  fullAllowance,
  type Allowance,
  type Asked,
  type FramedSocket,
  type Received,
} from './framed-socket.ts'
import {
  bindRequest,
  cookieOf,
  entryOf,
  operation,
  resultOf,
  searchRequest,
  type FoundEntry,
  type Search,
} from './messages.ts'
import { watched, type Watch } from './watch.ts'

export class DirectoryConnection {
  readonly #socket: FramedSocket
  readonly #requestTimeoutMs: number
  readonly #watch: Watch | null
  /** The URL that it leads to, for logs. */
  readonly url: string

  constructor(
    socket: FramedSocket,
    url: string,
    requestTimeoutMs: number,
    watch: Watch | null = null,
  ) {
    this.#socket = socket
    this.#watch = watch
    this.url = url
    this.#requestTimeoutMs = requestTimeoutMs
  }

  /** Whether it takes requests. */
  get isOpen(): boolean {
    return this.#socket.isOpen
  }

  /** An empty password makes it an anonymous or unauthenticated bind. The caller asks nothing else until it is answered. */
  bind(dn: string, password: string, budget: Budget): Promise<void> {
    const asked = () => ({ step: 'bind' as const, name: dn, url: this.url })
    return watched(this.#watch, budget.clock, asked, async () => {
      const encode = (id: number) => bindRequest(id, dn, password)
      await this.#ask(operation.bind, encode, budget, fullAllowance())
    })
  }

  /** All entries that were found, or a failure: never a part of them. */
  search(search: Search, budget: Budget): Promise<readonly FoundEntry[]> {
    const asked = () => {
      const { base, filter } = search
      return { step: 'search' as const, base, filter: filterText(filter), url: this.url }
    }
    return watched(this.#watch, budget.clock, asked, () => this.#search(search, budget))
  }

  /** Replaces the password of an entry. */
  async replacePassword(
    dn: string,
    attribute: string,
    value: string | Buffer,
    budget: Budget,
  ): Promise<void> {
    const values = [value] as string[] | Buffer[]
    const modification = new Attribute({ type: attribute, values })
    const changes = [new Change({ operation: 'replace', modification })]
    const encode = (messageId: number) => new ModifyRequest({ messageId, dn, changes }).write()
    await this.#ask(operation.modify, encode, budget, fullAllowance())
  }

  close(): void {
    this.#socket.close()
  }

  async #search(search: Search, budget: Budget): Promise<readonly FoundEntry[]> {
    const seconds = Math.ceil(this.#requestTimeoutMs / 1_000)
    const allowance = fullAllowance()
    const found: FoundEntry[] = []
    let cookie: Buffer = noCookie
    do {
      const encode = (id: number) => searchRequest(id, search, seconds, cookie)
      const received = await this.#ask(operation.search, encode, budget, allowance)
      for (const { tag, message, contentAt } of received) {
        if (tag !== operation.entry) continue
        found.push(entryOf(message, contentAt, search.binary ?? []) ?? this.#broken())
      }
      const last = received.at(-1)
      cookie = last === undefined ? noCookie : (cookieOf(last.message) ?? this.#broken())
    } while (cookie.length > 0 && (search.pageSize ?? 0) > 0)
    return found
  }

  /** Resolves to the whole answer when it says that the operation succeeded. */
  async #ask(
    tag: number,
    encode: (id: number) => Buffer,
    budget: Budget,
    allowance: Allowance,
  ): Promise<readonly Received[]> {
    const asked: Asked[] = []
    const stop = (reason: DirectoryError): void => asked[0]?.abandon(reason)
    const received = await bounded(budget, this.#requestTimeoutMs, stop, () => {
      const own = this.#socket.ask({ tag, encode, allowance })
      asked.push(own)
      return own.answer
    })
    const last = received.at(-1)
    const result = last === undefined ? null : resultOf(last.message, last.contentAt)
    const { code, diagnostic } = result ?? this.#broken()
    if (code === 0) return received
    throw new DirectoryError('refused', refusalText(code, diagnostic), { resultCode: code })
  }

  /** What cannot be parsed leaves the connection in a state that is not known. */
  #broken(): never {
    const error = new DirectoryError('protocol', 'what the directory sent is no LDAP')
    this.#socket.fail(error)
    throw error
  }
}

const noCookie = Buffer.alloc(0)

/** Characters of a directory's own words that are repeated. */
const diagnosticLengthMax = 300

/** `result code 49 (InvalidCredentials): …`, with what the directory says of it. */
function refusalText(code: number, diagnostic: string): string {
  const { name } = StatusCodeParser.parse(
    new BindResponse({ messageId: 0, status: code, errorMessage: diagnostic }),
  )
  const said = diagnostic.trim()
  const about = `result code ${code} (${name.replace(/Error$/, '')})`
  return said === '' ? about : `${about}: ${said.slice(0, diagnosticLengthMax)}`
}
