/**
 * Saving an archive, which reads the state where it is asked, and the three steps of a restore, which are commands of
 * the state machine and run at the leader.
 */
import { Type, type Static, type TSchema } from 'typebox'
import { proposable, type Reader } from '../../fsm/domain.ts'
import { MusterError } from '../../lib/errors.ts'
import {
  defineLeaderMethod,
  defineLocalMethod,
  defineQuery,
  type Requirement,
} from '../../rpc/method.ts'
import type { Services } from '../../rpc/services.ts'
import { clusterKeyring } from '../variables/services.ts'
import { writeArchive } from './archive.ts'
import { RestoreBegin, RestoreChunk, RestoreCommit } from './model.ts'
import type { RestoreStep } from './restore.ts'
import { archiving, raftControl } from './services.ts'

type RestoreOutcome =
  | { readonly ok: true; readonly rows: number }
  | { readonly ok: false; readonly reason: string }

/** An archive holds all there is, and who restores one chooses the tokens. */
const everything = (): Requirement => ({ resource: 'acl', access: 'write' })

const save = defineQuery({
  kind: 'query',
  name: 'operator.snapshotSave',
  args: Type.Object({}),
  requires: everything,
  query: async (reader, _args, { service }) => ({
    value: await archiveOf(service, reader),
    index: reader.appliedIndex,
  }),
})

/** Asked before the archive is taken in: who may not restore shall not fill the disk either. */
const mayRestore = defineLocalMethod({
  kind: 'local',
  name: 'operator.mayRestore',
  args: Type.Object({}),
  requires: everything,
  run: async () => null,
})

const begin = restoreStep('restoreBegin', RestoreBegin)
const chunk = restoreStep('restoreChunk', RestoreChunk)
const commit = restoreStep('restoreCommit', RestoreCommit)
const abort = restoreStep('restoreAbort', RestoreBegin)

export const snapshotMethods = { save, mayRestore, begin, chunk, commit, abort }

/** An archive of the newest state there is when its first byte is asked for. */
export async function archiveOf(
  service: Services['get'],
  reader: Reader,
): Promise<AsyncIterable<Uint8Array>> {
  return archive(service, await service(clusterKeyring).needed(reader))
}

/** Opens the rows when the first byte is asked for, so that an archive nobody reads holds nothing open. */
async function* archive(
  service: Services['get'],
  clusterKeys: readonly string[],
): AsyncGenerator<Uint8Array> {
  const { exportRows, wallMs, ...source } = service(archiving)
  const rows = exportRows()
  try {
    const { term } = service(raftControl).status()
    const createdMs = Math.floor(wallMs())
    const commandVersion = source.commandVersion()
    const header = { index: rows.index, term, createdMs, commandVersion, clusterKeys }
    yield* writeArchive(header, rows.blocks(), () => ({ rows: rows.rows, digest: rows.digest }))
  } finally {
    rows.close()
  }
}

/** The method `operator.<name>`, which proposes the command `state.<name>` of the state machine. */
function restoreStep<Args extends TSchema>(name: string, args: Args) {
  const command = proposable<Static<Args>, RestoreOutcome>(`state.${name}`)
  return defineLeaderMethod({
    kind: 'leader',
    name: `operator.${name}`,
    args,
    requires: everything,
    run: async (context, given): Promise<RestoreStep> => {
      const { index, outcome } = await context.propose(command, given)
      if (!outcome.ok)
        throw new MusterError('invalid_argument', `the restore was refused: ${outcome.reason}`)
      return { index }
    },
  })
}
