/** Tokens, policies, roles, and the one table of who may do what. */
import { defineDomain, defineService } from '../domain.ts'
import { authorizer, readBarrier, stateReader, textSealer } from '../host.ts'
import { aclAuthorizer } from './authorizer.ts'
import { RuleSets } from './rule-sets.ts'
import { BatchTokens } from './batch-tokens.ts'
import { BootstrapReset } from './bootstrap-reset.ts'
import { aclCommands } from './commands.ts'
import { capabilityMethods } from './capability-methods.ts'
import { capabilityRoutes } from './capability-routes.ts'
import { aclConsulMethods } from './consul-methods.ts'
import { aclConsulRoutes } from './consul-routes.ts'
import { policyConsulRoutes } from './consul-policy-routes.ts'
import { startAclDuties } from './duties.ts'
import { tokenReactions } from './ending-commands.ts'
import { explainMethods } from './explain-methods.ts'
import { explainRoutes } from './explain-routes.ts'
import { issuedTokenCommands } from './issued-commands.ts'
import { orphanCommands } from './orphan-commands.ts'
import { askLeader } from '../../rpc/ask-leader.ts'
import { useCommands } from './use-commands.ts'
import { spendUseMethod } from './use-methods.ts'
import { aclMethods } from './methods.ts'
import { policyMethods } from './policy-methods.ts'
import { bootstrapOf } from './queries.ts'
import { policyRoutes } from './policy-routes.ts'
import { sysPolicyRoutes } from './sys-policy-routes.ts'
import { tokenRoutes } from './routes.ts'
import {
  aclSettings,
  batchTokens,
  bootstrapReset,
  freshRuleSets,
  loginRenewal,
} from './services.ts'
import {
  aclBootstraps,
  aclPolicies,
  aclRoles,
  aclTokenParents,
  aclTokenRoles,
  aclTokens,
} from './table.ts'
import { tokenCreateMethods } from './token-create-methods.ts'
import { tokenEndpointRoutes } from './token-endpoint-routes.ts'
import { tokenLifeMethods } from './token-life-methods.ts'
import { tokenRoleCommands } from './token-role-commands.ts'
import { tokenRoleMethods } from './token-role-methods.ts'
import { tokenRoleRoutes } from './token-role-routes.ts'
import { LeaderContact } from './leader-contact.ts'
import { policyTopic, roleTopic, tokenTopic } from './topics.ts'

/** How long a request with a token waits for the leader where only the leader can say whether it stands. */
const tokenWaitMs = 2_000
const unending = new AbortController().signal

export const aclDomain = defineDomain({
  name: 'acl',
  tables: [aclTokens, aclTokenParents, aclPolicies, aclRoles, aclBootstraps, aclTokenRoles],
  commands: {
    ...aclCommands,
    ...issuedTokenCommands,
    ...orphanCommands,
    ...useCommands,
    ...tokenRoleCommands,
  },
  // Tokens end in the entry that ends their parent.
  reactions: tokenReactions,
  services: [
    defineService(loginRenewal, { create: () => ({ current: null }) }),
    defineService(bootstrapReset, {
      create: ({ service, log }) =>
        new BootstrapReset({
          file: service(aclSettings).resetFile,
          presentIndex: () => bootstrapOf(service(stateReader))?.index ?? null,
          log: log.named('acl'),
        }),
      start: (reset) => reset.removeStale(false),
      replaced: (reset) => void reset.removeAny(),
    }),
    defineService(batchTokens, {
      create: ({ service, clock }) =>
        new BatchTokens({
          sealer: () => service(textSealer),
          mounts: () => service(loginRenewal).current,
          wallMs: () => clock.wallMs(),
        }),
    }),
    defineService(authorizer, {
      create: ({ service, clock, log }) => {
        const settings = service(aclSettings)
        const freshen = () => service(readBarrier)('leader', tokenWaitMs, unending)
        const contact = new LeaderContact({ freshen, clock, log: log.named('acl') })
        return aclAuthorizer({
          settings,
          reader: service(stateReader),
          freshen,
          confirm: () => (settings.downPolicy === 'deny' ? contact.confirm() : null),
          batch: service(batchTokens),
          spend: async (hash, caller) => {
            const from = { caller, signal: unending }
            return (await service(askLeader)(from, spendUseMethod, { hash })).spent
          },
          clock,
          log: log.named('acl'),
        })
      },
    }),
    defineService(freshRuleSets, {
      create: ({ log }) => {
        const own = log.named('acl')
        return () => new RuleSets(own)
      },
    }),
  ],
  methods: [
    aclMethods,
    policyMethods,
    aclConsulMethods,
    explainMethods,
    tokenCreateMethods,
    tokenLifeMethods,
    tokenRoleMethods,
    capabilityMethods,
    { spendUseMethod },
  ].flatMap((some) => Object.values(some)),
  routes: [
    ...sysPolicyRoutes,
    ...tokenRoutes,
    ...policyRoutes,
    ...aclConsulRoutes,
    ...policyConsulRoutes,
    ...explainRoutes,
    // A role is read before tokens are made by it, as the examples of the routes are.
    ...tokenRoleRoutes,
    ...tokenEndpointRoutes,
    ...capabilityRoutes,
  ],
  topics: [tokenTopic, policyTopic, roleTopic],
  duties: [
    {
      name: 'acl',
      start: ({ service, ...context }) => {
        const { enabled, bootstrapToken } = service(aclSettings)
        // A leader has applied all that is committed.
        void service(bootstrapReset).removeStale(true)
        return startAclDuties({
          ...context,
          bootstrapToken: enabled ? bootstrapToken : null,
          log: context.log.named('acl'),
        })
      },
    },
  ],
})
