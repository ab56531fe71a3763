/** `/v1/kv/*`: shapes of HTTP to operations and back. */
import { Type } from 'typebox'
import { encodeJson } from '../../api/json.ts'
import { HttpRefusal } from '../../api/errors.ts'
import { lockOf } from '../../api/lock-condition.ts'
import { listHeaders, readPaging } from '../../api/pages.ts'
import type { ApiReply, ApiRequest, DescribedRoute } from '../../api/route.ts'
import type { Search } from '../../api/search.ts'
import {
  blocking,
  bytes,
  count,
  filterable,
  flag,
  inNamespace,
  jsonType,
  locked,
  ok,
  optionally,
  paged,
  text,
  textType,
} from '../../api/shape.ts'
import { assertNever } from '../../lib/assert.ts'
import { MusterError } from '../../lib/errors.ts'
import { isUuid } from '../../lib/uuid.ts'
import { kvList, kvNames, kvRead, kvWrite } from './methods.ts'
import {
  checkKey,
  clientIndex,
  defaultNamespace,
  sessionText,
  valueBytesMax,
  type Fence,
  type KeyPlace,
  type KvRow,
} from './model.ts'
import type { Operation, Refusal, ShownEntry } from './operation-model.ts'
import { Entry, Names } from './shapes.ts'
import { shownEntry } from './shown-entry.ts'

/** Longest wait of a blocking query, as Consul caps it. */
export const kvWaitMsMax = 600_000

/** A value is a client's bytes: no browser may interpret them. */
const rawHeaders = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': 'sandbox',
}

const ofKey = { '*': text('The key, slashes included') }

const read = { switches: 'presence', waitMsMax: kvWaitMsMax } as const

export const kvRoutes: readonly DescribedRoute[] = [
  {
    ...read,
    method: 'GET',
    path: '/v1/kv/*',
    summary: 'Read a key, the keys below a prefix, or their names',
    permission: 'key:read',
    params: ofKey,
    query: {
      ...blocking,
      ...inNamespace,
      ...filterable,
      ...paged,
      ...optionally({
        raw: flag('The value alone, as it was written'),
        recurse: flag('All keys that begin with the path'),
        keys: flag('Names alone'),
        separator: text('With `keys`: names up to the next one of these'),
        seperator: text('The same, as old clients of Consul spell it'),
      }),
    },
    reply: {
      200: {
        [jsonType]: Type.Union([Type.Array(Entry), Names]),
        [textType]: bytes('The value, with `raw`'),
      },
    },
    errors: ['not_found'],
    example: { url: '/v1/kv/app/color' },
    handle(request) {
      const { search } = request
      if (search.has('keys')) return names(request)
      if (search.has('recurse')) return tree(request)
      return single(request)
    },
  },
  {
    method: 'PUT',
    path: '/v1/kv/*',
    summary: 'Write a key; the body is the value',
    permission: 'key:write',
    params: ofKey,
    query: {
      ...inNamespace,
      ...locked,
      ...optionally({
        flags: count('Up to 2^64-1, for the client'),
        cas: count('ModifyIndex that the key must have; 0: it must not exist'),
        acquire: text('Session that takes the lock'),
        release: text('Session that frees the lock'),
      }),
    },
    reply: ok(flag('False: the condition does not hold')),
    errors: ['conflict'],
    example: { url: '/v1/kv/app/color', body: 'green' },
    body: 'bytes',
    bodyBytesMax: valueBytesMax,
    atLeast: [{ resource: 'key', access: 'write' }],
    switches: 'presence',
    handle: write,
  },
  {
    method: 'DELETE',
    path: '/v1/kv/*',
    summary: 'Delete a key, or the keys below a prefix',
    permission: 'key:write',
    params: ofKey,
    query: {
      ...inNamespace,
      ...locked,
      ...optionally({
        recurse: flag('All keys that begin with the path'),
        cas: count('ModifyIndex that the key must have'),
      }),
    },
    reply: ok(flag('False: the condition does not hold')),
    errors: ['conflict'],
    example: { url: '/v1/kv/app/color' },
    body: 'none',
    switches: 'presence',
    handle: remove,
  },
]

/** By their rows, for as long as the state keeps the very row: so what many read is written once. */
const written = new WeakMap<KvRow, string>()

function encodedOf(entry: ShownEntry): string {
  const known = written.get(entry.row)
  if (known !== undefined) return known
  const text = encodeJson([shownEntry(entry)], false)
  // A long value is no part of the row, nor of what is counted of the rows that are kept.
  if (entry.value === entry.row.value) written.set(entry.row, text)
  return text
}

async function single(request: ApiRequest): Promise<ApiReply> {
  const place = placeOf(request)
  checkKey(place.key)
  const { value } = await request.query(kvRead, place)
  if (value === null) return { status: 404 }
  if (!request.search.has('raw')) return { encoded: encodedOf(value) }
  return {
    bytes: value.value ?? new Uint8Array(0),
    type: 'text/plain; charset=utf-8',
    headers: rawHeaders,
  }
}

async function tree(request: ApiRequest): Promise<ApiReply> {
  const { value } = await request.query(kvList, { ...placeOf(request), ...listArgs(request) })
  const headers = listHeaders(value)
  if (value.empty) return { status: 404, ...headers }
  return { rows: shownPages(value), ...headers }
}

async function names(request: ApiRequest): Promise<ApiReply> {
  const { search } = request
  const place = placeOf(request)
  const separator = search.text('separator') ?? search.text('seperator') ?? ''
  const args = { ...place, ...listArgs(request), separator }
  const { value } = await request.query(kvNames, args)
  const headers = listHeaders(value)
  // Of the whole store an empty list is an answer; of a prefix it says that nothing is there.
  if (value.empty && place.key !== '') return { status: 404, ...headers }
  return { rows: value, ...headers }
}

/** The prefix of a list is the path. */
function listArgs({ search }: ApiRequest) {
  return { filter: search.text('filter') ?? '', ...readPaging(search) }
}

async function write(request: ApiRequest): Promise<ApiReply> {
  const place = placeOf(request)
  checkKey(place.key)
  const { search } = request
  const flags = search.unsigned('flags') ?? 0n
  const content = { ...place, value: request.bytes, flags: flags.toString() }
  return run(request, writeOf(search, content), place)
}

function writeOf(
  search: Search,
  content: KeyPlace & { readonly value: Uint8Array; readonly flags: string },
): Operation {
  const kinds = ['cas', 'acquire', 'release'].filter((name) => search.has(name))
  if (kinds.length > 1) {
    throw new MusterError('invalid_argument', `Conflicting flags: ${kinds.join(' and ')}`)
  }
  const cas = search.unsigned('cas')
  if (cas !== null) return { type: 'cas', ...content, index: clientIndex(cas) }
  const acquire = search.text('acquire')
  if (acquire !== null) return { type: 'lock', ...content, session: sessionOf('acquire', acquire) }
  const release = search.text('release')
  if (release !== null) {
    return { type: 'unlock', ...content, session: sessionOf('release', release) }
  }
  return { type: 'set', ...content }
}

function sessionOf(parameter: string, session: string): string {
  if (session !== '') return sessionText(session)
  throw new MusterError('invalid_argument', `${parameter} names no session`)
}

function remove(request: ApiRequest): Promise<ApiReply> {
  const { search } = request
  const place = placeOf(request)
  const cas = search.unsigned('cas')
  if (search.has('recurse')) {
    if (cas !== null) {
      throw new MusterError('invalid_argument', 'Conflicting flags: recurse and cas')
    }
    return run(request, { type: 'delete-tree', ...place }, place)
  }
  checkKey(place.key)
  const operation: Operation =
    cas === null
      ? { type: 'delete', ...place }
      : { type: 'delete-cas', ...place, index: clientIndex(cas) }
  return run(request, operation, place)
}

async function run(
  request: ApiRequest,
  operation: Operation,
  { namespace }: KeyPlace,
): Promise<ApiReply> {
  const lock = lockOf(request)
  const fence: Fence | null = lock === null ? null : { namespace, ...lock }
  const outcome = await request.call(kvWrite, { operations: [operation], fence })
  if (outcome.type === 'done') return { json: true }
  for (const { refusal } of outcome.refused) throwUnlessFalse(operation, refusal)
  return { json: false }
}

/** A condition that does not hold is the answer `false`; what could never hold is an error. */
function throwUnlessFalse(operation: Operation, { type }: Refusal): void {
  switch (type) {
    case 'stale':
    case 'exists':
    case 'missing':
    case 'lockHeld':
    case 'lockDelay':
    case 'notHeld':
      return
    case 'unknownSession': {
      const session = 'session' in operation ? operation.session.slice(0, 100) : ''
      const text = `invalid session ${JSON.stringify(session)}`
      // Consul's status: one that has ended is no mistake of the request, and Patroni makes another when it is told so.
      throw isUuid(session) ? new HttpRefusal(500, text) : new MusterError('invalid_argument', text)
    }
    case 'tooMuch':
      throw new MusterError(
        'too_large',
        'there are too many keys below this prefix for one deletion: delete below longer prefixes',
      )
    default:
      assertNever(type)
  }
}

function placeOf(request: ApiRequest): KeyPlace {
  return { namespace: request.namespace ?? defaultNamespace, key: request.tail }
}

async function* shownPages(pages: AsyncIterable<readonly ShownEntry[]>) {
  for await (const page of pages) yield page.map(shownEntry)
}
