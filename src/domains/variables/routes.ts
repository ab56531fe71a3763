/** `/v1/vars` and `/v1/var/*`: shapes of HTTP to methods and back. */
import { nanoseconds } from '../../lib/date-text.ts'
import { Type } from 'typebox'
import { encodeJson } from '../../api/json.ts'
import { lockOf } from '../../api/lock-condition.ts'
import { oneNamespace } from '../../api/one-namespace.ts'
import { readPaging } from '../../api/pages.ts'
import type { ApiReply, ApiRequest, DescribedRoute } from '../../api/route.ts'
import {
  blocking,
  count,
  flag,
  listing,
  inNamespace,
  jsonType,
  locked,
  ok,
  optionally,
  text,
} from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
import { variableBodyBytesMax, type Refused, type Variable, variableMethods } from './methods.ts'
import { casIndex, checkPath, defaultNamespace, type Items, type VariableRow } from './model.ts'
import {
  Conflict as ConflictShape,
  Deleted,
  Variable as VariableShape,
  VariableBody,
  VariableStub,
} from './shapes.ts'

const list = async (request: ApiRequest): Promise<ApiReply> => {
  const { perPage, nextToken } = readPaging(request.search)
  const range = {
    namespace: request.namespace ?? defaultNamespace,
    prefix: request.search.text('prefix') ?? '',
    filter: request.search.text('filter') ?? '',
    nextToken,
  }
  if (perPage === null) {
    const { value } = await request.query(variableMethods.list, range)
    return { rows: shownPages(value) }
  }
  const { value } = await request.query(variableMethods.page, { ...range, perPage })
  return { jsonOf: () => value.rows.map(shown), nextToken: value.nextToken }
}

const read = async (request: ApiRequest): Promise<ApiReply> => {
  const namespace = oneNamespace(request.namespace)
  const { value } = await request.query(variableMethods.read, { namespace, path: pathOf(request) })
  return value === null
    ? { status: 404, text: 'variable not found' }
    : { encoded: encodedOf(value) }
}

/** Nomad's locks of variables. Reading such a request as a plain write would let its sender believe that it holds one. */
const lockOperations = ['lock-acquire', 'lock-renew', 'lock-release'] as const

function refuseLockOperations(request: ApiRequest): void {
  if (!lockOperations.some((name) => request.search.has(name))) return
  throw new MusterError(
    'not_implemented',
    'variables have no locks of their own; hold one by a session at /v1/kv, and write with lock and lock_index',
  )
}

const put = async (request: ApiRequest): Promise<ApiReply> => {
  refuseLockOperations(request)
  const path = pathOf(request)
  const cas = casOf(request)
  const fields = request.fields()
  // What servers set is theirs: its values here are not looked at. The path of the URL wins, but a path of another type is a mistake.
  fields.text('Path')
  const sent = fields.text('Namespace') || null
  const namespace = oneNamespace(request.namespace ?? sent)
  const items = fields.textPairs('Items', 'refused')
  if (items === undefined || items.length === 0) {
    throw new MusterError('invalid_argument', 'Items must be an object with at least one entry')
  }
  const pairs = items.map(([key, value]): [string, string] => [key, value])
  const fence = fenceOf(request, namespace)
  const result = await request.call(variableMethods.put, {
    namespace,
    path,
    items: pairs,
    cas,
    fence,
  })
  return result.type === 'written'
    ? { json: withItems(result.row, stored(pairs)), index: result.row.modifyIndex }
    : conflict(result, { namespace, path })
}

const remove = async (request: ApiRequest): Promise<ApiReply> => {
  const place = { namespace: oneNamespace(request.namespace), path: pathOf(request) }
  const fence = fenceOf(request, place.namespace)
  const result = await request.call(variableMethods.remove, {
    ...place,
    cas: casOf(request),
    fence,
  })
  return result.type === 'deleted'
    ? { json: { Index: result.index }, index: result.index }
    : conflict(result, place)
}

const ofVariable = { '*': text('Path of the variable, slashes included') }
const cas = optionally({
  cas: count('ModifyIndex that the variable must have; 0: it must not exist'),
})

const ownLocks = optionally({
  'lock-acquire': flag('Answered with 501: variables have no locks of their own'),
  'lock-renew': flag('As `lock-acquire`'),
  'lock-release': flag('As `lock-acquire`'),
})

export const variableRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: '/v1/vars',
    summary: 'List variables, without their items',
    permission: 'filtered',
    query: { ...blocking, ...inNamespace, ...listing },
    reply: ok(Type.Array(VariableStub)),
    example: { url: '/v1/vars?prefix=app/' },
    handle: list,
  },
  {
    method: 'GET',
    path: '/v1/var/*',
    summary: 'Read a variable',
    permission: 'variables:read',
    params: ofVariable,
    query: { ...blocking, ...inNamespace },
    reply: ok(VariableShape),
    errors: ['not_found'],
    example: { url: '/v1/var/app/db' },
    handle: read,
  },
  {
    method: 'PUT',
    path: '/v1/var/*',
    summary: 'Write a variable',
    permission: 'variables:write',
    params: ofVariable,
    query: { ...inNamespace, ...locked, ...cas, ...ownLocks },
    bodySchema: VariableBody,
    reply: { 200: { [jsonType]: VariableShape }, 409: { [jsonType]: ConflictShape } },
    errors: ['conflict'],
    example: { url: '/v1/var/app/db?cas=0', body: { Items: { user: 'shop', password: 'secret' } } },
    bodyBytesMax: variableBodyBytesMax,
    atLeast: [{ resource: 'variables', access: 'write' }],
    handle: put,
  },
  {
    method: 'DELETE',
    path: '/v1/var/*',
    summary: 'Delete a variable',
    permission: 'variables:destroy',
    params: ofVariable,
    query: { ...inNamespace, ...locked, ...cas },
    reply: { 200: { [jsonType]: Deleted }, 409: { [jsonType]: ConflictShape } },
    errors: ['conflict'],
    example: { url: '/v1/var/app/db' },
    handle: remove,
  },
]

function pathOf(request: ApiRequest): string {
  checkPath(request.tail)
  return request.tail
}

function casOf(request: ApiRequest): number | null {
  const cas = request.search.unsigned('cas')
  return cas === null ? null : casIndex(cas)
}

/** A lock is a key of the same namespace. */
function fenceOf(request: ApiRequest, namespace: string) {
  const lock = lockOf(request)
  return lock === null ? null : { namespace, ...lock }
}

/** As reading would show them. */
function stored(items: Items): Items {
  return items.map(([key, value]) => [key.toWellFormed(), value.toWellFormed()])
}

function conflict(
  { row, items, index }: Refused,
  place: { readonly namespace: string; readonly path: string },
): ApiReply {
  const none = { createIndex: 0, modifyIndex: 0, createTimeMs: 0, modifyTimeMs: 0 }
  const present = row ?? { ...place, ...none }
  return {
    status: 409,
    json: items === null ? shown(present) : withItems(present, items),
    index,
  }
}

async function* shownPages(pages: AsyncIterable<readonly VariableRow[]>) {
  for await (const page of pages) yield page.map(shown)
}

function shown(row: VariableRow) {
  return {
    Namespace: row.namespace,
    Path: row.path,
    CreateIndex: row.createIndex,
    CreateTime: nanoseconds(row.createTimeMs),
    ModifyIndex: row.modifyIndex,
    ModifyTime: nanoseconds(row.modifyTimeMs),
  }
}

/** By their items, which are the same for as long as the state keeps the very row: so what many read is written once. */
const written = new WeakMap<Items, { readonly row: VariableRow; readonly text: string }>()

function encodedOf({ row, items }: Variable): string {
  const known = written.get(items)
  if (known?.row === row) return known.text
  const text = encodeJson(withItems(row, items), false)
  written.set(items, { row, text })
  return text
}

function withItems(row: VariableRow, items: Items) {
  // Object.fromEntries defines members, so `__proto__` becomes one of them.
  return { ...shown(row), Items: Object.fromEntries(items) }
}
