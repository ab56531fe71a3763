/** Whether the schemas of tables take the rows that commands wrote. */
import { domains } from '../../src/domains/registry.ts'
import { unpack } from '../../src/fsm/codec.ts'
import type { Machine } from '../../src/fsm/machine.ts'
import { tablesOf } from '../../src/fsm/reactions.ts'
import { decodeBlock } from '../../src/fsm/restore.ts'
import { Tables } from '../../src/fsm/table.ts'

export const tables = new Tables(tablesOf(domains))

export const tableNames = domains.flatMap((domain) => domain.tables.map(({ name }) => name))

export type SweptRows = {
  /** A line for each row that is not as its table's schema says. */
  readonly faults: readonly string[]
  /** Tables that have rows. */
  readonly seen: ReadonlySet<string>
}

/** All rows that an archive of this machine would hold. `all`: the tables that there are, if not a server's. */
export async function sweepRows(machine: Machine, all = tables): Promise<SweptRows> {
  const faults: string[] = []
  const seen = new Set<string>()
  const source = machine.exportRows()
  try {
    for await (const block of source.blocks()) {
      const rows = decodeBlock(block)
      if (typeof rows === 'string') throw new Error(rows)
      for (const { key, value } of rows) {
        const bound = all.ofRowKey(key)
        if (bound === undefined) throw new Error(`no table has the row ${JSON.stringify(key)}`)
        seen.add(bound.name)
        const fault = bound.faultOf(unpack(value))
        if (fault !== null) faults.push(`${bound.name}: ${fault}`)
      }
    }
  } finally {
    source.close()
  }
  return { faults, seen }
}
