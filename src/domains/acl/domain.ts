/** Tokens, policies, roles, and the one table of who may do what. */
import { defineDomain } from '../domain.ts'
import { aclCommands } from './commands.ts'
import { aclBootstraps, aclPolicies, aclRoles, aclTokens } from './table.ts'
import { policyTopic, roleTopic, tokenTopic } from './topics.ts'

export const aclDomain = defineDomain({
  name: 'acl',
  tables: [aclTokens, aclPolicies, aclRoles, aclBootstraps],
  commands: aclCommands,
  topics: [tokenTopic, policyTopic, roleTopic],
})
