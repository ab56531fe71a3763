/** What may be asked about policies and roles. */
import { Type } from 'typebox'
import { assertNever } from '../../lib/assert.ts'
import { MusterError } from '../../lib/errors.ts'
import { onePage, Page } from '../../rpc/list.ts'
import type { Reader } from '../../fsm/domain.ts'
import {
  defineLeaderMethod,
  defineQuery,
  type LeaderContext,
  type QueryContext,
} from '../../rpc/method.ts'
import { mustMay } from '../../rpc/refusal.ts'
import { removePolicy, removeRole, storePolicy, storeRole } from './commands.ts'
import { unknown } from './issue.ts'
import {
  AclName,
  checkAclName,
  checkDescription,
  checkNames,
  checkVaultPolicyName,
  comparedWritesVersion,
  policiesPerTokenMax,
  type PolicyRow,
  type RoleRow,
} from './model.ts'
import { newestRuleOf, parsePolicy } from './policy-model.ts'
import { checkNothingTwice } from './policy-source-model.ts'
import { policiesOf } from './rule-sets.ts'
import { ownIndex, ownRow } from './own-token.ts'
import { aclIndex, allPolicies, allRoles, listedMax, policyOf, roleOf } from './queries.ts'
import { assertAclEnabled } from './services.ts'
import { policyFilters, shownPolicy, shownPolicyStub, shownRole } from './shown.ts'
import { refuseTemplates } from './template-model.ts'

const Named = Type.Object({ name: AclName })
/** What is there already is refused. */
const IsNew = { isNew: Type.Optional(Type.Boolean()) }

const readsAll = { resource: 'acl', access: 'read' } as const
/** As at Nomad: whoever may not read all policies reads those that its own rights follow from. */
const OrOwn = { orOwn: Type.Optional(Type.Boolean()) }

const listPolicies = defineQuery({
  kind: 'query',
  name: 'acl.policies',
  args: Type.Object({ ...Page, ...OrOwn }),
  requires: ({ orOwn }) => (orOwn === true ? { resource: 'none' } : readsAll),
  query: async (reader, { prefix, ...page }, context) => {
    assertAclEnabled(context)
    const own = context.may(readsAll) ? null : ownPolicies(reader, context)
    const value = await onePage(context, page, {
      pages: allPolicies(reader, prefix),
      keyOf: (row) => [row.name],
      show: (row) => (own === null || own.names.has(row.name) ? shownPolicyStub(row) : null),
      filter: policyFilters.compile(page.filter),
      max: listedMax,
    })
    return { value, index: own?.index ?? aclIndex(reader, 'policies') }
  },
})

/** Throws `permission_denied` for callers without a token. */
function ownPolicies(reader: Reader, context: QueryContext) {
  const { token } = context.caller
  if (token === null) mustMay(context, readsAll)
  const row = token === null ? null : ownRow(reader, token, context)
  const names = new Set(row === null ? [] : policiesOf(reader, row).map(({ name }) => name))
  return { names, index: ownIndex(reader, row) }
}

const readPolicy = defineQuery({
  kind: 'query',
  name: 'acl.policy',
  args: Type.Object({ name: AclName, ...OrOwn }),
  requires: ({ orOwn }) => (orOwn === true ? { resource: 'none' } : readsAll),
  query: (reader, { name }, context) => {
    assertAclEnabled(context)
    if (!context.may(readsAll) && !ownPolicies(reader, context).names.has(name))
      mustMay(context, readsAll)
    const row = policyOf(reader, name)
    const value = row === null ? null : shownPolicy(row)
    return { value, index: row?.modifyIndex ?? aclIndex(reader, 'policies') }
  },
})

const putPolicy = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'acl.putPolicy',
  args: Type.Object({
    name: Type.String(),
    description: Type.String(),
    rules: Type.String(),
    /** The name may be one of Vault's. Absent: as Consul and Nomad name policies. */
    isVaultName: Type.Optional(Type.Boolean()),
    ...IsNew,
  }),
  requires: () => ({ resource: 'acl', access: 'write' }),
  run: async (context, { name, description, rules, isVaultName, isNew }): Promise<PolicyRow> => {
    assertAclEnabled(context)
    if (isVaultName === true) checkVaultPolicyName(name)
    else checkAclName('policy', name)
    // What cannot be compiled is never stored.
    parsePolicy(rules)
    checkNothingTwice(rules)
    refuseTemplates(rules)
    const { commandVersion } = context.read()
    assertKnownEverywhere(rules, commandVersion)
    const isCompared = commandVersion >= comparedWritesVersion
    if (isNew === true && !isCompared && policyOf(context.read(), name) !== null) {
      throw taken('Policy', name)
    }
    const { outcome } = await context.propose(storePolicy, {
      name,
      description: checkDescription(description),
      rules: rules.toWellFormed(),
      ...(isNew === true && isCompared && { isNew }),
    })
    if (outcome.type === 'taken') throw taken('Policy', name)
    return outcome.row
  },
})

const deletePolicy = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'acl.deletePolicy',
  args: Named,
  requires: () => ({ resource: 'acl', access: 'write' }),
  run: async (context, { name }) => {
    assertAclEnabled(context)
    return deleted(context, removePolicy, name, 'ACL policy not found')
  },
})

const listRoles = defineQuery({
  kind: 'query',
  name: 'acl.roles',
  args: Type.Object(Page),
  requires: () => ({ resource: 'acl', access: 'read' }),
  query: async (reader, { prefix, ...page }, context) => {
    assertAclEnabled(context)
    const value = await onePage(context, page, {
      pages: allRoles(reader, prefix),
      keyOf: (row) => [row.name],
      show: shownRole,
      filter: policyFilters.compile(page.filter),
      max: listedMax,
    })
    return { value, index: aclIndex(reader, 'roles') }
  },
})

const readRole = defineQuery({
  kind: 'query',
  name: 'acl.role',
  args: Named,
  requires: () => ({ resource: 'acl', access: 'read' }),
  query: (reader, { name }, context) => {
    assertAclEnabled(context)
    const row = roleOf(reader, name)
    const value = row === null ? null : shownRole(row)
    return { value, index: row?.modifyIndex ?? aclIndex(reader, 'roles') }
  },
})

const putRole = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'acl.putRole',
  args: Type.Object({
    name: Type.String(),
    description: Type.String(),
    policies: Type.Immutable(Type.Array(Type.String())),
    ...IsNew,
  }),
  requires: () => ({ resource: 'acl', access: 'write' }),
  run: async (context, { name, description, policies, isNew }): Promise<RoleRow> => {
    assertAclEnabled(context)
    checkAclName('role', name)
    const names = checkNames('policy', policies, policiesPerTokenMax)
    if (names.length === 0) throw new MusterError('invalid_argument', 'a role needs Policies')
    const isCompared = context.read().commandVersion >= comparedWritesVersion
    if (isNew === true && !isCompared && roleOf(context.read(), name) !== null) {
      throw taken('Role', name)
    }
    const { outcome } = await context.propose(storeRole, {
      name,
      description: checkDescription(description),
      policies: names,
      ...(isNew === true && isCompared && { isNew }),
    })
    switch (outcome.type) {
      case 'written':
        return outcome.row
      case 'taken':
        throw taken('Role', name)
      case 'unknownName':
        throw unknown(outcome)
      default:
        return assertNever(outcome)
    }
  },
})

const deleteRole = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'acl.deleteRole',
  args: Named,
  requires: () => ({ resource: 'acl', access: 'write' }),
  run: async (context, { name }) => {
    assertAclEnabled(context)
    return deleted(context, removeRole, name, 'ACL role not found')
  },
})

export const policyMethods = {
  listPolicies,
  readPolicy,
  putPolicy,
  deletePolicy,
  listRoles,
  readRole,
  putRole,
  deleteRole,
}

async function deleted(
  context: LeaderContext,
  command: typeof removePolicy,
  name: string,
  absent: string,
): Promise<{ readonly index: number }> {
  const { index, outcome } = await context.propose(command, { name })
  if (outcome.existed) return { index }
  throw new MusterError('not_found', absent)
}

/** In the words that Consul's tools know. */
function taken(what: 'Policy' | 'Role', name: string): MusterError {
  const text = `Invalid ${what}: A ${what} with Name ${JSON.stringify(name)} already exists`
  return new MusterError('invalid_argument', text)
}

/** A server that cannot read a policy refuses every token that has it. */
function assertKnownEverywhere(rules: string, commandVersion: number): void {
  const newest = newestRuleOf(rules)
  if (newest === null || newest.version <= commandVersion) return
  throw new MusterError(
    'not_implemented',
    `rules about ${newest.word} need every server at command version ${newest.version}: once all servers run this program the leader raises it within seconds`,
  )
}
