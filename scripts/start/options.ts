/**
 * What `npm start` was asked for, and the plan that follows from it: names, ports and folders of a local cluster.
 * Everything here is a pure function of its arguments.
 */
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { BASE_PORT } from './usage.mjs'

export const HOST = '127.0.0.1'
/** Client agents are between the servers: 4746, 4846 and so on, and their ops listeners at 9303, 9403. */
const CLIENT_DISTANCE = 100
const CLIENTS_MAX = 8
/** The ops listeners keep this distance, so that a second cluster on another base port has its own. */
const OPS_DISTANCE = 9203 - BASE_PORT
/** The listeners that speak as Consul does: 8500, 9500 and so on, and client agents' at 8600, 8700. */
const CONSUL_DISTANCE = 8500 - BASE_PORT
const BASE_PORT_MAX = 57_000

export type StartOptions = {
  /** Null: as many as the data has, else 3. */
  readonly servers: number | null
  /** Null: as many as the data has. */
  readonly clients: number | null
  readonly fresh: boolean
  readonly dataDir: string
  readonly basePort: number
  /** Everything speaks TLS. */
  readonly tls: boolean
  /** Configuration files for all of them, besides each one's own. */
  readonly configFiles: readonly string[]
}

/** Throws an Error whose text says what would be right. */
export function parseStartOptions(args: readonly string[], cwd: string): StartOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      servers: { type: 'string' },
      clients: { type: 'string' },
      fresh: { type: 'boolean', default: false },
      data: { type: 'string', default: '.muster' },
      'base-port': { type: 'string', default: String(BASE_PORT) },
      tls: { type: 'boolean', default: false },
      config: { type: 'string', multiple: true, default: [] },
    },
  })
  const servers = values.servers === undefined ? null : Number(values.servers)
  if (servers !== null && ![1, 3, 5].includes(servers)) {
    throw new Error(`--servers must be 1, 3 or 5, not ${values.servers}`)
  }
  const clients = values.clients === undefined ? null : Number(values.clients)
  if (clients !== null && !(Number.isInteger(clients) && clients >= 0 && clients <= CLIENTS_MAX)) {
    throw new Error(`--clients must be 0 to ${CLIENTS_MAX}, not ${values.clients}`)
  }
  const basePort = Number(values['base-port'])
  // The fifth server's ports, that of its second listener too, and the last ops port must still be ports.
  if (!Number.isInteger(basePort) || basePort < 1024 || basePort > BASE_PORT_MAX) {
    throw new Error(`--base-port must be from 1024 to ${BASE_PORT_MAX}, not ${values['base-port']}`)
  }
  if (values.data === '') throw new Error('--data must name a folder')
  if (values.config.includes('')) throw new Error('--config must name a file')
  return {
    servers,
    clients,
    fresh: values.fresh,
    dataDir: resolve(cwd, values.data),
    basePort,
    tls: values.tls,
    configFiles: values.config.map((file) => resolve(cwd, file)),
  }
}

export type AgentPlan = {
  readonly kind: 'server' | 'client'
  readonly name: string
  readonly ports: {
    readonly http: number
    readonly rpc: number
    readonly gossip: number
    readonly ops: number
    /** The second HTTP listener, whose dialect is Consul's. */
    readonly consul: number
  }
  /** Holds what follows. */
  readonly folder: string
  readonly configFile: string
  /** Its own and those that were given. */
  readonly configFiles: readonly string[]
  readonly dataDir: string
  readonly logFile: string
}

/** The servers, then the client agents. */
export function planAgents(options: {
  readonly servers: number
  readonly clients: number
  readonly dataDir: string
  readonly basePort: number
  readonly configFiles: readonly string[]
}): readonly AgentPlan[] {
  const { servers, clients, basePort } = options
  const plan = (kind: AgentPlan['kind'], name: string, http: number, ops: number): AgentPlan => {
    const folder = join(options.dataDir, name)
    const configFile = join(folder, 'agent.json')
    return {
      kind,
      name,
      ports: { http, rpc: http + 1, gossip: http + 2, ops, consul: http + CONSUL_DISTANCE },
      folder,
      configFile,
      configFiles: [configFile, ...options.configFiles],
      dataDir: join(folder, 'data'),
      logFile: join(folder, `${kind}.log`),
    }
  }
  const firstOps = basePort + OPS_DISTANCE
  return [
    ...Array.from({ length: servers }, (_, at) =>
      plan('server', `s${at + 1}`, basePort + at * 1000, firstOps + at * 10),
    ),
    ...Array.from({ length: clients }, (_, at) => {
      const distance = (at + 1) * CLIENT_DISTANCE
      return plan('client', `c${at + 1}`, basePort + distance, firstOps + distance)
    }),
  ]
}

/** The configuration file of one agent; all find one another by the gossip of the first server. */
export function agentConfig(
  plan: AgentPlan,
  all: readonly AgentPlan[],
  { keyFile, tlsFolder }: { readonly keyFile: string; readonly tlsFolder: string | null },
): string {
  const servers = all.filter(({ kind }) => kind === 'server')
  const retryJoin = servers.slice(0, 1).map(({ ports }) => `${HOST}:${ports.gossip}`)
  const { consul, ...ports } = plan.ports
  const config = {
    name: plan.name,
    data_dir: plan.dataDir,
    bind_addr: HOST,
    ...(tlsFolder !== null && { tls: { folder: join(tlsFolder, holderOf(plan)) } }),
    ports,
    listener: [{ purpose: 'api', dialect: 'consul', address: `${HOST}:${consul}` }],
    ...(plan.kind === 'client'
      ? {
          // What people try out here ends with it.
          client: { enabled: true, retry_join: retryJoin, stop_tasks_on_shutdown: true },
          plugin: {
            raw_exec: { config: { enabled: true } },
            mock_driver: { config: { enabled: true } },
          },
        }
      : {
          server: {
            enabled: true,
            bootstrap_expect: servers.length,
            retry_join: retryJoin,
            keyring_key_file: keyFile,
          },
        }),
  }
  return `${JSON.stringify(config, null, 2)}\n`
}

/** The folder that 'muster tls bootstrap' makes for it. */
function holderOf({ kind, name }: AgentPlan): string {
  return kind === 'client' ? 'client' : name.replace('s', 'server-')
}
