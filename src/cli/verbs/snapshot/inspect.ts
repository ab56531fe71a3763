/** `muster operator snapshot inspect`: of the file alone, no agent is asked. */
import { createReadStream } from 'node:fs'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { formatBytes, Progress } from '../../print/progress.ts'
import { pairs } from '../../print/table.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'
import { fileFailure, verifyArchive } from './archive-file.ts'

export const snapshotInspect: Verb = {
  operands: oneOperand('FILE|-'),
  about: `
Verifies a snapshot to its last byte and says what it is of. No agent is asked.
`,
  flags: formatFlags,
  async run(call) {
    formatOf(call.flags)
    const { operands, terminal } = call
    const [path = ''] = operands
    const progress = new Progress(terminal, 'Reading', null)
    const source = path === '-' ? terminal.input() : createReadStream(path)
    const archive = await verifyArchive(progress.watch(source)).catch((error: unknown) => {
      throw fileFailure(path, error)
    })
    const created = new Date(archive.createdMs).toISOString()
    const value = {
      Created: created,
      Version: archive.version,
      Index: archive.index,
      Term: archive.term,
      Rows: archive.rows,
      Bytes: progress.bytes,
      ClusterKeys: archive.clusterKeys,
    }
    await show(call, value, (style) =>
      pairs([
        ['Created', created],
        ['Version', String(archive.version)],
        ['Index', String(archive.index)],
        ['Term', String(archive.term)],
        ['Rows', String(archive.rows)],
        ['Size', formatBytes(progress.bytes)],
        ['Cluster keys', archive.clusterKeys.join(', ') || '<none>'],
        ['Checksum', { text: 'verified', paint: style.good }],
      ]),
    )
    return exits.ok
  },
}
