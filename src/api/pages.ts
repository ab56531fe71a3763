/** What every list takes in the query string, and how it is answered. */
import { MusterError } from '../lib/errors.ts'
import type { Listed } from '../rpc/list.ts'
import type { ApiReply } from './route.ts'
import type { Search } from './search.ts'

export type Paging = {
  /** Null: the whole list. */
  readonly perPage: number | null
  /** Where the page before said to go on. */
  readonly nextToken: string | null
}

/** `prefix`, `filter`, `per_page` and `next_token`. */
export function pageOf({ search }: { readonly search: Search }) {
  return {
    prefix: search.text('prefix') ?? '',
    filter: search.text('filter') ?? '',
    ...readPaging(search),
  }
}

/** As `pageOf`, of lists that Nomad shows backwards on demand. They come in the order of their ids here, of which the reverse says nothing. */
export function forwardPageOf({ search }: { readonly search: Search }) {
  if (search.boolean('reverse')) {
    const text =
      'reverse=true is not supported: lists come in the order of their ids; leave it out and sort by CreateIndex'
    throw new MusterError('invalid_argument', text)
  }
  return pageOf({ search })
}

/** `show`: of each row. */
export function listReply<Row>(listed: Listed<Row>, show: (row: Row) => unknown = same): ApiReply {
  return { jsonOf: () => listed.rows.map((row) => show(row)), ...listHeaders(listed) }
}

/** Beside the body of a list. */
export function listHeaders({ filtered, nextToken }: Omit<Listed<never>, 'rows'>) {
  return { nextToken, filtered }
}

function same<Row>(row: Row): Row {
  return row
}

const int32 = { min: -(2 ** 31), max: 2 ** 31 - 1 }

/** 400 unless `per_page` is a 32-bit integer; absent, empty, 0 and below mean no pages. */
export function readPaging(search: Search): Paging {
  const nextToken = search.text('next_token')
  const perPage = search.integer('per_page', int32) ?? 0
  return {
    perPage: perPage > 0 ? perPage : null,
    nextToken: nextToken === '' ? null : nextToken,
  }
}
