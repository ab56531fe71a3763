/** The allocation that a command is about: by its whole id or the front of it. */
import { listOf, objectOf, textOf } from '../../api/answer.ts'
import type { ApiClient } from '../../api/client.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import { MusterError } from '../../../lib/errors.ts'
import { findId } from '../../ids.ts'

export function findAllocation(client: ApiClient, given: string): Promise<string> {
  return findId(client, given, {
    what: 'allocation',
    path: '/v1/allocations',
    search: { namespace: client.settings.namespace },
    nameOf: (row) => textOf(row, 'Name'),
  })
}

export function allocationPath(id: string, tail = ''): string {
  return `/v1/allocation/${encodeURIComponent(id)}${tail}`
}

/** What its agent is asked. */
export function clientPath(id: string, tail: string): string {
  return `/v1/client/allocation/${encodeURIComponent(id)}${tail}`
}

/** Throws where it has several. */
export function onlyTask(allocation: JsonObject): string {
  const group = listOf(objectOf(allocation['Job'])['TaskGroups'])
    .map(objectOf)
    .find((one) => textOf(one, 'Name') === textOf(allocation, 'TaskGroup'))
  const names =
    group === undefined ? [] : listOf(group['Tasks']).map((one) => textOf(objectOf(one), 'Name'))
  const [first] = names
  if (first !== undefined && names.length === 1) return first
  throw new MusterError('invalid_argument', `name one of its tasks: ${names.join(', ')}`)
}
