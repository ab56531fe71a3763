/**
 * Changes of tokens, policies and roles. Secrets never come here: a command carries the hash. Whether names are known is
 * decided in the entry, so that no token is made with a policy that goes at the same time.
 */
import { Type, type Static } from 'typebox'
import type { Change, Reader } from '../../fsm/domain.ts'
import { commandsByType, defineCommand, put, remove, TimeMs } from '../define.ts'
import { endingOf } from './ending-commands.ts'
import { ancestorsWith } from './gone-queries.ts'
import {
  Accessor,
  AclName,
  ancestorsMax,
  Description,
  endOf,
  NewToken,
  PolicyNames,
  RoleNames,
  TokenName,
  tokenParentsVersion,
  TokenType,
  type BootstrapRow,
  type PolicyRow,
  type RoleRow,
  type TokenParentRow,
  type TokenRow,
} from './model.ts'
import { policyBytesMax } from './policy-source-model.ts'
import {
  bootstrapOf,
  isTaken,
  policyOf,
  roleOf,
  tokenByAccessor,
  tokensPerEntryMax,
} from './queries.ts'
import { aclBootstraps, aclPolicies, aclRoles, aclTokenParents, aclTokens } from './table.ts'

const Bootstrap = Type.Object({
  token: NewToken,
  /** What the operator wrote down; null: nothing. */
  resetIndex: Type.Union([Type.Null(), Type.Integer()]),
})

const CreateChildToken = Type.Object({
  token: NewToken,
  /** Accessor of the token that it ends with. */
  parent: Accessor,
})

/** Null: as it is. */
const UpdateToken = Type.Object({
  accessor: Accessor,
  name: Type.Union([Type.Null(), TokenName]),
  description: Type.Union([Type.Null(), Description]),
  type: Type.Union([Type.Null(), TokenType]),
  policies: Type.Union([Type.Null(), PolicyNames]),
  roles: Type.Union([Type.Null(), RoleNames]),
})

const DeleteTokens = Type.Object({
  accessors: Type.Immutable(Type.Array(Accessor, { maxItems: tokensPerEntryMax })),
  nowMs: TimeMs,
  /** A token that has been renewed by then stays. */
  expiredOnly: Type.Boolean(),
})

/** What is there already stays, and the write is refused. Absent below `comparedWritesVersion`: it is written over. */
const IsNew = { isNew: Type.Optional(Type.Literal(true)) }

const PutPolicy = Type.Object({
  name: AclName,
  description: Description,
  rules: Type.String({ maxLength: policyBytesMax }),
  ...IsNew,
})

const PutRole = Type.Object({
  name: AclName,
  description: Description,
  policies: PolicyNames,
  ...IsNew,
})

const Named = Type.Object({ name: AclName })

export type UpdateToken = Static<typeof UpdateToken>
export type DeleteTokens = Static<typeof DeleteTokens>

export type UnknownName = {
  readonly type: 'unknownName'
  readonly what: 'policy' | 'role'
  readonly name: string
}
export type PutTokenOutcome =
  | { readonly type: 'written'; readonly row: TokenRow }
  | { readonly type: 'absent' }
  /** Another token has the accessor or the secret. */
  | { readonly type: 'taken' }
  | UnknownName
export type CreateChildTokenOutcome =
  | PutTokenOutcome
  /** Revoked, or its time is over. */
  | { readonly type: 'parentIsGone' }
  | { readonly type: 'tooManyAncestors' }
export type BootstrapOutcome =
  | { readonly type: 'written'; readonly row: TokenRow }
  | { readonly type: 'taken' }
  | { readonly type: 'done'; readonly resetIndex: number }
export type DeleteTokensOutcome = { readonly deleted: number }
/** It was to be new, and another one has the name. */
export type NameTaken = { readonly type: 'taken' }
export type PutPolicyOutcome = { readonly type: 'written'; readonly row: PolicyRow } | NameTaken
export type PutRoleOutcome =
  | { readonly type: 'written'; readonly row: RoleRow }
  | NameTaken
  | UnknownName
export type DeleteNamedOutcome = { readonly existed: boolean }

export const bootstrapAcl = defineCommand({
  type: 'acl.bootstrap',
  args: Bootstrap,
  load: async (reader, { token }) => ({
    before: bootstrapOf(reader),
    taken: await isTaken(reader, token),
  }),
  apply: ({ index }, { token, resetIndex }, { before, taken }) => {
    const refuse = (outcome: BootstrapOutcome) => ({ changes: [], outcome })
    if (before !== null && before.index !== resetIndex) {
      return refuse({ type: 'done', resetIndex: before.index })
    }
    if (taken) return refuse({ type: 'taken' })
    const row: TokenRow = { ...token, createIndex: index, modifyIndex: index }
    const mark: BootstrapRow = { id: 'bootstrap', accessor: token.accessor, index }
    const outcome: BootstrapOutcome = { type: 'written', row }
    return { changes: [put(aclTokens, row), put(aclBootstraps, mark)], outcome }
  },
})

export const createToken = defineCommand({
  type: 'acl.createToken',
  args: NewToken,
  load: async (reader, token) => ({
    taken: await isTaken(reader, token),
    unknown: unknownName(reader, token.policies, token.roles),
  }),
  apply: ({ index }, token, { taken, unknown }) => {
    const refuse = (outcome: PutTokenOutcome) => ({ changes: [], outcome })
    if (taken) return refuse({ type: 'taken' })
    if (unknown !== null) return refuse(unknown)
    const row: TokenRow = { ...token, createIndex: index, modifyIndex: index }
    const outcome: PutTokenOutcome = { type: 'written', row }
    return { changes: [put(aclTokens, row)], outcome }
  },
})

export const createChildToken = defineCommand({
  type: 'acl.createChildToken',
  since: tokenParentsVersion,
  args: CreateChildToken,
  load: async (reader, { token, parent }) => ({
    taken: await isTaken(reader, token),
    unknown: unknownName(reader, token.policies, token.roles),
    parentRow: await tokenByAccessor(reader, parent),
    ancestors: ancestorsWith(reader, parent, ancestorsMax + 1),
  }),
  apply: ({ index }, { token, parent }, { taken, unknown, parentRow, ancestors }) => {
    const refuse = (outcome: CreateChildTokenOutcome) => ({ changes: [], outcome })
    if (parentRow === null || endOf(parentRow) <= token.createTimeMs) {
      return refuse({ type: 'parentIsGone' })
    }
    if (ancestors > ancestorsMax) return refuse({ type: 'tooManyAncestors' })
    if (taken) return refuse({ type: 'taken' })
    if (unknown !== null) return refuse(unknown)
    const row: TokenRow = { ...token, parent, createIndex: index, modifyIndex: index }
    const link: TokenParentRow = { accessor: token.accessor, parent }
    const outcome: CreateChildTokenOutcome = { type: 'written', row }
    return { changes: [put(aclTokens, row), put(aclTokenParents, link)], outcome }
  },
})

export const updateToken = defineCommand({
  type: 'acl.updateToken',
  args: UpdateToken,
  load: async (reader, { accessor, policies, roles }) => ({
    before: await tokenByAccessor(reader, accessor),
    unknown: unknownName(reader, policies ?? [], roles ?? []),
  }),
  apply: ({ index }, args, { before, unknown }) => {
    const refuse = (outcome: PutTokenOutcome) => ({ changes: [], outcome })
    if (before === null) return refuse({ type: 'absent' })
    if (unknown !== null) return refuse(unknown)
    const row: TokenRow = {
      ...before,
      name: args.name ?? before.name,
      description: args.description ?? before.description,
      type: args.type ?? before.type,
      policies: args.policies ?? before.policies,
      roles: args.roles ?? before.roles,
      modifyIndex: index,
    }
    const outcome: PutTokenOutcome = { type: 'written', row }
    return { changes: [put(aclTokens, row)], outcome }
  },
})

export const deleteTokens = defineCommand({
  type: 'acl.deleteTokens',
  args: DeleteTokens,
  load: async (reader, { accessors, nowMs, expiredOnly }) => {
    const rows: TokenRow[] = []
    for (const accessor of new Set(accessors)) {
      const row = await tokenByAccessor(reader, accessor)
      if (row !== null && (!expiredOnly || endOf(row) <= nowMs)) rows.push(row)
    }
    return rows
  },
  apply: (_context, { nowMs }, rows) => {
    const { changes, happened } = endingOf(rows)
    const outcome: DeleteTokensOutcome = { deleted: rows.length }
    return { changes, outcome, happened: { nowMs, facts: happened } }
  },
})

export const storePolicy = defineCommand({
  type: 'acl.putPolicy',
  args: PutPolicy,
  load: (reader, { name }) => policyOf(reader, name),
  apply: ({ index }, { isNew, ...policy }, before) => {
    const answer = (changes: readonly Change[], outcome: PutPolicyOutcome) => ({
      changes,
      outcome,
    })
    if (isNew === true && before !== null) return answer([], { type: 'taken' })
    const row: PolicyRow = {
      ...policy,
      createIndex: before?.createIndex ?? index,
      modifyIndex: index,
    }
    return answer([put(aclPolicies, row)], { type: 'written', row })
  },
})

export const removePolicy = defineCommand({
  type: 'acl.deletePolicy',
  args: Named,
  load: (reader, { name }) => policyOf(reader, name),
  apply: (_context, { name }, before) => {
    const outcome: DeleteNamedOutcome = { existed: before !== null }
    return { changes: before === null ? [] : [remove(aclPolicies, [name])], outcome }
  },
})

export const storeRole = defineCommand({
  type: 'acl.putRole',
  args: PutRole,
  load: (reader, { name, policies }) => ({
    before: roleOf(reader, name),
    unknown: unknownName(reader, policies, []),
  }),
  apply: ({ index }, { isNew, ...role }, { before, unknown }) => {
    const answer = (changes: readonly Change[], outcome: PutRoleOutcome) => ({
      changes,
      outcome,
    })
    if (isNew === true && before !== null) return answer([], { type: 'taken' })
    if (unknown !== null) return answer([], unknown)
    const row: RoleRow = {
      ...role,
      createIndex: before?.createIndex ?? index,
      modifyIndex: index,
    }
    return answer([put(aclRoles, row)], { type: 'written', row })
  },
})

export const removeRole = defineCommand({
  type: 'acl.deleteRole',
  args: Named,
  load: (reader, { name }) => roleOf(reader, name),
  apply: (_context, { name }, before) => {
    const outcome: DeleteNamedOutcome = { existed: before !== null }
    return { changes: before === null ? [] : [remove(aclRoles, [name])], outcome }
  },
})

export const aclCommands = commandsByType([
  bootstrapAcl,
  createToken,
  createChildToken,
  updateToken,
  deleteTokens,
  storePolicy,
  removePolicy,
  storeRole,
  removeRole,
])

function unknownName(
  reader: Reader,
  policies: readonly string[],
  roles: readonly string[],
): UnknownName | null {
  const policy = policies.find((name) => policyOf(reader, name) === null)
  if (policy !== undefined) return { type: 'unknownName', what: 'policy', name: policy }
  const role = roles.find((name) => roleOf(reader, name) === null)
  return role === undefined ? null : { type: 'unknownName', what: 'role', name: role }
}
