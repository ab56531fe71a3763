/** `PUT /v1/txn`: a list of operations on keys and the catalog as JSON, all or nothing. */
import { Fields } from '../../api/fields.ts'
import { decodeJsonExact } from '../../api/json.ts'
import { lockOf } from '../../api/lock-condition.ts'
import type { ApiReply, ApiRequest, DescribedRoute } from '../../api/route.ts'
import { consistency, inNamespace, jsonType, locked } from '../../api/shape.ts'
import { assert, present } from '../../lib/assert.ts'
import { MusterError } from '../../lib/errors.ts'
import { serviceKey } from '../../rpc/services.ts'
import { kvReadTxn, kvWrite } from './methods.ts'
import {
  clientIndex,
  defaultNamespace,
  parseFlags,
  sessionText,
  txnBodyBytesMax,
  txnOperationsMax,
} from './model.ts'
import { type Operation, readVerbs, type OperationsOutcome } from './operation-model.ts'
import { Operations, TxnFailure, TxnResult } from './shapes.ts'
import { shownEntry } from './shown-entry.ts'
import { transactionMethods } from './transaction-methods.ts'
import {
  isKeyStep,
  type CatalogOperation,
  type CatalogRefusal,
  type CatalogShown,
  type KeyStep,
  type RefusedStep,
  type Step,
  type StepRefusal,
  type StepsOutcome,
} from './transaction-model.ts'

/** How the catalog's operations are written in JSON; the catalog says it. */
export type CatalogWords = {
  /** The members of an operation that name a record of the catalog. */
  readonly kinds: readonly string[]
  /** Throws `invalid_argument`. */
  readonly parse: (kind: string, fields: Fields, path: string) => CatalogOperation | Unusable
  readonly show: (shown: CatalogShown) => unknown
  readonly explain: (operation: CatalogOperation, refusal: CatalogRefusal) => string
  readonly isRead: (operation: CatalogOperation) => boolean
}

export const catalogWordsKey = serviceKey<CatalogWords>('kv.catalogWords')

type Failure = { readonly OpIndex: number; readonly What: string }

type Unusable = { readonly type: 'unusable'; readonly what: string }

/** An operation, or why it is none that could be tried. */
type Parsed = Step | Unusable

const noBytes = new Uint8Array(0)

/** Steps read and write, and name keys, nodes and services. */
const anyStep = [
  { resource: 'key', access: 'read' },
  { resource: 'key', access: 'write' },
  { resource: 'node', access: 'read' },
  { resource: 'node', access: 'write' },
  { resource: 'service', access: 'read' },
  { resource: 'service', access: 'write' },
] as const

export const txnRoute: DescribedRoute = {
  method: 'PUT',
  path: '/v1/txn',
  summary: 'Run operations on keys and the catalog, all or none',
  permission: 'key:write',
  query: { ...inNamespace, ...locked, ...consistency },
  bodySchema: Operations,
  reply: { 200: { [jsonType]: TxnResult }, 409: { [jsonType]: TxnFailure } },
  errors: ['conflict'],
  example: {
    body: [
      { KV: { Verb: 'set', Key: 'app/color', Value: 'Z3JlZW4=' } },
      { KV: { Verb: 'get', Key: 'app/color' } },
    ],
  },
  body: 'bytes',
  bodyBytesMax: txnBodyBytesMax,
  atLeast: anyStep,
  switches: 'presence',
  async handle(request) {
    const words = request.service(catalogWordsKey)
    const namespace = request.namespace ?? defaultNamespace
    const parsed = parseOperations(decodeJsonExact(request.bytes), namespace, words)
    if (parsed.some(({ type }) => type === 'unusable')) {
      return failed(
        parsed.flatMap((one, at): Failure[] => {
          const what = one.type === 'unusable' ? one.what : withoutSession(one)
          return what === null ? [] : [{ OpIndex: at, What: what }]
        }),
      )
    }
    const steps = parsed.filter((one) => one.type !== 'unusable')
    const lock = lockOf(request)
    const isRead = (step: Step) =>
      isKeyStep(step) ? readVerbs.has(step.operation.type) : words.isRead(step)
    if (lock === null && steps.every(isRead)) {
      const { value, index } = await read(request, steps)
      return replyOf(words, steps, value, {
        Index: index,
        LastContact: request.contact?.lastContactMs ?? 0,
        KnownLeader: request.contact?.knownLeader ?? true,
      })
    }
    const fence = lock === null ? null : { namespace, ...lock }
    const outcome = steps.every(isKeyStep)
      ? ofKeys(await request.call(kvWrite, { operations: operationsOf(steps), fence }))
      : await request.call(transactionMethods.transact, { steps, fence })
    return replyOf(words, steps, outcome, {})
  },
}

function replyOf(
  words: CatalogWords,
  steps: readonly Step[],
  outcome: StepsOutcome,
  metadata: Readonly<Record<string, unknown>>,
): ApiReply {
  if (outcome.type === 'refused') {
    return failed(outcome.refused.map((one) => shownFailure(words, steps, one)))
  }
  const results = outcome.shown.map((one) =>
    one.kind === 'key' ? { KV: shownEntry(one.entry) } : words.show(one),
  )
  return { json: { Results: results, Errors: null, ...metadata } }
}

/** Operations on keys alone go the way that servers of every version know. */
async function read(
  request: ApiRequest,
  steps: readonly Step[],
): Promise<{ readonly value: StepsOutcome; readonly index: number }> {
  if (!steps.every(isKeyStep)) return request.query(transactionMethods.read, { steps: [...steps] })
  const { value, index } = await request.query(kvReadTxn, { operations: operationsOf(steps) })
  return { value: ofKeys(value), index }
}

function operationsOf(steps: readonly KeyStep[]): Operation[] {
  return steps.map(({ operation }) => operation)
}

function ofKeys(outcome: OperationsOutcome): StepsOutcome {
  if (outcome.type === 'refused') return outcome
  return { type: 'done', shown: outcome.entries.map((entry) => ({ kind: 'key', entry })) }
}

function failed(errors: readonly Failure[]): ApiReply {
  return { status: 409, json: { Results: null, Errors: errors } }
}

/** Throws `invalid_argument` for what is no list of operations at all, `too_large` for too many. */
function parseOperations(body: unknown, namespace: string, words: CatalogWords): readonly Parsed[] {
  if (!Array.isArray(body)) {
    throw new MusterError('invalid_argument', 'the request body must be a JSON list of operations')
  }
  if (body.length > txnOperationsMax) {
    throw new MusterError(
      'too_large',
      `a transaction has at most ${txnOperationsMax} operations, this one has ${body.length}`,
    )
  }
  return body.map((item, at) => parseStep(item, at, namespace, words))
}

const fieldNames = new Set([
  'verb',
  'key',
  'value',
  'flags',
  'index',
  'session',
  'namespace',
  // What an entry has that was read before: a client may send it back.
  'lockindex',
  'createindex',
  'modifyindex',
])

function parseStep(item: unknown, at: number, namespace: string, words: CatalogWords): Parsed {
  const path = `operation ${at}: `
  const outer = new Fields(item, { anyCase: true }, path)
  const kinds = ['KV', ...words.kinds]
  refuseUnknown(outer, new Set(kinds.map((kind) => kind.toLowerCase())), path)
  const [kind, second] = kinds.filter((name) => outer.has(name))
  if (kind === undefined || second !== undefined) {
    const wrong = kind === undefined ? 'is missing' : `and ${second} stand together`
    throw new MusterError(
      'invalid_argument',
      `${path}${kind ?? 'KV'} ${wrong}: an operation has one of ${kinds.join(', ')}`,
    )
  }
  const fields = outer.object(kind) ?? outer
  return kind === 'KV' ? parseKey(fields, path, namespace) : words.parse(kind, fields, path)
}

function parseKey(fields: Fields, path: string, namespaceOfAll: string): Parsed {
  const operation = parseOperation(fields, path, namespaceOfAll)
  return operation.type === 'unusable' ? operation : { type: 'key', operation }
}

function parseOperation(
  fields: Fields,
  path: string,
  namespaceOfAll: string,
): Operation | Unusable {
  refuseUnknown(fields, fieldNames, path)
  const verb = fields.text('Verb') ?? ''
  const key = fields.text('Key') ?? ''
  const namespace = fields.text('Namespace') || namespaceOfAll
  const value = valueOf(fields.text('Value'), path)
  const flags = wholeNumber(fields.raw('Flags'), `${path}Flags`).toString()
  const index = clientIndex(wholeNumber(fields.raw('Index'), `${path}Index`))
  const session = sessionText(fields.text('Session') ?? '')
  // As Consul: only a tree may be that of all keys, and only to go.
  if (key === '' && verb !== 'delete-tree') {
    return { type: 'unusable', what: 'the key is missing' }
  }
  const content = { namespace, key, value, flags }
  switch (verb) {
    case 'set':
      return { type: verb, ...content }
    case 'cas':
      return { type: verb, ...content, index }
    case 'lock':
    case 'unlock':
      return { type: verb, ...content, session }
    case 'delete':
    case 'delete-tree':
    case 'get':
    case 'get-tree':
    case 'check-not-exists':
      return { type: verb, namespace, key }
    case 'delete-cas':
    case 'check-index':
      return { type: verb, namespace, key, index }
    case 'check-session':
      return { type: verb, namespace, key, session }
    default:
      return { type: 'unusable', what: `unknown verb ${JSON.stringify(verb.slice(0, 100))}` }
  }
}

function refuseUnknown(fields: Fields, known: ReadonlySet<string>, path: string): void {
  const name = fields.names().find((candidate) => !known.has(candidate.toLowerCase()))
  if (name === undefined) return
  const text = `${path}there is no field ${JSON.stringify(name.slice(0, 100))}`
  throw new MusterError('invalid_argument', text)
}

const base64Pattern = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

function valueOf(text: string | undefined, path: string): Uint8Array {
  if (text === undefined || text === '') return noBytes
  if (!base64Pattern.test(text)) {
    throw new MusterError('invalid_argument', `${path}Value must be base64`)
  }
  return Buffer.from(text, 'base64')
}

/** Of 64 bits, as `decodeJsonExact` gives it. */
function wholeNumber(value: unknown, name: string): bigint {
  if (value === undefined) return 0n
  if (typeof value === 'bigint' || (typeof value === 'number' && Number.isSafeInteger(value))) {
    const parsed = parseFlags(value.toString())
    if (parsed !== undefined) return BigInt(parsed)
  }
  throw new MusterError('invalid_argument', `${name} must be a whole number from 0 to 2^64-1`)
}

function shownFailure(
  words: CatalogWords,
  steps: readonly Step[],
  { at, refusal }: RefusedStep,
): Failure {
  return { OpIndex: at, What: textOf(words, present(steps[at], 'a refused operation'), refusal) }
}

/** What is wrong with a lock that names no session; null: it is none. */
function withoutSession(step: Step): string | null {
  if (!isKeyStep(step)) return null
  const { operation } = step
  if (operation.type !== 'lock' && operation.type !== 'unlock') return null
  if (operation.session !== '') return null
  return `failed to ${operation.type} key ${JSON.stringify(operation.key)}: missing session`
}

function textOf(words: CatalogWords, step: Step, refusal: StepRefusal): string {
  const operation = isKeyStep(step) ? step.operation : null
  const key = JSON.stringify(operation?.key ?? '')
  switch (refusal.type) {
    case 'missing':
      return `key ${key} does not exist`
    case 'exists':
      return `key ${key} exists`
    case 'stale':
      return `key ${key} has another index`
    case 'lockHeld':
      return `failed to lock key ${key}: the lock is already held`
    case 'lockDelay':
      return `failed to lock key ${key} due to lock delay`
    case 'notHeld':
      return operation?.type === 'unlock'
        ? (withoutSession(step) ??
            `failed to unlock key ${key}: the lock is not held by this session`)
        : `key ${key} is not locked by this session`
    case 'unknownSession':
      return withoutSession(step) ?? `failed to lock key ${key}: invalid session`
    case 'tooMuch':
      return `there is too much below ${key} for one transaction`
    case 'sessionEnds':
      return `key ${key} depends on a session that another operation ends: write it in a transaction of its own`
    default:
      assert(!isKeyStep(step), 'operations on keys are refused for reasons of keys')
      return words.explain(step, refusal)
  }
}
