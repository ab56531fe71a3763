/** The archive of a state, as an operator would have saved it. */
import { writeArchive } from '../../src/domains/operator/archive.ts'
import { commandVersion } from '../../src/fsm/codec.ts'
import type { Machine } from '../../src/fsm/machine.ts'

/** Its pieces: of a large state they come to more than a buffer should hold. */
export async function archiveOf(machine: Machine): Promise<readonly Buffer[]> {
  const rows = machine.exportRows()
  const header = { index: rows.index, term: 1, createdMs: 0, commandVersion, clusterKeys: [] }
  const end = () => ({ rows: rows.rows, digest: rows.digest })
  const archive: Buffer[] = []
  for await (const piece of writeArchive(header, rows.blocks(), end)) {
    archive.push(Buffer.from(piece))
  }
  rows.close()
  return archive
}
