/** The allocation that a command is about: by its whole id or the front of it. */
import { textOf } from '../../api/answer.ts'
import type { ApiClient } from '../../api/client.ts'
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
