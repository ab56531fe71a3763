/** Changes of mounts, and the entry that makes a login's token. */
import { Type } from 'typebox'
import type { Applied, Change } from '../../fsm/domain.ts'
import { happened } from '../../fsm/fact.ts'
import { mountGone } from '../acl/fact-model.ts'
import { applyIssuedToken, freeToken, type IssuedTokenOutcome } from '../acl/issued-commands.ts'
import { IssuedToken } from '../acl/model.ts'
import { applyIdentity, loadIdentity, type IdentifyOutcome } from '../entities/commands.ts'
import { entitiesVersion, Identity } from '../entities/model.ts'
import { commandsByType, defineCommand, put, remove, replace, TimeMs } from '../define.ts'
import {
  firstMounts,
  Lockout,
  mountsMax,
  mountsVersion,
  MountId,
  MountPath,
  MountRow,
  MountSettings,
  pathsOverlap,
} from './model.ts'
import { allMounts, mountStands } from './queries.ts'
import { SealedSecret } from './secrets-model.ts'
import { insertSecret } from './secrets-table.ts'
import { mountRows } from './table.ts'

const Enable = Type.Object({
  path: MountPath,
  id: MountId,
  type: MountRow.properties.type,
  accessor: MountRow.properties.accessor,
  ...MountSettings.properties,
})

export type EnableOutcome =
  | { readonly type: 'enabled'; readonly row: MountRow }
  /** By the mount at this path, which is the same or lies above or below. */
  | { readonly type: 'taken'; readonly path: string }
  | { readonly type: 'full' }

export const enableMount = defineCommand({
  type: 'logins.enable',
  since: mountsVersion,
  args: Enable,
  load: (reader) => allMounts(reader),
  apply: ({ index }, args, mounts) => {
    const refuse = (outcome: EnableOutcome) => ({ changes: [], outcome })
    const other = mounts.find(({ path }) => pathsOverlap(path, args.path))
    if (other !== undefined) return refuse({ type: 'taken', path: other.path })
    if (mounts.length >= mountsMax) return refuse({ type: 'full' })
    const row: MountRow = { ...args, createIndex: index, modifyIndex: index }
    const outcome: EnableOutcome = { type: 'enabled', row }
    return { changes: [put(mountRows, row)], outcome }
  },
})

const Disable = Type.Object({ path: MountPath, nowMs: TimeMs })

export type DisableOutcome = { readonly existed: boolean }

/** Whatever was written for it and whatever it issued ends in this entry. */
export const disableMount = defineCommand({
  type: 'logins.disable',
  since: mountsVersion,
  args: Disable,
  load: async (reader, { path }) => (await allMounts(reader)).find((mount) => mount.path === path),
  apply: ({ index }, { nowMs }, mount): Applied<DisableOutcome> => {
    if (mount === undefined) return { changes: [], outcome: { existed: false } }
    const { id } = mount
    // Without a row it would be there again.
    const isFirst = firstMounts.some((first) => first.id === id)
    const change: Change = isFirst
      ? put(mountRows, { ...mount, disabled: true, modifyIndex: index })
      : remove(mountRows, [id])
    return {
      changes: [change],
      outcome: { existed: true },
      happened: { nowMs, facts: [happened(mountGone, { mountId: id })] },
    }
  },
})

/** What is absent stays. */
const Tune = Type.Object({
  path: MountPath,
  description: Type.Optional(MountSettings.properties.description),
  defaultLeaseTtlMs: Type.Optional(MountSettings.properties.defaultLeaseTtlMs),
  maxLeaseTtlMs: Type.Optional(MountSettings.properties.maxLeaseTtlMs),
  tokenType: Type.Optional(MountSettings.properties.tokenType),
  lockout: Type.Optional(Type.Partial(Lockout)),
})

export type TuneOutcome =
  | { readonly type: 'tuned'; readonly row: MountRow }
  | { readonly type: 'absent' }
  /** Its default lifetime would be above its maximum. */
  | { readonly type: 'defaultAboveMax' }

export const tuneMount = defineCommand({
  type: 'logins.tune',
  since: mountsVersion,
  args: Tune,
  load: async (reader, { path }) => (await allMounts(reader)).find((mount) => mount.path === path),
  apply: ({ index }, { path: _path, lockout, ...settings }, before) => {
    const refuse = (outcome: TuneOutcome) => ({ changes: [], outcome })
    if (before === undefined) return refuse({ type: 'absent' })
    const row: MountRow = {
      ...before,
      ...settings,
      lockout: { ...before.lockout, ...lockout },
      modifyIndex: index,
    }
    if (row.maxLeaseTtlMs > 0 && row.defaultLeaseTtlMs > row.maxLeaseTtlMs) {
      return refuse({ type: 'defaultAboveMax' })
    }
    const outcome: TuneOutcome = { type: 'tuned', row }
    const isStored = before.createIndex > 0 || before.modifyIndex > 0
    const change = isStored ? replace(mountRows, before, row) : put(mountRows, row)
    return { changes: [change], outcome }
  },
})

const CreateLogin = Type.Object({
  token: IssuedToken,
  /** What the token is renewed by; its owner is the token's accessor. Absent: nothing. */
  secret: Type.Optional(SealedSecret),
})

export type CreateLoginOutcome = IssuedTokenOutcome | { readonly type: 'mountIsGone' }

/** A token that the leader found free, with the secret that renews it where there is one. */
export const createLogin = defineCommand({
  type: 'logins.createLogin',
  since: mountsVersion,
  args: CreateLogin,
  load: (reader, { token }) => ({
    stands: token.issuer !== undefined && mountStands(reader, token.issuer.mountId),
  }),
  apply: (context, { token, secret }, { stands }): Applied<CreateLoginOutcome> => {
    if (!stands) return { changes: [], outcome: { type: 'mountIsGone' } }
    const applied = applyIssuedToken(context, token, freeToken)
    if (applied.outcome.type !== 'written' || secret === undefined) return applied
    return { ...applied, changes: [...applied.changes, insertSecret(secret, context.index)] }
  },
})

/** Who logs in, for a login that follows. */
export const identifyLogin = defineCommand({
  type: 'logins.identify',
  since: entitiesVersion,
  args: Identity,
  load: async (reader, identity) => ({
    stands: mountStands(reader, identity.mountId),
    found: await loadIdentity(reader, identity),
  }),
  apply: (context, identity, { stands, found }): Applied<IdentifyOutcome | null> =>
    // With the mount its aliases have gone.
    stands ? applyIdentity(context, identity, found) : { changes: [], outcome: null },
})

export const loginCommands = commandsByType([
  enableMount,
  disableMount,
  tuneMount,
  createLogin,
  identifyLogin,
])
