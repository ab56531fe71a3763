/** `muster operator snapshot restore`. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { integerOf, objectOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { Progress } from '../../print/progress.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'
import { fileFailure, verifyArchive } from './archive-file.ts'

export const snapshotRestore: Verb = {
  operands: oneOperand('FILE|-'),
  about: `
Replaces the cluster's whole state by the snapshot's, verified before anything changes. The servers
must hold the cluster key of the time when it was saved. Members of the cluster stay as they are.
`,
  flags: connectionFlags,
  async run(call) {
    const { operands, terminal } = call
    const [path = ''] = operands
    const client = await ApiClient.open(call)
    const size = path === '-' ? null : await verifiedSize(path)
    const progress = new Progress(terminal, 'Restoring', size)
    const source = path === '-' ? terminal.input() : createReadStream(path)
    const answer = objectOf(
      await client.upload('/v1/operator/snapshot', {}, progress.watch(source)),
    )
    const rows = integerOf(answer, 'Rows')
    terminal.out(`Snapshot restored: ${rows} rows at index ${integerOf(answer, 'Index')}\n`)
    return exits.ok
  },
}

/** Bytes. What is damaged is not even sent. */
async function verifiedSize(path: string): Promise<number> {
  try {
    await verifyArchive(createReadStream(path))
    return (await stat(path)).size
  } catch (error) {
    throw fileFailure(path, error)
  }
}
