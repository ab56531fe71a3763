/**
 * Saving an archive, which reads the state where it is asked, and the three steps of a restore, which are commands of
 * the state machine and run at the leader.
 */
import { Type } from 'typebox'
import type { Reader } from '../../fsm/domain.ts'
import { MusterError } from '../../lib/errors.ts'
import {
  defineLeaderMethod,
  defineLocalMethod,
  defineQuery,
  type LeaderContext,
  type Requirement,
} from '../../rpc/method.ts'
import { writeArchive } from './archive.ts'
import { RestoreBegin, RestoreChunk, RestoreCommit } from './model.ts'
import type { RaftControl } from './raft.ts'

/** The rows of one state, in blocks. `fsm/archive.ts` has its form. */
export type RowSource = {
  readonly index: number
  readonly rows: number
  readonly digest: string
  blocks(): AsyncIterable<Uint8Array>
  close(): void
}

export type SnapshotOptions = {
  readonly raft: Pick<RaftControl, 'status'>
  /** `machine.exportRows` */
  readonly exportRows: () => RowSource
  /** Ids of the cluster keys that the state's keyring needs. */
  readonly clusterKeysOf: (reader: Reader) => Promise<readonly string[]>
  /** That the cluster runs at. */
  readonly commandVersion: () => number
  readonly wallMs: () => number
}

type RestoreOutcome =
  { readonly ok: true; readonly rows: number } | { readonly ok: false; readonly reason: string }

export type RestoreStep = { readonly index: number }

/** An archive holds all there is, and who restores one chooses the tokens. */
const everything = (): Requirement => ({ resource: 'acl', access: 'write' })

export type SnapshotMethods = ReturnType<typeof snapshotMethods>

export function snapshotMethods(options: SnapshotOptions) {
  const save = defineQuery({
    kind: 'query',
    name: 'operator.snapshotSave',
    args: Type.Object({}),
    requires: everything,
    query: async (reader) => ({
      value: await archiveOf(options, reader),
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

  const begin = defineLeaderMethod({
    kind: 'leader',
    name: 'operator.restoreBegin',
    args: RestoreBegin,
    requires: everything,
    run: (context, args) => step(context, 'state.restoreBegin', args),
  })

  const chunk = defineLeaderMethod({
    kind: 'leader',
    name: 'operator.restoreChunk',
    args: RestoreChunk,
    requires: everything,
    run: (context, args) => step(context, 'state.restoreChunk', args),
  })

  const commit = defineLeaderMethod({
    kind: 'leader',
    name: 'operator.restoreCommit',
    args: RestoreCommit,
    requires: everything,
    run: (context, args) => step(context, 'state.restoreCommit', args),
  })

  const abort = defineLeaderMethod({
    kind: 'leader',
    name: 'operator.restoreAbort',
    args: RestoreBegin,
    requires: everything,
    run: (context, args) => step(context, 'state.restoreAbort', args),
  })

  return { save, mayRestore, begin, chunk, commit, abort }
}

/** An archive of the newest state there is when its first byte is asked for. */
export async function archiveOf(
  options: SnapshotOptions,
  reader: Reader,
): Promise<AsyncIterable<Uint8Array>> {
  return archive(options, await options.clusterKeysOf(reader))
}

/** Opens the rows when the first byte is asked for, so that an archive nobody reads holds nothing open. */
async function* archive(
  options: SnapshotOptions,
  clusterKeys: readonly string[],
): AsyncGenerator<Uint8Array> {
  const rows = options.exportRows()
  try {
    const { term } = options.raft.status()
    const createdMs = Math.floor(options.wallMs())
    const commandVersion = options.commandVersion()
    const header = { index: rows.index, term, createdMs, commandVersion, clusterKeys }
    yield* writeArchive(header, rows.blocks(), () => ({ rows: rows.rows, digest: rows.digest }))
  } finally {
    rows.close()
  }
}

async function step(context: LeaderContext, type: string, args: object): Promise<RestoreStep> {
  const { index, outcome } = await context.propose({ type, args })
  const result = outcome as RestoreOutcome
  if (!result.ok)
    throw new MusterError('invalid_argument', `the restore was refused: ${result.reason}`)
  return { index }
}
