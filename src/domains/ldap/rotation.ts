/**
 * Replaces the password of a mount's service account, at the leader. The new password is kept by the cluster before the directory
 * is asked to take it. While it is not known which one the directory has, both are kept and tried, and the next attempt asks for
 * the same new one again: so no loss of a leader or of an answer locks the cluster out.
 */
import { randomInt } from 'node:crypto'
import { MusterError, textOf } from '../../lib/errors.ts'
import type { LeaderContext } from '../../rpc/method.ts'
import { openSecret, sealSecret } from '../logins/secrets.ts'
import type { Budget } from './budget.ts'
import { beginRotation, endRotation } from './commands.ts'
import type { DirectoryConnection } from './connection.ts'
import { Directory, invalidCredentials } from './directory.ts'
import { DirectoryError } from './directory-error.ts'
import { settingsOf } from './directories.ts'
import { isActiveDirectory } from './groups.ts'
import { bindpassOwner, nextBindpassOwner, type ConfigRow } from './model.ts'
import { configOf } from './queries.ts'

export type RotationContext = Pick<
  LeaderContext,
  'read' | 'propose' | 'service' | 'clock' | 'signal' | 'log'
>

/** For everything that one attempt asks of the directory. */
const attemptMsMax = 30_000

const lower = 'abcdefghijkmnopqrstuvwxyz'
const upper = 'ABCDEFGHJKLMNPQRSTUVWXYZ'
const digits = '23456789'
const signs = '-_.~'
const newPasswordLength = 40

/** Rejects with `invalid_argument` (also where the directory refuses), `conflict`, or `outcome_unknown`: then it goes on later. */
export async function rotatePassword(context: RotationContext, mountId: string): Promise<void> {
  const before = rotatable(configOf(context.read(), mountId))
  const isNew = before.pendingRotation === null
  const row = isNew ? await begin(context, before) : before
  const next = openSecret(context, nextBindpassOwner(mountId))
  const current = openSecret(context, bindpassOwner(mountId))
  if (next === null || current === null || row.pendingRotation === null) {
    throw new MusterError('conflict', 'the configuration was changed meanwhile')
  }
  const directory = new Directory(settingsOf(context, row), context.clock)
  const { clock, signal } = context
  const budget = { clock, signal, deadlineMs: clock.monotonicMs() + attemptMsMax }
  const progress = { asked: false }
  try {
    const connection = await directory.connect(budget)
    try {
      await replace(connection, row.config.binddn, { current, next, isNew }, budget, progress)
    } finally {
      connection.close()
    }
  } catch (error) {
    // What was never asked for, or never before and is refused now, is not in force.
    const isRefusal = error instanceof DirectoryError && error.kind === 'refused'
    const isKnown = isNew && (isRefusal || !progress.asked)
    if (isKnown) await end(context, row, null)
    const code = isKnown ? 'invalid_argument' : 'outcome_unknown'
    throw new MusterError(code, `the password was not replaced: ${textOf(error)}`)
  } finally {
    directory.close()
  }
  await end(context, row, next)
  context.log.info('the password of a service account was replaced', { binddn: row.config.binddn })
}

function rotatable(row: ConfigRow | null): ConfigRow {
  if (row === null || row.config.binddn === '' || !row.hasBindpass) {
    throw new MusterError('invalid_argument', 'binddn and bindpass must be set to be rotated')
  }
  return row
}

async function begin(context: RotationContext, { mountId, modifyIndex }: ConfigRow) {
  const next = await sealSecret(context, nextBindpassOwner(mountId), newPassword())
  const { outcome } = await context.propose(beginRotation, { mountId, modifyIndex, next })
  const row = configOf(context.read(), mountId)
  if (outcome !== 'begun' || row === null) {
    throw new MusterError('conflict', 'the configuration was changed meanwhile')
  }
  return row
}

/** `next` null: the old one stays. */
async function end(context: RotationContext, row: ConfigRow, next: string | null): Promise<void> {
  const { mountId, pendingRotation } = row
  if (pendingRotation === null) return
  const bindpass = next === null ? null : await sealSecret(context, bindpassOwner(mountId), next)
  const nowMs = Math.floor(context.clock.wallMs())
  const { outcome } = await context.propose(endRotation, {
    mountId,
    pendingRotation,
    bindpass,
    nowMs,
  })
  if (outcome === 'ended') return
  throw new MusterError('conflict', 'the configuration was changed meanwhile')
}

type Passwords = { readonly current: string; readonly next: string; readonly isNew: boolean }

/** Resolves when the directory has the next one. */
async function replace(
  connection: DirectoryConnection,
  binddn: string,
  { current, next, isNew }: Passwords,
  budget: Budget,
  progress: { asked: boolean },
): Promise<void> {
  if (!isNew && (await binds(connection, binddn, next, budget))) return
  await connection.bind(binddn, current, budget)
  const isActive = await isActiveDirectory(connection, budget)
  progress.asked = true
  if (isActive) {
    await connection.replacePassword(
      binddn,
      'unicodePwd',
      Buffer.from(`"${next}"`, 'utf16le'),
      budget,
    )
  } else await connection.replacePassword(binddn, 'userPassword', next, budget)
}

async function binds(
  connection: DirectoryConnection,
  binddn: string,
  password: string,
  budget: Budget,
): Promise<boolean> {
  try {
    await connection.bind(binddn, password, budget)
    return true
  } catch (error) {
    const isWrong = error instanceof DirectoryError && error.resultCode === invalidCredentials
    if (isWrong) return false
    throw error
  }
}

/** Of every kind of character that a directory may ask for. */
function newPassword(): string {
  const draw = (from: string): string => from.charAt(randomInt(from.length))
  const characters = [lower, upper, digits, signs].map(draw)
  while (characters.length < newPasswordLength)
    characters.push(draw(lower + upper + digits + signs))
  for (let at = characters.length - 1; at > 0; at -= 1) {
    const other = randomInt(at + 1)
    const here = characters[at] ?? ''
    characters[at] = characters[other] ?? ''
    characters[other] = here
  }
  return characters.join('')
}
