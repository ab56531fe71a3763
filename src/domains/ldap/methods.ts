/** What may be asked about the configuration and the local mappings of a directory mount. */
import { Type } from 'typebox'
import { MusterError, textOf } from '../../lib/errors.ts'
import { Page } from '../../rpc/list.ts'
import {
  defineLeaderMethod,
  defineQuery,
  type LeaderContext,
  type QueryContext,
} from '../../rpc/method.ts'
import { mustMay } from '../../rpc/refusal.ts'
import { checkIssuedPolicies, issuedPolicies } from '../acl/token-parameters-model.ts'
import { At, belowMount, mountIsGone, namesBelow } from '../logins/at-mount.ts'
import { openSecret, sealSecret } from '../logins/secrets.ts'
import { deleteGroup, deleteUser, putConfig, putGroup, putUser } from './commands.ts'
import { changedConfig, ConfigChange } from './config-change-model.ts'
import { checkConfig, configWarnings } from './config-check.ts'
import {
  anyPageSizeVersion,
  bindpassOwner,
  clientKeyOwner,
  defaultConfig,
  groupsPerUserMax,
  nameLengthMax,
  type DirectoryConfig,
  type GroupRow,
  type UserRow,
} from './model.ts'
import { checkMappedName, checkName, groupKey, shownName, shownUser, userKeys } from './names.ts'
import { configOf, groupOf, userOf } from './queries.ts'
import { rotatePassword } from './rotation.ts'
import { directories } from './services.ts'
import { ldapConfigs, ldapGroups, ldapUsers } from './table.ts'

/** As it was sent: `checkMappedName` says what is wrong with it. */
const SentName = Type.String({ maxLength: 4 * nameLengthMax })
const SentNames = Type.Immutable(Type.Array(Type.String(), { maxItems: 4_096 }))

/** How often a write is tried while others write the same configuration. */
const attemptsMax = 8

const ofConfig = () => 'config'
const ofGroup = ({ name }: { name: string }) => `groups/${name}`
const ofUser = ({ name }: { name: string }) => `users/${name}`

type Named = { readonly at: At; readonly name: string }
type PathAccess = Parameters<typeof belowMount>[0]

/** What finds a row may be spelled otherwise than the name that was sent: a rule for either holds the row back. */
function mustMayGroup(
  context: QueryContext | LeaderContext,
  access: PathAccess,
  { at, name }: Named,
  config: DirectoryConfig,
): string {
  const key = groupKey(name, config)
  mustMay(context, belowMount(access, ofGroup)({ at, name: key }))
  return key
}

/** As `mustMayGroup`. */
function mustMayUser(
  context: QueryContext | LeaderContext,
  access: PathAccess,
  { at, name }: Named,
  config: DirectoryConfig,
): readonly [string, ...string[]] {
  const keys = userKeys(name, config)
  for (const key of keys) mustMay(context, belowMount(access, ofUser)({ at, name: key }))
  return keys
}

export type ReadConfig = {
  readonly config: DirectoryConfig
  readonly warnings: readonly string[]
}

const readConfig = defineQuery({
  kind: 'query',
  name: 'ldap.readConfig',
  args: Type.Object({ at: At }),
  requires: belowMount('read', ofConfig),
  query: (reader, { at }) => {
    const row = configOf(reader, at.id)
    const config = row?.config ?? defaultConfig
    const value: ReadConfig = { config, warnings: configWarnings(config) }
    return { value, index: row?.modifyIndex ?? Math.max(1, reader.tableIndex(ldapConfigs)) }
  },
})

const writeConfig = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'ldap.writeConfig',
  args: Type.Object({ at: At, change: ConfigChange }),
  requires: belowMount('write', ofConfig),
  run: async (context, { at, change }): Promise<{ warnings: readonly string[] }> => {
    for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
      const before = configOf(context.read(), at.id)
      const config = knownToAll(context, changedConfig(before?.config ?? null, change))
      checkConfig(config, change.clientTlsKey ?? stored(context, clientKeyOwner(at.id)) ?? '')
      // Written again as it is, it says nothing of a rotation that is under way.
      const isSame = change.bindpass === stored(context, bindpassOwner(at.id))
      const bindpass = isSame ? undefined : change.bindpass
      const { outcome } = await context.propose(putConfig, {
        mountId: at.id,
        config,
        bindpass: await sealed(context, bindpassOwner(at.id), bindpass),
        clientKey: await sealed(context, clientKeyOwner(at.id), change.clientTlsKey),
        modifyIndex: before?.modifyIndex ?? 0,
        nowMs: Math.floor(context.clock.wallMs()),
      })
      if (outcome === 'mountIsGone') throw mountIsGone()
      if (outcome === 'written') return { warnings: configWarnings(config) }
    }
    throw new MusterError('overloaded', 'others write the same configuration all the time')
  },
})

/** As servers of older versions read it too, while there may be some. */
function knownToAll(context: LeaderContext, config: DirectoryConfig): DirectoryConfig {
  if (context.read().commandVersion >= anyPageSizeVersion) return config
  return { ...config, maxPageSize: Math.max(0, config.maxPageSize) }
}

/** null: there is none, or it cannot be opened any more: then a new one can still be written. */
function stored(context: LeaderContext, owner: string): string | null {
  try {
    return openSecret(context, owner)
  } catch (error) {
    context.log.warn('a secret of a login method cannot be opened', { owner, error: textOf(error) })
    return null
  }
}

async function sealed(context: LeaderContext, owner: string, text: string | undefined) {
  if (text === undefined) return 'keep' as const
  return text === '' ? ('none' as const) : await sealSecret(context, owner, text)
}

const readGroup = defineQuery({
  kind: 'query',
  name: 'ldap.readGroup',
  args: Type.Object({ at: At, name: SentName }),
  requires: belowMount('read', ofGroup),
  query: (reader, { at, name }, context) => {
    const { config = defaultConfig } = configOf(reader, at.id) ?? {}
    const key = mustMayGroup(context, 'read', { at, name }, config)
    const value: GroupRow | null = groupOf(reader, at.id, key)
    return { value, index: Math.max(1, value?.modifyIndex ?? reader.tableIndex(ldapGroups)) }
  },
})

const readUser = defineQuery({
  kind: 'query',
  name: 'ldap.readUser',
  args: Type.Object({ at: At, name: SentName }),
  requires: belowMount('read', ofUser),
  query: (reader, { at, name }, context) => {
    const { config = defaultConfig } = configOf(reader, at.id) ?? {}
    const keys = mustMayUser(context, 'read', { at, name }, config)
    const value: UserRow | null = userOf(reader, at.id, keys)
    return { value, index: Math.max(1, value?.modifyIndex ?? reader.tableIndex(ldapUsers)) }
  },
})

const listGroups = defineQuery({
  kind: 'query',
  name: 'ldap.listGroups',
  long: true,
  args: Type.Object({ ...Page, at: At }),
  requires: belowMount('list', () => 'groups'),
  query: async (reader, args, context) => ({
    value: await namesBelow(reader, ldapGroups, args, context),
    index: Math.max(1, reader.tableIndex(ldapGroups)),
  }),
})

const listUsers = defineQuery({
  kind: 'query',
  name: 'ldap.listUsers',
  long: true,
  args: Type.Object({ ...Page, at: At }),
  requires: belowMount('list', () => 'users'),
  query: async (reader, args, context) => ({
    value: await namesBelow(reader, ldapUsers, args, context),
    index: Math.max(1, reader.tableIndex(ldapUsers)),
  }),
})

const writeGroup = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'ldap.writeGroup',
  args: Type.Object({ at: At, name: SentName, policies: SentNames }),
  requires: belowMount('write', ofGroup),
  run: async (context, { at, name, policies }): Promise<null> => {
    const { config = defaultConfig } = configOf(context.read(), at.id) ?? {}
    checkMappedName('the name of a group', name, config)
    const key = mustMayGroup(context, 'write', { at, name }, config)
    const { outcome } = await context.propose(putGroup, {
      mountId: at.id,
      key,
      name: shownName(name, config),
      policies: mappedPolicies(policies),
    })
    if (!outcome.stands) throw mountIsGone()
    return null
  },
})

const writeUser = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'ldap.writeUser',
  args: Type.Object({ at: At, name: SentName, policies: SentNames, groups: SentNames }),
  requires: belowMount('write', ofUser),
  run: async (context, { at, name, policies, groups }): Promise<null> => {
    const reader = context.read()
    const { config = defaultConfig } = configOf(reader, at.id) ?? {}
    checkMappedName('the name of a user', name, config)
    const keys = mustMayUser(context, 'write', { at, name }, config)
    const { outcome } = await context.propose(putUser, {
      mountId: at.id,
      key: userOf(reader, at.id, keys)?.key ?? keys[0],
      name: shownUser(name, config),
      policies: mappedPolicies(policies),
      groups: mappedGroups(groups, config),
    })
    if (!outcome.stands) throw mountIsGone()
    return null
  },
})

function mappedPolicies(policies: readonly string[]): readonly string[] {
  const mapped = issuedPolicies(policies)
  checkIssuedPolicies('policies', mapped)
  return mapped
}

function mappedGroups(groups: readonly string[], config: DirectoryConfig): readonly string[] {
  const names = new Set(
    groups.map((name) => shownName(name.trim(), config)).filter((name) => name !== ''),
  )
  if (names.size > groupsPerUserMax) {
    throw new MusterError('invalid_argument', `groups may hold at most ${groupsPerUserMax} names`)
  }
  for (const name of names) checkName('the name of a group', name)
  return [...names].sort()
}

const removeGroup = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'ldap.deleteGroup',
  args: Type.Object({ at: At, name: SentName }),
  requires: belowMount('delete', ofGroup),
  run: async (context, { at, name }): Promise<null> => {
    const { config = defaultConfig } = configOf(context.read(), at.id) ?? {}
    checkMappedName('the name of a group', name, config)
    const key = mustMayGroup(context, 'delete', { at, name }, config)
    await context.propose(deleteGroup, { mountId: at.id, key })
    return null
  },
})

const removeUser = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'ldap.deleteUser',
  args: Type.Object({ at: At, name: SentName }),
  requires: belowMount('delete', ofUser),
  run: async (context, { at, name }): Promise<null> => {
    const { config = defaultConfig } = configOf(context.read(), at.id) ?? {}
    checkMappedName('the name of a user', name, config)
    for (const key of mustMayUser(context, 'delete', { at, name }, config)) {
      await context.propose(deleteUser, { mountId: at.id, key })
    }
    return null
  },
})

const rotateRoot = defineLeaderMethod({
  kind: 'leader',
  name: 'ldap.rotateRoot',
  args: Type.Object({ at: At }),
  requires: belowMount('write', () => 'config/rotate-root'),
  run: async (context, { at }): Promise<null> => {
    await context.service(directories).alone(at.id, () => rotatePassword(context, at.id))
    return null
  },
})

export const ldapMethods = {
  readConfig,
  writeConfig,
  readGroup,
  readUser,
  listGroups,
  listUsers,
  writeGroup,
  writeUser,
  removeGroup,
  removeUser,
  rotateRoot,
}
