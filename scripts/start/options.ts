/**
 * What `npm start` was asked for, and the plan that follows from it: names, ports and folders of a local cluster.
 * Everything here is a pure function of its arguments.
 */
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

export const HOST = '127.0.0.1'
const BASE_PORT = 4646
/** The ops listeners keep this distance, so that a second cluster on another base port has its own. */
const OPS_DISTANCE = 9203 - BASE_PORT

export type StartOptions = {
  /** Null: as many as the data has, else 3. */
  readonly servers: number | null
  readonly fresh: boolean
  readonly dataDir: string
  readonly basePort: number
  /** Configuration files for all servers, besides each one's own. */
  readonly configFiles: readonly string[]
}

export const usage = `Usage: npm start -- [options]

  --servers N     1, 3 or 5 servers (default: as the data has, else 3)
  --fresh         begin with empty servers; the cluster's key is kept
  --data DIR      where configurations, data and logs are kept (default: .muster)
  --base-port N   HTTP port of the first server (default: ${BASE_PORT})
  --config FILE   a configuration file for every server, besides its own; repeatable
  --help          this text
`

/** Null: help was asked for. Throws an Error whose text says what would be right. */
export function parseStartOptions(args: readonly string[], cwd: string): StartOptions | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      servers: { type: 'string' },
      fresh: { type: 'boolean', default: false },
      data: { type: 'string', default: '.muster' },
      'base-port': { type: 'string', default: String(BASE_PORT) },
      config: { type: 'string', multiple: true, default: [] },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return null
  const servers = values.servers === undefined ? null : Number(values.servers)
  if (servers !== null && ![1, 3, 5].includes(servers)) {
    throw new Error(`--servers must be 1, 3 or 5, not ${values.servers}`)
  }
  const basePort = Number(values['base-port'])
  // The fifth server's ports and the last ops port must still be ports.
  if (!Number.isInteger(basePort) || basePort < 1024 || basePort > 60_000) {
    throw new Error(`--base-port must be from 1024 to 60000, not ${values['base-port']}`)
  }
  if (values.data === '') throw new Error('--data must name a folder')
  if (values.config.includes('')) throw new Error('--config must name a file')
  return {
    servers,
    fresh: values.fresh,
    dataDir: resolve(cwd, values.data),
    basePort,
    configFiles: values.config.map((file) => resolve(cwd, file)),
  }
}

export type ServerPlan = {
  readonly name: string
  readonly ports: {
    readonly http: number
    readonly rpc: number
    readonly gossip: number
    readonly ops: number
  }
  /** Holds what follows. */
  readonly folder: string
  readonly configFile: string
  /** Its own and those that were given. */
  readonly configFiles: readonly string[]
  readonly dataDir: string
  readonly logFile: string
}

export function planServers(options: {
  readonly servers: number
  readonly dataDir: string
  readonly basePort: number
  readonly configFiles: readonly string[]
}): readonly ServerPlan[] {
  return Array.from({ length: options.servers }, (_, index) => {
    const http = options.basePort + index * 1000
    const name = `s${index + 1}`
    const folder = join(options.dataDir, name)
    const configFile = join(folder, 'agent.json')
    return {
      name,
      ports: {
        http,
        rpc: http + 1,
        gossip: http + 2,
        ops: options.basePort + OPS_DISTANCE + index * 10,
      },
      folder,
      configFile,
      configFiles: [configFile, ...options.configFiles],
      dataDir: join(folder, 'data'),
      logFile: join(folder, 'server.log'),
    }
  })
}

/** The configuration file of one server; all find one another by the gossip of the first. */
export function agentConfig(plan: ServerPlan, all: readonly ServerPlan[], keyFile: string): string {
  const config = {
    name: plan.name,
    data_dir: plan.dataDir,
    bind_addr: HOST,
    ports: plan.ports,
    server: {
      enabled: true,
      bootstrap_expect: all.length,
      retry_join: all.slice(0, 1).map((server) => `${HOST}:${server.ports.gossip}`),
      keyring_key_file: keyFile,
    },
  }
  return `${JSON.stringify(config, null, 2)}\n`
}
