/**
 * Variables as a register per path, with outcomes as a judge of histories needs them: a write that was not
 * answered may have happened, and only a refused connection or a refusal by the server (4xx) says it has not.
 */
import type { Action, Seen, WriteOutcome } from '../sim/checkers/register.ts'
import { RequestFailure, type HttpClient, type Reply } from './http-client.ts'

export type CasOutcome = Extract<Action, { type: 'cas' }>['outcome']
export type DeleteOutcome = Extract<Action, { type: 'delete' }>['outcome']
export type ReadOutcome = Extract<Action, { type: 'read' }>['outcome']
export type Consistency = 'default' | 'consistent' | 'stale'

export class Variables {
  readonly #http: HttpClient
  readonly #timeoutMs: number

  constructor(http: HttpClient, timeoutMs = 10_000) {
    this.#http = http
    this.#timeoutMs = timeoutMs
  }

  async put(path: string, value: string): Promise<WriteOutcome> {
    const reply = await this.#write('PUT', path, value)
    if (reply === 'failed' || reply === 'unknown') return { type: reply }
    return { type: 'ok', index: variableOf(reply).index }
  }

  /** `expectedIndex` 0: only if there is none. */
  async cas(path: string, expectedIndex: number, value: string): Promise<CasOutcome> {
    const reply = await this.#write('PUT', `${path}?cas=${expectedIndex}`, value)
    if (reply === 'failed' || reply === 'unknown') return { type: reply }
    const found = variableOf(reply)
    return reply.status === 409 ? { type: 'refused', found } : { type: 'ok', index: found.index }
  }

  async delete(path: string): Promise<DeleteOutcome> {
    const reply = await this.#write('DELETE', path)
    return reply === 'failed' || reply === 'unknown' ? { type: reply } : { type: 'ok' }
  }

  async read(path: string, consistency: Consistency = 'consistent'): Promise<ReadOutcome> {
    const query = consistency === 'default' ? '' : `?${consistency}`
    try {
      const reply = await this.#http.request('GET', `/v1/var/${path}${query}`, {
        timeoutMs: this.#timeoutMs,
      })
      if (reply.status === 404) return { type: 'ok', seen: { value: null, index: null } }
      if (reply.status === 200) return { type: 'ok', seen: variableOf(reply) }
      if (reply.status < 500) throw unexpected(reply)
      return { type: 'failed' }
    } catch (error) {
      if (error instanceof RequestFailure) return { type: 'failed' }
      throw error
    }
  }

  async #write(
    method: 'PUT' | 'DELETE',
    path: string,
    value?: string,
  ): Promise<Reply | 'failed' | 'unknown'> {
    const body = value === undefined ? {} : { body: JSON.stringify({ Items: { v: value } }) }
    try {
      const reply = await this.#http.request(method, `/v1/var/${path}`, {
        ...body,
        timeoutMs: this.#timeoutMs,
      })
      if (reply.status === 200 || reply.status === 409) return reply
      if (reply.status >= 500) return 'unknown'
      throw unexpected(reply)
    } catch (error) {
      if (error instanceof RequestFailure) return error.maybeArrived ? 'unknown' : 'failed'
      throw error
    }
  }
}

/** No workload here makes requests that a right server calls wrong. */
function unexpected(reply: Reply): Error {
  return new Error(`unexpected status ${reply.status}: ${reply.body.toString().slice(0, 200)}`)
}

/** Value and index of a variable's JSON; index 0 is how a conflict says that there is none. */
function variableOf(reply: Reply): Seen {
  const parsed: unknown = JSON.parse(reply.body.toString())
  if (typeof parsed !== 'object' || parsed === null || !('ModifyIndex' in parsed)) {
    throw new Error(`not a variable: ${reply.body.toString().slice(0, 200)}`)
  }
  const index = parsed.ModifyIndex
  if (typeof index !== 'number') throw new Error(`ModifyIndex ${String(index)} is not a number`)
  if (index === 0) return { value: null, index: null }
  const items = 'Items' in parsed ? parsed.Items : undefined
  if (typeof items !== 'object' || items === null || !('v' in items)) {
    throw new Error(`a variable without Items.v: ${reply.body.toString().slice(0, 200)}`)
  }
  return { value: String(items.v), index }
}
