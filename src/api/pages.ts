/** `per_page` and `next_token` of a list. */
import { MusterError } from '../lib/errors.ts'
import type { Search } from './search.ts'

export type Paging = {
  /** Null: the whole list. */
  readonly perPage: number | null
  /** Where the page before said to go on. */
  readonly nextToken: string | null
}

const int32 = { min: -(2 ** 31), max: 2 ** 31 - 1 }

/** 400 unless `per_page` is a 32-bit integer; absent, empty, 0 and below mean no pages. */
export function readPaging(search: Search): Paging {
  const text = search.text('per_page')
  const nextToken = search.text('next_token')
  let perPage = 0
  if (text !== null && text !== '') {
    perPage = /^[+-]?[0-9]{1,32}$/.test(text) ? Number(text) : NaN
    if (!(perPage >= int32.min && perPage <= int32.max)) {
      throw new MusterError('invalid_argument', 'per_page must be a 32-bit integer')
    }
  }
  return {
    perPage: perPage > 0 ? perPage : null,
    nextToken: nextToken === '' ? null : nextToken,
  }
}
