/**
 * A response's head before it is written.
 *
 * Node checks each header line by two patterns and looks for some ten names; the seventeen lines of a read, under four names, cost 1.5 to
 * 4 µs of some 25. So lines are kept as the text that they become, only what may hold anything is checked, and Node is handed the
 * text. There is no public way for that: it goes where Node keeps its own (`_header`), and only where no connection or body needs more of
 * Node than that.
 */
import type { Clock } from '../lib/clock.ts'
import {
  STATUS_CODES,
  validateHeaderName,
  validateHeaderValue,
  type ServerResponse,
} from '../lib/http.ts'

const lineEnd = '\r\n'

export class Head {
  readonly status: number
  readonly #clock: Clock
  #text = ''

  constructor(status: number, clock: Clock) {
    this.status = status
    this.#clock = clock
  }

  /** Throws a `TypeError` where the value has what no header may have. The name is one of the program's. */
  set(name: string, value: string | number): void {
    if (typeof value === 'string') validateHeaderValue(name, value)
    this.#text += lineOf(name, value)
  }

  /** As `set`, under each of these names. */
  setAll(names: readonly string[], value: string | number): void {
    if (typeof value === 'string') validateHeaderValue(names[0] ?? '', value)
    this.#text += linesOf(names, value)
  }

  /** Names and values in turn, from wherever. Throws as `set`. */
  add(lines: readonly string[]): void {
    for (let at = 0; at + 1 < lines.length; at += 2) {
      const name = lines[at] ?? ''
      validateHeaderName(name)
      this.set(name, lines[at + 1] ?? '')
    }
  }

  /** Whole lines that were made by `linesOf` of what no client says. */
  addMade(text: string): void {
    this.#text += text
  }

  /** `name` in lower case. */
  has(name: string): boolean {
    return this.#pairs().some((line, at) => at % 2 === 0 && line.toLowerCase() === name)
  }

  /** Whether the answer is said to depend on what a request says under `name`, which is in lower case. */
  variesBy(name: string): boolean {
    const pairs = this.#pairs()
    return pairs.some(
      (line, at) =>
        at % 2 === 0 &&
        line.toLowerCase() === 'vary' &&
        (pairs[at + 1] ?? '').split(',').some((item) => item.trim().toLowerCase() === name),
    )
  }

  writeTo(response: ServerResponse): void {
    if (!this.#isPlainFor(response)) {
      response.writeHead(this.status, this.#pairs())
      return
    }
    const { status } = this
    response.statusCode = status
    const own = response as unknown as NodeHead
    const idle = Math.floor(own._keepAliveTimeout / 1_000)
    own._header =
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n${this.#text}Date: ${dateText(this.#clock.wallMs())}\r\n` +
      `Connection: keep-alive\r\nKeep-Alive: timeout=${idle}\r\n\r\n`
  }

  /** As `writeTo`, when the first piece of the body may still turn out to be an error. */
  prepare(response: ServerResponse): void {
    response.statusCode = this.status
    const pairs = this.#pairs()
    for (let at = 0; at + 1 < pairs.length; at += 2) {
      // A name may stand there twice.
      response.appendHeader(pairs[at] ?? '', pairs[at + 1] ?? '')
    }
  }

  /** Its connection goes on after it, and its length is told (or nobody waits for a body). */
  #isPlainFor(response: ServerResponse): boolean {
    return (
      response.shouldKeepAlive &&
      this.status >= 200 &&
      this.status !== 204 &&
      this.status !== 304 &&
      response.req.headers.expect === undefined &&
      response.getHeaderNames().length === 0 &&
      (response as unknown as NodeHead)._keepAliveTimeout > 0 &&
      this.#text.includes('Content-Length: ')
    )
  }

  /** Names and values in turn. */
  #pairs(): string[] {
    const pairs: string[] = []
    for (const line of this.#text.split(lineEnd)) {
      const nameEnd = line.indexOf(': ')
      if (nameEnd > 0) pairs.push(line.slice(0, nameEnd), line.slice(nameEnd + 2))
    }
    return pairs
  }
}

/** The same value under each name. */
export function linesOf(names: readonly string[], value: string | number | boolean): string {
  let text = ''
  for (const name of names) text += lineOf(name, value)
  return text
}

function lineOf(name: string, value: string | number | boolean): string {
  return `${name}: ${value}${lineEnd}`
}

/** What Node keeps of a response's head, as of version 24. */
type NodeHead = { _header: string | null; readonly _keepAliveTimeout: number }

let datedSecond = 0
let dated = ''

function dateText(nowMs: number): string {
  const second = Math.floor(nowMs / 1_000)
  if (second !== datedSecond) {
    datedSecond = second
    dated = new Date(second * 1_000).toUTCString()
  }
  return dated
}
