/**
 * Queries: a question told to every member, whose answers come back in packets of their own.
 */
import { MusterError } from '../../lib/errors.ts'
import { randomInteger } from '../../lib/random.ts'
import type { SerfMessage, SerfQuery } from './message.ts'
import { sameEndpoint } from './members.ts'
import { broadcast, tell, type Pool } from './serf.ts'
import { send, sendTo } from './dissemination.ts'

/** Own queries that still wait for answers, answers taken for one, and the bytes of a question or an answer. */
export const ownQueriesMax = 64
const answersMax = 2 * 10_000
export const queryBytesMax = 1_024

/** Ways that an answer takes beside the direct one, whatever is asked for. */
export const relayFactorMax = 5
/** From this version of the membership layer on a member passes answers on. */
const relayDelegate = 5

/** The bit of a response that makes it an acknowledgement. */
const ackFlag = 1

export type Question = {
  readonly name: string
  readonly payload: Uint8Array
  readonly filters: readonly Uint8Array[]
  readonly wantsAck: boolean
  readonly timeoutMs: number
}

/** True: news, to be passed on. */
export function queryHeard(pool: Pool, query: SerfQuery): boolean {
  const { serf, swim } = pool
  const { time, id, filters, noBroadcast } = query
  if (!serf.queryClock.witness(time)) {
    swim.counters.timesRefused += 1
    return false
  }
  if (!serf.queries.add(time, id, serf.queryClock.time)) return false
  const { name } = swim.self
  const tags = serf.standings.get(name)?.tags ?? new Map<string, string>()
  if (swim.codec.matches(filters, { name, tags })) {
    if (query.wantsAck) answer(pool, query, { flags: ackFlag, payload: new Uint8Array() })
    tell(pool, { type: 'query', query })
  }
  return !noBroadcast
}

/** Sends an answer to the asking member. Throws `too_large`. */
export function respond(pool: Pool, query: SerfQuery, payload: Uint8Array): void {
  refuseLarge('answer', payload)
  answer(pool, query, { flags: 0, payload })
}

/** Asks everybody, oneself included; returns the id of the answers. Throws `too_large` and `overloaded`. */
export function ask(pool: Pool, question: Question): number {
  const { serf, swim } = pool
  refuseLarge('question', question.payload)
  if (serf.ownQueries.size >= ownQueriesMax) {
    throw new MusterError(
      'overloaded',
      `${ownQueriesMax} queries wait for answers already; ask again when one has ended`,
    )
  }
  let id = randomInteger(swim.random, 0, 2 ** 32)
  while (serf.ownQueries.has(id)) id = (id + 1) % 2 ** 32
  const { name, payload, filters, wantsAck, timeoutMs } = question
  const query: SerfQuery = {
    type: 'query',
    time: serf.queryClock.increment(),
    id,
    endpoint: swim.self.endpoint,
    sourceNode: swim.self.name,
    filters,
    wantsAck,
    noBroadcast: false,
    relayFactor: 0,
    timeoutNs: timeoutMs * 1_000_000,
    name,
    payload,
  }
  serf.ownQueries.set(id, {
    time: query.time,
    deadline: swim.now + timeoutMs,
    acked: new Set(),
    answered: new Set(),
  })
  queryHeard(pool, query)
  passOnQuery(pool, query, query)
  return id
}

export function passOnQuery(pool: Pool, query: SerfQuery, message: SerfMessage | Uint8Array): void {
  broadcast(pool, pool.serf.queryNews, `${query.time} ${query.id}`, message)
}

export function responseHeard(
  pool: Pool,
  response: Extract<SerfMessage, { readonly type: 'query-response' }>,
): void {
  const { id, time, from, flags, payload } = response
  const own = pool.serf.ownQueries.get(id)
  if (own === undefined || own.time !== time) return
  const ack = flags % 2 === ackFlag
  const heard = ack ? own.acked : own.answered
  if (heard.has(from) || heard.size >= answersMax) return
  heard.add(from)
  tell(pool, { type: 'query-answered', id, from, ack, payload })
}

export function queryTick(pool: Pool): void {
  const { serf, swim } = pool
  for (const [id, own] of serf.ownQueries) {
    if (swim.now < own.deadline) continue
    serf.ownQueries.delete(id)
    tell(pool, { type: 'query-ended', id, answers: own.answered.size })
  }
}

export function queryDeadline(pool: Pool): number {
  let deadline = Infinity
  for (const own of pool.serf.ownQueries.values()) deadline = Math.min(deadline, own.deadline)
  return deadline
}

function answer(
  pool: Pool,
  query: SerfQuery,
  content: { readonly flags: number; readonly payload: Uint8Array },
): void {
  const { swim } = pool
  const { time, id, sourceNode, endpoint } = query
  const response: SerfMessage = {
    type: 'query-response',
    time,
    id,
    from: swim.self.name,
    ...content,
  }
  // Another member that bears this one's name asks under it, from another address.
  if (sourceNode === swim.self.name && sameEndpoint(endpoint, swim.self.endpoint)) {
    responseHeard(pool, response)
    return
  }
  const bytes = swim.codec.encode(response)
  send(swim, { endpoint, member: swim.members.get(sourceNode) ?? null }, [{ type: 'user', bytes }])
  if (query.relayFactor > 0) answerByOthers(pool, query, bytes)
}

/** On a bad network the asking member wants each answer by other ways too; it takes the first that comes. */
function answerByOthers(pool: Pool, query: SerfQuery, bytes: Uint8Array): void {
  const { swim } = pool
  const { endpoint: destination, sourceNode: node } = query
  const ways = swim.members.pick(
    Math.min(query.relayFactor, relayFactorMax),
    (member) =>
      member !== swim.self &&
      member.state === 'alive' &&
      member.versions.delegateMax >= relayDelegate &&
      !sameEndpoint(member.endpoint, destination),
  )
  const relay = swim.codec.encode({ type: 'relay', destination, node, bytes })
  for (const member of ways) sendTo(swim, member, [{ type: 'user', bytes: relay }])
}

/** Passes an answer on, to a member and to no other address, against amplification. */
export function relayHeard(
  pool: Pool,
  { destination, bytes }: Extract<SerfMessage, { readonly type: 'relay' }>,
): void {
  const { swim } = pool
  const member = swim.members.at(destination)
  if (member === undefined) swim.counters.relaysRefused += 1
  else sendTo(swim, member, [{ type: 'user', bytes }])
}

function refuseLarge(what: string, payload: Uint8Array): void {
  if (payload.length <= queryBytesMax) return
  throw new MusterError(
    'too_large',
    `the ${what} has ${payload.length} bytes; at most ${queryBytesMax} are sent`,
  )
}
