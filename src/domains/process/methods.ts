/** What may be asked of one agent: this process, or through the cluster another. */
import { Type } from 'typebox'
import { MusterError } from '../../lib/errors.ts'
import { logLevels } from '../../lib/log.ts'
import {
  defineLocalMethod,
  defineStreamMethod,
  type LocalContext,
  type Requirement,
} from '../../rpc/method.ts'
import { placeTaker } from '../../rpc/places.ts'
import { denied } from '../../rpc/refusal.ts'
import type { Provided } from '../../rpc/services.ts'
import { HostAnswer, MonitorAnswer, ProfileAnswer } from './answer-model.ts'
import { profilesAreOpen } from './debug-rule.ts'
import { hostData, type HostData } from './host.ts'
import type { ProfileResult } from './profiles.ts'
import { schedulerWorkers } from '../scheduling/services.ts'
import type { Worker, WorkersConfig } from '../scheduling/model.ts'
import { monitors, profiles, processInfo } from './services.ts'
import type { AgentMember, AgentStats, KnownServers } from './process-info.ts'

export const profileSecondsMax = 300
const closedProfiles =
  'profiles need enable_debug = true in the configuration of this agent, or access control'

const schedulersMax = 32
const serversMax = 32
const addressLengthMax = 300

const Nothing = Type.Object({})
const mayRead = (): Requirement => ({ resource: 'agent', access: 'read' })
const mayWrite = (): Requirement => ({ resource: 'agent', access: 'write' })
const anyone = (): Requirement => ({ resource: 'none' })

export type AgentSelf = {
  readonly config: Readonly<Record<string, unknown>>
  readonly member: AgentMember
  readonly stats: AgentStats
}

const nameOf = ({ service }: LocalContext): string => service(processInfo).member().name

/** Open to all, as load balancers ask it. */
const health = defineLocalMethod({
  kind: 'local',
  name: 'agent.health',
  ignoresToken: true,
  args: Nothing,
  requires: anyone,
  run: async (context) => context.service(processInfo).health(),
})

const regions = defineLocalMethod({
  kind: 'local',
  name: 'agent.regions',
  ignoresToken: true,
  args: Nothing,
  requires: anyone,
  run: async (context) => context.service(processInfo).regions(),
})

const self = defineLocalMethod({
  kind: 'local',
  name: 'agent.self',
  args: Nothing,
  requires: mayRead,
  run: async (context): Promise<AgentSelf> => {
    const agent = context.service(processInfo)
    return { config: agent.config(), member: agent.member(), stats: agent.stats() }
  },
})

const host = defineLocalMethod({
  kind: 'local',
  name: 'agent.host',
  args: Nothing,
  answer: HostAnswer,
  requires: mayRead,
  run: async (context): Promise<{ readonly agentId: string; readonly data: HostData }> => ({
    agentId: nameOf(context),
    data: await hostData(process.env),
  }),
})

/** Chunks of whole lines as text. */
const monitor = defineStreamMethod({
  kind: 'stream',
  name: 'agent.monitor',
  args: Type.Object({ level: Type.Enum([...logLevels]), json: Type.Boolean() }),
  answer: MonitorAnswer,
  requires: mayRead,
  open: (context, args) =>
    context.service(monitors).open(args, context.signal, placeTaker(context.caller, context)),
})

/** The target's own setting decides whether it may be profiled. */
const profile = defineLocalMethod({
  kind: 'local',
  name: 'agent.profile',
  args: Type.Object({
    name: Type.String({ maxLength: 128 }),
    seconds: Type.Union([Type.Integer({ minimum: 1, maximum: profileSecondsMax }), Type.Null()]),
    asText: Type.Boolean(),
  }),
  answer: ProfileAnswer,
  requires: mayWrite,
  run: async (context, args): Promise<ProfileResult> => {
    if (!profilesAreOpen(context.service(processInfo))) throw denied(closedProfiles)
    return context.service(profiles).take(args, context.signal)
  },
})

const schedulers = defineLocalMethod({
  kind: 'local',
  name: 'agent.schedulers',
  args: Nothing,
  requires: mayRead,
  run: async (
    context,
  ): Promise<{ readonly server: string; readonly workers: readonly Worker[] }> => ({
    server: nameOf(context),
    workers: workersOf(context).workers(),
  }),
})

const schedulersConfig = defineLocalMethod({
  kind: 'local',
  name: 'agent.schedulersConfig',
  args: Nothing,
  requires: mayRead,
  run: async (context) => settings(context, workersOf(context).config),
})

const configureSchedulers = defineLocalMethod({
  kind: 'local',
  name: 'agent.configureSchedulers',
  args: Type.Object({
    count: Type.Integer(),
    enabled: Type.Array(Type.String(), { maxItems: schedulersMax }),
  }),
  requires: mayWrite,
  run: async (context, args) => {
    const config = workersOf(context).configure(args)
    const { count, enabled } = config
    context.log.info('schedulers configured', { count, enabled: enabled.join(',') })
    return settings(context, config)
  },
})

const servers = defineLocalMethod({
  kind: 'local',
  name: 'agent.servers',
  args: Nothing,
  requires: mayRead,
  run: async (context) => known(context.service(processInfo).servers).list(),
})

const setServers = defineLocalMethod({
  kind: 'local',
  name: 'agent.setServers',
  args: Type.Object({
    addresses: Type.Array(Type.String({ maxLength: addressLengthMax }), { maxItems: serversMax }),
  }),
  requires: mayWrite,
  run: async (context, { addresses }): Promise<void> => {
    const servers = known(context.service(processInfo).servers)
    if (addresses.length === 0) {
      throw new MusterError('invalid_argument', 'name the servers: ?address=host:port')
    }
    await servers.replace(addresses)
    context.log.info('the servers were named by command', { servers: addresses.join(',') })
  },
})

const reload = defineLocalMethod({
  kind: 'local',
  name: 'agent.reload',
  args: Nothing,
  requires: mayWrite,
  run: (context) => context.service(processInfo).reload(),
})

const settings = (context: LocalContext, config: WorkersConfig) => ({
  server: nameOf(context),
  ...config,
})

export const processMethods = {
  health,
  regions,
  self,
  host,
  monitor,
  profile,
  servers,
  setServers,
  reload,
  schedulers,
  schedulersConfig,
  configureSchedulers,
}

function workersOf({ service }: LocalContext): Provided<typeof schedulerWorkers> {
  if (service(processInfo).schedulers !== null) return service(schedulerWorkers)
  throw new MusterError('invalid_argument', 'this agent is a client: only servers have schedulers')
}

function known(servers: KnownServers | null): KnownServers {
  if (servers !== null) return servers
  throw new MusterError(
    'not_implemented',
    'this agent is a server; only client agents keep a list of servers',
  )
}
