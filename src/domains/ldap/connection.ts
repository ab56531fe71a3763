/**
 * One connection to a directory, with the few operations that logins need. A request that is not answered in time, and an answer
 * that breaks a rule, end the connection; it is never made again behind the caller's back.
 */
import { Attribute, Change, Client, Filter, ResultCodeError } from 'ldapts'
import type { BerWriter, Entry } from 'ldapts'
import type { Socket } from 'node:net'
import { textOf } from '../../lib/errors.ts'
import { bounded, type Budget } from './budget.ts'
import { DirectoryError } from './directory-error.ts'
import { encodeFilter, filterText, type FilterNode } from './filter.ts'
import type { FramedSocket } from './framed-socket.ts'
import { watched, type Watch } from './watch.ts'

export type Dereference = 'never' | 'finding' | 'searching' | 'always'

export type Search = {
  readonly base: string
  readonly scope: 'base' | 'sub'
  readonly filter: FilterNode
  readonly attributes: readonly string[]
  /** Attributes whose values are bytes. */
  readonly binary?: readonly string[]
  readonly dereference?: Dereference
  /** 0: none. Beyond it, the search fails. */
  readonly sizeLimit?: number
  /** 0: without the paging control. */
  readonly pageSize?: number
}

export type FoundEntry = {
  readonly dn: string
  /** Of an attribute, by its name in any case. */
  values(attribute: string): readonly (string | Buffer)[]
}

const dereferences: Readonly<Record<Dereference, number>> = {
  never: 0,
  searching: 1,
  finding: 2,
  always: 3,
}

/** A filter that was encoded here. The package would have its own idea of escaped bytes. */
class EncodedFilter extends Filter {
  readonly type: Filter['type']
  readonly #content: Buffer
  readonly #onSend: () => void

  /** `onSend` is called before each request with it is handed to the socket. */
  constructor(node: FilterNode, onSend: () => void) {
    super()
    this.#onSend = onSend
    const { tag, content } = encodeFilter(node)
    this.type = tag as Filter['type']
    this.#content = content
  }

  override write(writer: BerWriter): void {
    this.#onSend()
    writer.writeBuffer(this.#content, this.type)
  }

  override toString(): string {
    return 'a filter'
  }
}

export class DirectoryConnection {
  readonly #socket: FramedSocket
  readonly #client: Client
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
    let given = false
    this.#client = new Client({
      url: 'ldap://directory',
      createConnection: () => {
        if (given) throw new DirectoryError('closed', 'the connection is closed')
        given = true
        return socket as unknown as Socket
      },
    })
  }

  get isOpen(): boolean {
    return this.#socket.isOpen
  }

  /** An empty password makes it an anonymous or unauthenticated bind. */
  bind(dn: string, password: string, budget: Budget): Promise<void> {
    const asked = () => ({ step: 'bind' as const, name: dn, url: this.url })
    return watched(this.#watch, budget.clock, asked, () => this.#bind(dn, password, budget))
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
    await this.#run(budget, async () => {
      const values = [value] as string[] | Buffer[]
      const modification = new Attribute({ type: attribute, values })
      await this.#client.modify(dn, new Change({ operation: 'replace', modification }))
    })
  }

  close(): void {
    this.#socket.close()
  }

  async #bind(dn: string, password: string, budget: Budget): Promise<void> {
    await this.#run(budget, async () => {
      // A name that is one of SASL's mechanisms would not go out as a name.
      await this.#client.bind({ toString: () => dn } as never, password)
    })
  }

  async #search(search: Search, budget: Budget): Promise<readonly FoundEntry[]> {
    const { pageSize = 0 } = search
    const found = await this.#run(budget, async () => {
      const { searchEntries } = await this.#client.search(search.base, {
        scope: search.scope,
        filter: new EncodedFilter(search.filter, () => {
          this.#socket.dereference = dereferences[search.dereference ?? 'never']
        }),
        attributes: [...search.attributes],
        explicitBufferAttributes: [...(search.binary ?? [])],
        sizeLimit: search.sizeLimit ?? 0,
        timeLimit: Math.ceil(this.#requestTimeoutMs / 1_000),
        ...(pageSize > 0 ? { paged: { pageSize } } : {}),
      })
      // Only where a list may be cut off: of searches side by side, another one's end may be the last.
      if (pageSize > 0 || (search.sizeLimit ?? 0) > 0) this.#assertWhole()
      return searchEntries
    })
    return found.map(foundEntry)
  }

  /** The package takes a list that was cut at a size limit for a whole one, and an empty page for the last. */
  #assertWhole(): void {
    const { lastSearchCode: resultCode, lastSearchHasMore } = this.#socket
    if (resultCode !== 0) {
      throw new DirectoryError('refused', 'the directory found more than it tells', { resultCode })
    }
    if (lastSearchHasMore) throw new DirectoryError('protocol', 'the directory held back a page')
  }

  async #run<T>(budget: Budget, task: () => Promise<T>): Promise<T> {
    const socket = this.#socket
    if (!socket.isOpen) throw new DirectoryError('closed', 'the connection is closed')
    socket.begin()
    try {
      return await bounded(budget, this.#requestTimeoutMs, (reason) => socket.fail(reason), task)
    } catch (error) {
      throw socket.failure ?? directoryError(error, socket)
    }
  }
}

function directoryError(error: unknown, socket: FramedSocket): DirectoryError {
  if (error instanceof DirectoryError) return error
  if (error instanceof ResultCodeError) {
    return new DirectoryError('refused', refusalText(error), {
      resultCode: error.code,
      cause: error,
    })
  }
  const kind = socket.isOpen ? 'protocol' : 'closed'
  // What cannot be parsed leaves the connection in a state that is not known.
  socket.destroy()
  return new DirectoryError(kind, textOf(error), { cause: error })
}

/** Characters of a directory's own words that are repeated. */
const diagnosticLengthMax = 300

/** `result code 49 (InvalidCredentials): …`, with what the directory says of it. */
function refusalText({ code, name, message }: ResultCodeError): string {
  const said = message.replace(/ Code: 0x[0-9a-f]+$/, '').trim()
  const about = `result code ${code} (${name.replace(/Error$/, '')})`
  return said === '' ? about : `${about}: ${said.slice(0, diagnosticLengthMax)}`
}

function foundEntry(entry: Entry): FoundEntry {
  return {
    dn: entry.dn,
    values: (attribute) => {
      const wanted = attribute.toLowerCase()
      return Object.entries(entry).flatMap(([name, value]) =>
        name !== 'dn' && name.toLowerCase() === wanted ? value : [],
      )
    },
  }
}
