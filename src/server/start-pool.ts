/** Starts a server's part of the gossip pool, as its configuration says. */
import type { RuntimeDependencies } from '../runtime/process.ts'
import type { ConsensusStack } from './consensus-stack.ts'
import type { ServerConfig } from './server-config.ts'
import { ServerPool } from './server-pool.ts'

type PoolParts = {
  readonly stack: ConsensusStack
  readonly id: string
  /** Gossip has a server at another address. */
  readonly onMoved: () => void
}

/** Null: this server takes part in no gossip. */
export async function startPool(
  config: ServerConfig,
  { clock, random, logger, origin, onFatal }: RuntimeDependencies,
  { stack, id, onMoved }: PoolParts,
): Promise<ServerPool | null> {
  const { name, region, datacenter, server } = config
  const { gossip, bootstrapExpect } = server
  if (gossip === null) return null
  return ServerPool.start({
    name,
    tags: {
      id,
      region,
      datacenter,
      rpcHost: config.advertiseAddr,
      rpcPort: stack.rpcPort,
      bootstrapExpect,
      clusterId: stack.node.status().configuration.clusterId,
      version: origin.version,
      http: null,
    },
    dataFolder: config.dataDir,
    bindAddress: config.bindAddr,
    advertiseAddress: config.advertiseAddr,
    port: config.ports.gossip,
    retryJoin: gossip.retryJoin,
    encrypt: gossip.encrypt,
    clock,
    random,
    logger: logger.named('gossip'),
    onFatal,
    onMoved,
  })
}
