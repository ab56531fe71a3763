/**
 * `muster operator snapshot save`: the file appears under its name once it is whole, verified and on the disk. What goes to the standard
 * output is verified on its way: the exit code says whether it is whole.
 */
import { lstat, open, rename, rm } from 'node:fs/promises'
import { MusterError } from '../../../lib/errors.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { formatBytes, Progress } from '../../print/progress.ts'
import { exits, type Terminal, type Verb } from '../../verb.ts'
import { fileFailure, verifyArchive, type ArchiveSummary } from './archive-file.ts'

const outputGone = 'the standard output takes no more: what it got is no whole snapshot'

export const snapshotSave: Verb = {
  operands: { usage: '[FILE|-]', countMin: 0, countMax: 1 },
  about: `
Saves the whole state and verifies it. Without FILE the name is muster-<time>.snap. An existing file
is never overwritten; - is the standard output. Variables in it are sealed: keep the cluster key
too, and elsewhere.
`,
  flags: {
    stale: { summary: 'From the agent asked, also when there is no leader', value: null },
    ...connectionFlags,
  },
  async run(call) {
    const { flags, operands, terminal } = call
    const stamp = new Date(terminal.nowMs()).toISOString().replaceAll(/[-:]|\.\d+/g, '')
    const path = operands[0] ?? `muster-${stamp}.snap`
    const toOutput = path === '-'
    if (!toOutput && (await exists(path))) {
      throw new MusterError(
        'invalid_argument',
        `${path} exists; name another file, or move it away`,
      )
    }
    const client = await ApiClient.open(call)
    const progress = new Progress(terminal, 'Saving', null)
    const body = await client.download('/v1/operator/snapshot', {
      stale: flags.has('stale') ? '' : null,
    })
    const source = progress.watch(body)
    const { rows, index } = toOutput ? await show(terminal, source) : await keep(path, source)
    const where = toOutput ? 'the standard output' : path
    const said = `Snapshot written to ${where}: ${formatBytes(progress.bytes)}, ${rows} rows at index ${index}, verified\n`
    if (toOutput) terminal.err(said)
    else terminal.out(said)
    return exits.ok
  },
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}

async function show(terminal: Terminal, body: AsyncIterable<Uint8Array>): Promise<ArchiveSummary> {
  const shown = async function* () {
    for await (const chunk of body) {
      terminal.out(chunk)
      await terminal.flushed()
      // Whoever read it has only a part.
      if (terminal.outIsGone()) throw new MusterError('unavailable', outputGone)
      yield chunk
    }
  }
  return verifyArchive(shown())
}

async function keep(path: string, body: AsyncIterable<Uint8Array>): Promise<ArchiveSummary> {
  const unverified = `${path}.unverified`
  try {
    const file = await open(unverified, 'w', 0o600)
    let summary: ArchiveSummary
    try {
      await file.chmod(0o600)
      const written = async function* () {
        for await (const chunk of body) {
          await file.writeFile(chunk)
          yield chunk
        }
      }
      summary = await verifyArchive(written())
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(unverified, path)
    return summary
  } catch (error) {
    await rm(unverified, { force: true }).catch(() => {})
    throw fileFailure(path, error)
  }
}
