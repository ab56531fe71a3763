/** `PUT /v1/txn`: a list of operations as JSON, all or nothing. */
import { Fields } from '../../api/fields.ts'
import { lockOf } from '../../api/fence.ts'
import { decodeJsonExact } from '../../api/json.ts'
import type { ApiReply, ApiRequest, Route } from '../../api/route.ts'
import { assertNever } from '../../lib/assert.ts'
import { MusterError } from '../../lib/errors.ts'
import { kvReadTxn, kvWrite } from './methods.ts'
import { shownEntry } from './shown-entry.ts'
import {
  clientIndex,
  defaultNamespace,
  parseFlags,
  sessionText,
  txnBodyBytesMax,
  txnOperationsMax,
} from './model.ts'
import {
  type Operation,
  readVerbs,
  type OperationsOutcome,
  type RefusedOperation,
} from './operation-model.ts'

type Failure = { readonly OpIndex: number; readonly What: string }

/** An operation, or why it is none that could be tried. */
type Parsed = Operation | { readonly type: 'unusable'; readonly what: string }

const noBytes = new Uint8Array(0)

export const kvTxnRoute: Route = {
  method: 'PUT',
  path: '/v1/txn',
  body: 'bytes',
  bodyBytesMax: txnBodyBytesMax,
  switches: 'presence',
  async handle(request) {
    const namespace = request.namespace ?? defaultNamespace
    const parsed = parseOperations(decodeJsonExact(request.bytes), namespace)
    const unusable = parsed.flatMap((one, at): Failure[] =>
      one.type === 'unusable' ? [{ OpIndex: at, What: one.what }] : [],
    )
    if (unusable.length > 0) return failed(unusable)
    const operations = parsed.filter((one) => one.type !== 'unusable')
    const lock = lockOf(request)
    if (lock === null && operations.every(({ type }) => readVerbs.has(type))) {
      return readOnly(request, operations)
    }
    const fence = lock === null ? null : { namespace, ...lock }
    return replyOf(operations, await request.call(kvWrite, { operations, fence }), {})
  },
}

async function readOnly(request: ApiRequest, operations: readonly Operation[]): Promise<ApiReply> {
  const { value, index } = await request.query(kvReadTxn, { operations: [...operations] })
  return replyOf(operations, value, {
    Index: index,
    LastContact: request.contact?.lastContactMs ?? 0,
    KnownLeader: request.contact?.knownLeader ?? true,
  })
}

function replyOf(
  operations: readonly Operation[],
  outcome: OperationsOutcome,
  metadata: Readonly<Record<string, unknown>>,
): ApiReply {
  if (outcome.type === 'refused')
    return failed(outcome.refused.map((one) => shown(operations, one)))
  const results = outcome.entries.map((entry) => ({ KV: shownEntry(entry) }))
  return { json: { Results: results, Errors: null, ...metadata } }
}

function failed(errors: readonly Failure[]): ApiReply {
  return { status: 409, json: { Results: null, Errors: errors } }
}

/** Throws `invalid_argument` for what is no list of operations at all, `too_large` for too many. */
function parseOperations(body: unknown, namespace: string): readonly Parsed[] {
  if (!Array.isArray(body)) {
    throw new MusterError('invalid_argument', 'the request body must be a JSON list of operations')
  }
  if (body.length > txnOperationsMax) {
    throw new MusterError(
      'too_large',
      `a transaction has at most ${txnOperationsMax} operations, this one has ${body.length}`,
    )
  }
  return body.map((item, at) => parseOperation(item, at, namespace))
}

const operationNames = new Set(['kv'])
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

function parseOperation(item: unknown, at: number, namespaceOfAll: string): Parsed {
  const path = `operation ${at}: `
  const outer = new Fields(item, { anyCase: true }, path)
  refuseUnknown(outer, operationNames, path)
  const fields = outer.object('KV')
  if (fields === undefined) {
    throw new MusterError('invalid_argument', `${path}KV is missing`)
  }
  refuseUnknown(fields, fieldNames, path)
  const verb = fields.text('Verb') ?? ''
  const key = fields.text('Key') ?? ''
  const namespace = fields.text('Namespace') || namespaceOfAll
  const value = valueOf(fields.text('Value'), path)
  const flags = wholeNumber(fields.raw('Flags'), `${path}Flags`).toString()
  const index = clientIndex(wholeNumber(fields.raw('Index'), `${path}Index`))
  const session = sessionText(fields.text('Session') ?? '')
  if (key === '') return { type: 'unusable', what: 'the key is missing' }
  const content = { namespace, key, value, flags }
  switch (verb) {
    case 'set':
      return { type: verb, ...content }
    case 'cas':
      return { type: verb, ...content, index }
    case 'lock':
    case 'unlock':
      if (session === '') return { type: 'unusable', what: `the session of the ${verb} is missing` }
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

function shown(operations: readonly Operation[], { at, refusal }: RefusedOperation): Failure {
  const operation = operations[at]
  const key = JSON.stringify(operation?.key ?? '')
  return { OpIndex: at, What: textOf(refusal.type, key, operation) }
}

function textOf(
  type: RefusedOperation['refusal']['type'],
  key: string,
  operation: Operation | undefined,
): string {
  switch (type) {
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
        ? `failed to unlock key ${key}: the lock is not held by this session`
        : `key ${key} is not locked by this session`
    case 'unknownSession':
      return `failed to lock key ${key}: invalid session`
    case 'tooMuch':
      return `there is too much below ${key} for one transaction`
    default:
      return assertNever(type)
  }
}
