/** Sends what a row says, and finds its verdict: by status and fields, never by what somebody wrote down before. */
import type { HttpClient } from '../support/http-client.ts'
import type { Call, Row } from './rows.ts'

export type Verdict = 'works' | 'differs' | 'out of scope' | 'no server'
export type Outcome = { readonly verdict: Verdict; readonly note: string }

const noteLengthMax = 160

export class Replay {
  readonly #http: HttpClient
  readonly #headers: Readonly<Record<string, string>>
  /** The client fails without JSON in the answer. */
  readonly #isDecoded: (method: string, path: string) => boolean
  readonly #kept = new Map<string, string>()
  readonly #bytes = new Map<string, Buffer>()

  constructor(
    http: HttpClient,
    headers: Readonly<Record<string, string>>,
    kept: Readonly<Record<string, string>>,
    isDecoded: (method: string, path: string) => boolean = () => false,
  ) {
    this.#isDecoded = isDecoded
    this.#http = http
    this.#headers = headers
    for (const [name, value] of Object.entries(kept)) this.#kept.set(name, value)
  }

  async outcomeOf(row: Row): Promise<Outcome> {
    const own = row.note ?? ''
    if (row.calls.length === 0) return { verdict: 'no server', note: own }
    const problems: string[] = []
    for (const call of row.calls) {
      const problem = await this.#send(call)
      if (problem === null) continue
      if (problem.outOfScope) return { verdict: 'out of scope', note: own || problem.text }
      problems.push(problem.text)
    }
    const [first = ''] = problems
    return { verdict: problems.length === 0 ? 'works' : 'differs', note: own || first }
  }

  async #send(call: Call): Promise<{ readonly outOfScope: boolean; readonly text: string } | null> {
    const path = this.#filled(call.path)
    const body = this.#bodyOf(call)
    const reply = await this.#http.request(call.method, path, {
      headers: this.#headers,
      ...(body !== undefined && { body }),
    })
    const shown = `${call.method} ${call.path.replace(/[?].*/s, '')}`
    const text = reply.body.toString()
    if (reply.status === 501) return { outOfScope: true, text: cut(reasonOf(text)) }
    const { status = [200], reads = [], index = false, keep } = call
    const differs = (what: string) => ({ outOfScope: false, text: cut(`${shown}: ${what}`) })
    if (!status.includes(reply.status)) return differs(`status ${reply.status}`)
    if (index && !(Number(reply.headers['x-consul-index']) > 0)) return differs('no index')
    if (reply.status === 200 && this.#isDecoded(call.method, path) && parsed(text) === undefined) {
      return differs('no body that is JSON, which the client decodes')
    }
    if (keep?.field === 'body') this.#bytes.set(keep.name, reply.body)
    if (reads.length === 0 && keep?.field === undefined) return null
    if (keep?.field === 'body' && reads.length === 0) return null
    const value = firstOf(parsed(text))
    const missing = reads.filter((field) => fieldOf(value, field) === undefined)
    if (missing.length > 0) return differs(`no ${missing.join(', ')}`)
    if (keep !== undefined && keep.field !== 'body') {
      this.#kept.set(keep.name, String(fieldOf(value, keep.field)))
    }
    return null
  }

  #bodyOf({ body, send }: Call): string | Buffer | undefined {
    if (send !== undefined) return this.#bytes.get(send) ?? Buffer.alloc(0)
    if (body === undefined || typeof body === 'string') return body
    return this.#filled(JSON.stringify(body))
  }

  #filled(text: string): string {
    return text.replaceAll(/\{([a-z]+)\}/g, (all, name: string) => this.#kept.get(name) ?? all)
  }
}

/** Undefined: it is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function firstOf(value: unknown): unknown {
  return Array.isArray(value) ? (value as readonly unknown[])[0] : value
}

/** A field that is null is there. */
export function fieldOf(value: unknown, path: string): unknown {
  let at = value
  for (const name of path.split('.')) {
    if (typeof at !== 'object' || at === null) return undefined
    at = Reflect.get(at, name)
  }
  return at
}

/** Of both shapes of errors. */
export function reasonOf(text: string): string {
  const value = parsed(text)
  const errors = fieldOf(value, 'errors')
  return Array.isArray(errors) ? errors.join('; ') : text
}

/** One cell of a table. */
export function cut(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').replaceAll('|', '/')
  return line.length > noteLengthMax ? `${line.slice(0, noteLengthMax - 1)}…` : line
}
