/**
 * The domains in order: the only file that names them all. The order is the law between them: a domain may read the
 * state of an earlier one, never of a later.
 */
import { inDatacenter } from '../api/datacenter.ts'
import { encodeJson } from '../api/json.ts'
import type { Domain, Reader } from '../fsm/domain.ts'
import { aclCommands } from './acl/commands.ts'
import { aclConsulMethods } from './acl/consul-methods.ts'
import { aclConsulRoutes } from './acl/consul-routes.ts'
import { startAclDuties } from './acl/duties.ts'
import type { AclSettings } from './acl/authorizer.ts'
import { explainMethods } from './acl/explain-methods.ts'
import { explainRoutes } from './acl/explain-routes.ts'
import { aclMethods } from './acl/methods.ts'
import { policyMethods } from './acl/policy-methods.ts'
import { policyRoutes } from './acl/policy-routes.ts'
import { tokenRoutes } from './acl/routes.ts'
import { policyFields, tokenFields } from './acl/shown.ts'
import { aclBootstraps, aclPolicies, aclRoles, aclTokens } from './acl/table.ts'
import { policyTopic, roleTopic, tokenTopic } from './acl/topics.ts'
import {
  buildAgentCatalogue,
  filterOf,
  type AgentCatalogue,
  type AgentCatalogueOptions,
} from './agent-catalogue.ts'
import { autopilotCommands } from './autopilot/commands.ts'
import { autopilotMethods, type ClusterHealth } from './autopilot/methods.ts'
import { autopilotRoutes } from './autopilot/routes.ts'
import { autopilot } from './autopilot/table.ts'
import { catalogCommands } from './catalog/commands.ts'
import { agentAdmissionMethods } from './catalog/agent-admission.ts'
import { keyOfName } from './catalog/model.ts'
import { startMemberDuty, type AgentMembers } from './catalog/duties.ts'
import { healthMethods } from './catalog/health-methods.ts'
import { catalogMethods } from './catalog/methods.ts'
import { requirementsOf } from './catalog/operation-methods.ts'
import { catalogWords } from './catalog/operation-routes.ts'
import { catalogDeregister, catalogRegister } from './catalog/register-methods.ts'
import { catalogRoutes } from './catalog/routes.ts'
import {
  checkFields,
  healthFields,
  nodeFields,
  serviceFields,
  serviceOfNodeFields,
} from './catalog/shown.ts'
import { catalogChecks, catalogNodes, catalogServices } from './catalog/table.ts'
import { checkTopic, nodeTopic, serviceTopic } from './catalog/topics.ts'
import { EventBuffer, type ChangeSource, type EventBufferLimits } from './events/buffer.ts'
import { eventMethods } from './events/methods.ts'
import { eventRoutes } from './events/routes.ts'
import type { AnyTopic } from './events/topic.ts'
import { kvCommands } from './kv/commands.ts'
import { startKvDuties } from './kv/duties.ts'
import { kvReactions } from './kv/lock-commands.ts'
import { kvMethods } from './kv/methods.ts'
import { kvRoutes } from './kv/routes.ts'
import {
  deletionMarks,
  hasKeys,
  keys,
  kvValues,
  lockDelays,
  lockMarks,
  reaped,
  tombstones,
} from './kv/table.ts'
import { kvTopic } from './kv/topics.ts'
import { transactCommands } from './kv/transaction-commands.ts'
import { transactionMethods } from './kv/transaction-methods.ts'
import { txnRoute } from './kv/txn-routes.ts'
import { namespaceCommands, type NamespaceTenant } from './namespaces/commands.ts'
import { namespaceMethods } from './namespaces/methods.ts'
import { namespaceRoutes } from './namespaces/routes.ts'
import { namespaces, namespaceSeed } from './namespaces/table.ts'
import { ConsulSaver } from './operator/consul-saver.ts'
import { operatorMethods } from './operator/methods.ts'
import type { RaftControl } from './operator/raft.ts'
import { Restorer } from './operator/restore.ts'
import { ScheduledSnapshots, type SnapshotSchedule } from './operator/scheduled-snapshots.ts'
import { operatorRoutes } from './operator/routes.ts'
import {
  archiveOf,
  snapshotMethods,
  type RowSource,
  type SnapshotOptions,
} from './operator/snapshot.ts'
import { sessionCommands } from './sessions/commands.ts'
import { SessionDeadlines, type AppliedSource } from './sessions/deadlines.ts'
import { startSessionDuties } from './sessions/duties.ts'
import { sessionReactions } from './sessions/ending-commands.ts'
import { sessionMethods } from './sessions/methods.ts'
import { hasSessions } from './sessions/queries.ts'
import { Renewals } from './sessions/renewals.ts'
import { sessionRoutes } from './sessions/routes.ts'
import { sessions } from './sessions/table.ts'
import { sessionTopic } from './sessions/topics.ts'
import { ClusterKeyShare, type ClusterKeyLink } from './variables/cluster-key-share.ts'
import type { ClusterKey, ClusterKeys } from './variables/cluster-key.ts'
import { variableCommands } from './variables/commands.ts'
import { startDuties, type Duties, type KeyringDutyContext } from './variables/duties.ts'
import { keyringCommands } from './variables/keyring-commands.ts'
import { keyringMethods } from './variables/keyring-methods.ts'
import { keyringRoutes } from './variables/keyring-routes.ts'
import { ClusterKeyring } from './variables/keyring.ts'
import { listFields } from './variables/list.ts'
import { variableMethods } from './variables/methods.ts'
import { variableRoutes } from './variables/routes.ts'
import { hasVariables, keyring, keysOf, sealedItems, variables } from './variables/table.ts'
import { variableTopic } from './variables/topics.ts'

const namespaceTenants: readonly NamespaceTenant[] = [
  { what: 'sessions', livesIn: hasSessions },
  { what: 'keys', livesIn: hasKeys },
  { what: 'variables', livesIn: hasVariables },
]

/** What readers of events may be told of. */
const eventTopics: readonly AnyTopic[] = [
  tokenTopic,
  policyTopic,
  roleTopic,
  nodeTopic,
  serviceTopic,
  checkTopic,
  sessionTopic,
  kvTopic,
  variableTopic,
]

/** What the state machine needs: no instance of anything. */
export const domains: readonly Domain[] = [
  {
    name: 'namespaces',
    tables: [namespaces],
    commands: namespaceCommands(namespaceTenants),
    seed: namespaceSeed,
  },
  {
    name: 'acl',
    tables: [aclTokens, aclPolicies, aclRoles, aclBootstraps],
    commands: aclCommands,
  },
  {
    name: 'catalog',
    tables: [catalogNodes, catalogServices, catalogChecks],
    commands: catalogCommands,
  },
  {
    name: 'sessions',
    tables: [sessions],
    commands: sessionCommands,
    // Sessions end in the entry that loses what they are bound to, or the token that they were made with.
    reactions: sessionReactions,
  },
  {
    name: 'kv',
    tables: [keys, kvValues, tombstones, deletionMarks, lockMarks, reaped, lockDelays],
    commands: { ...kvCommands, ...transactCommands },
    // Locks are free in the entry that ends their session.
    reactions: kvReactions,
  },
  {
    name: 'variables',
    tables: [variables, sealedItems, keyring],
    commands: { ...variableCommands, ...keyringCommands },
  },
  { name: 'autopilot', tables: [autopilot], commands: autopilotCommands },
]

export type CatalogueOptions = AgentCatalogueOptions & {
  readonly acl: AclSettings & {
    /** Of the configuration, for the first token; null: none. */
    readonly bootstrapToken: string | null
    /** What an operator wrote to allow one more beginning; null: nothing. */
    readonly readResetIndex: () => Promise<number | null>
    /** Of a secret, as the audit log shows it; null while this server lacks the key. */
    readonly auditHashOf: (secret: string) => Promise<string | null>
  }
  readonly clusterKeys: ClusterKeys
  readonly raft: RaftControl
  readonly link: ClusterKeyLink
  /** `machine.view` and `machine.exportRows` */
  readonly view: () => Reader & { close(): void }
  readonly exportRows: () => RowSource
  /** `machine.commandVersion` */
  readonly commandVersion: () => number
  /** For archives on their way in. */
  readonly restoreFolder: string
  /** Null: none but those that clients ask for. */
  readonly snapshotSchedule: SnapshotSchedule | null
  /** Resolves once this server's state holds all that was acknowledged before. */
  readonly freshen: (signal: AbortSignal) => Promise<void>
  /** Of the servers, at the leader. */
  readonly health: () => ClusterHealth
  /** Whose nodes the leader keeps in the catalog. */
  readonly agents: AgentMembers
  /** What is applied here, for those who keep time by it. */
  readonly applied: AppliedSource & ChangeSource
  readonly events: EventBufferLimits
}

export type Catalogue = AgentCatalogue & {
  /** Started with the server and stopped with it; its `handle` answers `clusterKeyCall` of other servers. */
  readonly clusterKeyShare: ClusterKeyShare
  /** The key that all servers hold by now, to derive others from; null: this one lacks it, or there is none yet. */
  activeClusterKey(): Promise<ClusterKey | null>
  /** Its `clean` is called once at start. */
  readonly restorer: Restorer
  /** Started with the server and stopped with it; null: no schedule. */
  readonly scheduledSnapshots: ScheduledSnapshots | null
  /** Lives as long as the server; stopped with it. */
  readonly sessionDeadlines: SessionDeadlines
  /** Lives as long as the server; closed with it. */
  readonly eventBuffer: EventBuffer
  /** Leader only: started on election, stopped when leadership is lost. */
  startDuties(context: Pick<KeyringDutyContext, 'propose'>): Duties
  /** Leader only, as above. */
  startAclDuties(context: Pick<KeyringDutyContext, 'propose'>): Duties
  /** Leader only, as above. */
  startMemberDuty(context: Pick<KeyringDutyContext, 'propose'>): Duties
  startSessionDuties(context: Pick<KeyringDutyContext, 'propose'>): Duties
  startKvDuties(context: Pick<KeyringDutyContext, 'propose'>): Duties
}

export function buildCatalogue(options: CatalogueOptions): Catalogue {
  const { clusterKeys, raft, link, view, exportRows, commandVersion } = options
  const { restoreFolder, clock, log } = options
  const onView = async <Result>(read: (reader: Reader) => Promise<Result>): Promise<Result> => {
    const reader = view()
    try {
      return await read(reader)
    } finally {
      reader.close()
    }
  }
  const ofAgent = buildAgentCatalogue(options)
  const ring = new ClusterKeyring(clusterKeys)
  const share = new ClusterKeyShare({ keyring: ring, link, clock, log: log.named('keyring'), view })

  const { acl } = options
  const ofAcl = aclMethods({
    settings: acl,
    readResetIndex: acl.readResetIndex,
    auditHashOf: acl.auditHashOf,
    compileFilter: filterOf(tokenFields),
  })
  const ofAclIds = aclConsulMethods(acl)
  const ofExplain = explainMethods(acl, log.named('acl'))
  const ofPolicies = policyMethods({
    settings: acl,
    compilePolicyFilter: filterOf(policyFields),
    compileRoleFilter: filterOf(policyFields),
  })
  const ofVariables = variableMethods(ring, filterOf(listFields))
  const catalogFilters = {
    nodes: filterOf(nodeFields),
    services: filterOf(serviceFields),
    servicesOfNodes: filterOf(serviceOfNodeFields),
    checks: filterOf(checkFields),
    health: filterOf(healthFields),
  }
  const ofCatalog = catalogMethods(catalogFilters)
  const ofHealth = healthMethods(catalogFilters)
  const { agents } = options
  const ofAdmission = agentAdmissionMethods({
    answers: agents.answers,
    isServer: ({ id, name }) =>
      agents
        .servers()
        .some((server) => server.id === id || keyOfName(server.name) === keyOfName(name)),
    clock,
  })
  const renewals = new Renewals(clock)
  const deadlines = new SessionDeadlines({ clock, view, applied: options.applied })
  const ofSessions = sessionMethods(renewals)
  const ofTransactions = transactionMethods({ requirementsOf })
  const ofKeyring = keyringMethods(ring)
  const ofOperator = operatorMethods(raft)
  const snapshotSource: SnapshotOptions = {
    raft,
    exportRows,
    commandVersion,
    clusterKeysOf: async (reader) => [
      ...new Set((await keysOf(reader)).map(({ clusterKeyId }) => clusterKeyId)),
    ],
    wallMs: () => clock.wallMs(),
  }
  const ofSnapshots = snapshotMethods(snapshotSource)
  const ofAutopilot = autopilotMethods(options.health)
  const eventBuffer = new EventBuffer(
    options.applied,
    eventTopics.map(({ table }) => table.name),
    clock,
    options.events,
  )
  const ofEvents = eventMethods({
    topics: eventTopics,
    buffer: eventBuffer,
    view,
    encode: (value) => encodeJson(value, false),
    clock,
  })
  const saver = new ConsulSaver(restoreFolder)
  const restorer = new Restorer({
    folder: restoreFolder,
    commandVersion,
    holdsClusterKey: (id) => clusterKeys.get(id) !== null,
    clock,
  })

  const { snapshotSchedule } = options
  const scheduledSnapshots =
    snapshotSchedule === null
      ? null
      : new ScheduledSnapshots({
          schedule: snapshotSchedule,
          server: options.members.server,
          archive: async (signal) => {
            await options.freshen(signal)
            return onView((reader) => archiveOf(snapshotSource, reader))
          },
          clock,
          log: log.named('operator'),
        })

  const catalogue: Catalogue = {
    ...ofAgent,
    methods: [
      ...namespaceMethods,
      ...Object.values(ofAcl),
      ...Object.values(ofPolicies),
      ...Object.values(ofAclIds),
      ...Object.values(ofExplain),
      catalogRegister,
      catalogDeregister,
      ...Object.values(ofCatalog),
      ...Object.values(ofAdmission),
      ...Object.values(ofHealth),
      ...Object.values(ofSessions),
      ...kvMethods,
      ...Object.values(ofTransactions),
      ...Object.values(ofVariables),
      ...Object.values(ofKeyring),
      ...Object.values(ofOperator),
      ...Object.values(ofSnapshots),
      ...Object.values(ofAutopilot),
      ...Object.values(ofEvents),
      ...ofAgent.methods,
    ],
    routes: [
      ...namespaceRoutes,
      ...tokenRoutes(ofAcl),
      ...policyRoutes(ofPolicies),
      ...aclConsulRoutes({ tokens: ofAcl, policies: ofPolicies, ids: ofAclIds }),
      ...explainRoutes(ofExplain, () => catalogue),
      ...catalogRoutes(
        { catalog: ofCatalog, health: ofHealth, admission: ofAdmission },
        options.members.datacenter,
      ),
      ...inDatacenter(options.members.datacenter, [
        ...sessionRoutes(ofSessions, { node: options.members.server }),
        ...kvRoutes,
        txnRoute(ofTransactions, catalogWords(options.members.datacenter)),
      ]),
      ...variableRoutes(ofVariables),
      ...keyringRoutes(ofKeyring),
      ...operatorRoutes(ofOperator, ofSnapshots, { restorer, saver }),
      ...autopilotRoutes(ofAutopilot),
      ...eventRoutes(ofEvents),
      ...ofAgent.routes,
    ],
    clusterKeyShare: share,
    activeClusterKey: () => onView((reader) => ring.activeClusterKey(reader)),
    restorer,
    scheduledSnapshots,
    sessionDeadlines: deadlines,
    eventBuffer,
    startDuties: ({ propose }) =>
      startDuties({
        keyring: ring,
        clock,
        log: log.named('keyring'),
        view,
        propose,
        isHeldByMajority: (key) => share.isHeldByMajority(key),
      }),
    startAclDuties: ({ propose }) =>
      startAclDuties({
        bootstrapToken: acl.enabled ? acl.bootstrapToken : null,
        view,
        propose,
        clock,
        log: log.named('acl'),
      }),
    startMemberDuty: ({ propose }) =>
      startMemberDuty({ members: options.agents, view, propose, clock, log: log.named('catalog') }),
    startSessionDuties: ({ propose }) =>
      startSessionDuties({ clock, log: log.named('sessions'), view, propose, deadlines, renewals }),
    startKvDuties: ({ propose }) => startKvDuties({ clock, log: log.named('kv'), view, propose }),
  }
  return catalogue
}
