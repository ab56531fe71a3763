/** Lists that show names alone, with the pages, the prefix and the filter of every list. */
import type { Key } from '../fsm/domain.ts'
import { FilterCompiler } from './filter/filter.ts'
import { onePage, type Listed, type PageArgs, type Scan } from './list.ts'
import type { QueryContext } from './method.ts'

const filters = new FilterCompiler({ Name: 'string' })
const textBytesPerName = 64

export type NamesArgs = PageArgs & { readonly prefix: string; readonly filter: string }

export type Names<Row> = Pick<Scan<Row, never>, 'pages'> & {
  /** `pages` come in the order of these, as `Order` says. */
  readonly keyOf: (row: Row) => Key
  readonly nameOf: (row: Row) => string
}

export async function pageOfNames<Row>(
  context: Pick<QueryContext, 'may' | 'signal'>,
  { prefix, filter, ...page }: NamesArgs,
  { pages, keyOf, nameOf }: Names<Row>,
): Promise<Listed<string>> {
  const { rows, ...more } = await onePage(context, page, {
    pages,
    keyOf,
    show: (row) => {
      const name = nameOf(row)
      return name.startsWith(prefix) ? { Name: name } : null
    },
    filter: filters.compile(filter),
    recordBytes: textBytesPerName,
  })
  return { rows: rows.map(({ Name }) => Name), ...more }
}
