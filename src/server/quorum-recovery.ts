/**
 * Lost quorum: makes the servers an operator names a cluster of their own, in the data folder of one that is stopped.
 * The log gets another configuration and keeps everything else (`raft/core/succession.ts` says why that is safe).
 *
 * Invariant: until the one record that `perform` writes is durable the server is what it was; nothing is written before.
 */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { domains } from '../domains/registry.ts'
import { clusterKeyFileName } from '../domains/variables/cluster-key.ts'
import { openMachine } from '../fsm/machine.ts'
import { systemClock } from '../lib/clock.ts'
import { MusterError } from '../lib/errors.ts'
import { silentLogger } from '../lib/log.ts'
import type { Configuration, Member } from '../raft/core/message.ts'
import { decodeConfiguration } from '../raft/raft.ts'
import {
  logAndState,
  readStoppedLog,
  successorOf,
  writeSuccessor,
} from '../raft/quorum-recovery.ts'
import type { RecoveredLog } from '../raft/storage/log-store.ts'
import { readIdentity } from '../runtime/identity.ts'
import { membersNamed, parsePeersFile, successorId } from './quorum-recovery-peers.ts'

/** The servers of the new configuration: this one alone, or those of a file. */
export type Survivors =
  | { readonly type: 'self' }
  | { readonly type: 'file'; readonly path: string; readonly text: string }

export type RecoveryPlan = {
  readonly serverId: string
  readonly before: Configuration
  readonly after: Configuration
  /** The log has the new configuration already and no leader since: there is nothing to do. */
  readonly isDone: boolean
  readonly lastIndex: number
  readonly lastTerm: number
  /** Known to be committed at least up to here; what follows is kept, and nobody can tell any more if it was. */
  readonly provenIndex: number
  /** Whether a cluster key is in the folder. */
  readonly holdsClusterKey: boolean
}

/**
 * Reads log and state of a data folder that the caller holds the lock of. The log is not written to.
 * Throws `not_found` when no server had the folder, `invalid_argument` for the survivors, and what a start would throw:
 * `corrupt`, `incompatible`, `unavailable`.
 */
export async function planRecovery(
  dataFolder: string,
  survivors: Survivors,
): Promise<RecoveryPlan> {
  const identity = await readIdentity(dataFolder, 'server')
  if (identity === null || !(await exists(join(dataFolder, 'raft')))) {
    throw new MusterError('not_found', `${dataFolder} is not the data folder of a server`)
  }
  const serverId = identity.id
  const { recovered, configuration: before } = await readStoppedLog(join(dataFolder, 'raft'))
  if (before.clusterId === '') {
    throw new MusterError(
      'conflict',
      `the server of ${dataFolder} never was in a cluster, so there is none to recover`,
    )
  }
  const members = membersOf(survivors, before, serverId)
  const isDone = before.succession?.beginsAt === 0 && sameMembers(before.members, members)
  const after = isDone ? before : successorOf(before, successorId(before, members), members)
  return {
    serverId,
    before,
    after,
    isDone,
    ...(await positions(dataFolder, recovered)),
    holdsClusterKey: await exists(join(dataFolder, clusterKeyFileName)),
  }
}

/** Does what the plan says; durable, with the whole log before or after it, when it resolves. */
export async function performRecovery(dataFolder: string, plan: RecoveryPlan): Promise<void> {
  if (!plan.isDone) await writeSuccessor(join(dataFolder, 'raft'), plan.after)
}

function membersOf(survivors: Survivors, before: Configuration, id: string): readonly Member[] {
  if (survivors.type === 'file') {
    const { path, text } = survivors
    return membersNamed(parsePeersFile(text, path), before, id, path)
  }
  const self = before.members.find((member) => member.id === id)
  if (self !== undefined) return [{ ...self, role: 'voter' }]
  throw new MusterError(
    'conflict',
    `this server, ${id}, is no member of its cluster any more, so its data may be old; to recover it all the same name it in a file of peers`,
  )
}

function sameMembers(left: readonly Member[], right: readonly Member[]): boolean {
  const text = (members: readonly Member[]) =>
    members.map(({ id, name, address, role }) => `${id} ${name} ${address} ${role}`).toSorted()
  return text(left).join('\n') === text(right).join('\n')
}

type Positions = Pick<RecoveryPlan, 'lastIndex' | 'lastTerm' | 'provenIndex'>

async function positions(dataFolder: string, recovered: RecoveredLog): Promise<Positions> {
  const machine = await openMachine({
    folder: join(dataFolder, 'state'),
    domains,
    decodeConfiguration,
    clock: systemClock,
    logger: silentLogger,
  })
  try {
    const { appliedIndex } = machine
    if ((await logAndState(recovered, machine)) === 'installed') {
      const { term } = await machine.flush()
      return { lastIndex: appliedIndex, lastTerm: term, provenIndex: appliedIndex }
    }
    const { snapshot, termRuns, hardState, lastIndex } = recovered
    const lastTerm = termRuns.at(-1)?.term ?? snapshot.term
    return { lastIndex, lastTerm, provenIndex: Math.max(appliedIndex, hardState.commitIndex) }
  } finally {
    await machine.close()
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
