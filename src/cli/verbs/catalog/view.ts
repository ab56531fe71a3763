/** What the commands about the catalog share. */
import type { FlagTable, Flags } from '../../flags.ts'
import { misused } from '../../flags.ts'
import type { Search } from '../../api/client.ts'

export const catalogFlags: FlagTable = {
  filter: { summary: 'Only what this expression is true of', value: 'EXPRESSION' },
  stale: { summary: 'From the agent asked, even if it lags behind', value: null },
}

export const nodeMetaFlag: FlagTable = {
  'node-meta': { summary: 'Only of nodes with this meta; repeatable', value: 'KEY=VALUE' },
}

export function catalogSearch(flags: Flags): Search {
  return {
    filter: flags.last('filter'),
    stale: flags.has('stale') ? '' : null,
    'node-meta': flags.all('node-meta').map((text) => {
      const cut = text.indexOf('=')
      if (cut < 1) misused(`-node-meta is KEY=VALUE, not ${JSON.stringify(text)}`)
      return `${text.slice(0, cut)}:${text.slice(cut + 1)}`
    }),
  }
}
