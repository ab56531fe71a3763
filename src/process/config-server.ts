/** The `server` block of a configuration, and which servers make a new cluster together. */
import { isIPv6 } from 'node:net'
import Type from 'typebox'
import { present } from '../lib/assert.ts'
import { schedulerNames } from '../lib/scheduler-names.ts'
import type { Complain } from './config-check.ts'
import { gossipKeys } from './config-gossip.ts'
import { memoryKeys } from './config-memory.ts'
import { heartbeatKeys } from './config-nodes.ts'
import { raftSchema } from './config-raft.ts'
import { snapshotKeys } from './config-snapshots.ts'
import {
  choice,
  count,
  emptyBlock,
  flag,
  parsePeer,
  path,
  text,
  type StaticPeer,
} from './config-values.ts'

const peersMax = 15

const peer = Type.Codec(
  Type.Refine(
    text('name=host:rpcport, as in "s1=10.0.0.1:4647"'),
    (given) => parsePeer(given) !== undefined,
  ),
)
  .Decode((given) => present(parsePeer(given), 'a peer that was checked'))
  .Encode((given) => `${given.name}=${joinHostPort(given.host, given.port)}`)

export const serverSchema = Type.Object(
  {
    enabled: Type.Optional(flag({ shown: '`false`', about: 'this agent is a server' })),
    bootstrap_expect: Type.Optional(
      Type.Integer({
        enum: [0, 1, 3, 5, 7, 9],
        description: '1, 3, 5, 7 or 9, or 0 for a server that only joins',
        shown: 'the number of `server.peers`; 1',
        about:
          '1, 3, 5, 7 or 9 servers make the first cluster; 0 only joins one; required with `retry_join`',
      }),
    ),
    peers: Type.Optional(
      Type.Array(peer, {
        maxItems: peersMax,
        description: `a list of at most ${peersMax} name=host:rpcport`,
        about: `\`name=host:rpcport\`, at most ${peersMax}; IPv6 hosts in brackets; itself may be listed`,
      }),
    ),
    ...gossipKeys(
      'gossip addresses `host` or `host:port`, tried until one answers: [Membership](membership.md)',
    ),
    keyring_key_file: Type.Optional(
      path('the path of a file', { about: 'the cluster key, see below' }),
    ),
    num_schedulers: Type.Optional(
      count(0, 1024, {
        shown: 'the number of processors',
        about: 'scheduler workers, 0 to the number of processors',
      }),
    ),
    enabled_schedulers: Type.Optional(
      Type.Array(choice(schedulerNames), {
        uniqueItems: true,
        description: `a list of ${schedulerNames.join(', ')}, each once`,
        shown: 'all',
        about: '`service`, `batch`, `system`, `sysbatch`; `_core` is always among them',
      }),
    ),
    ...memoryKeys,
    ...heartbeatKeys,
    ...snapshotKeys,
    raft: raftSchema,
  },
  emptyBlock,
)

type ServerFile = Type.StaticDecode<typeof serverSchema>

export type Founders = {
  /** The other servers, this one left out. None, with gossip: they are found by it. */
  readonly peers: readonly StaticPeer[]
  /** Servers that make a new cluster together; 0: this one only joins. With `peers` not above the servers they name and this one. */
  readonly bootstrapExpect: number
}

/**
 * Every server's file may hold the same list, itself included: the own entry is checked and left out.
 * So one list serves all, and a copied file with a forgotten name or port is noticed at start.
 */
export function completePeers(
  ownName: string,
  ownPort: number,
  server: ServerFile,
  complain: Complain,
): Founders {
  const { peers: listed = [] } = server
  if (listed.length === 0) return { peers: [], bootstrapExpect: foundServers(server, complain) }
  const names = new Set<string>()
  const addresses = new Set<string>()
  for (const peer of listed) {
    const address = joinHostPort(peer.host, peer.port)
    if (names.has(peer.name)) complain('server.peers', `${peer.name} is listed twice`)
    if (addresses.has(address)) complain('server.peers', `the address ${address} is listed twice`)
    names.add(peer.name)
    addresses.add(address)
  }
  const own = listed.find((peer) => peer.name === ownName)
  if (own !== undefined && own.port !== ownPort) {
    complain(
      'server.peers',
      `${ownName} is this server, listed at port ${own.port}, but ports.rpc is ${ownPort}; they must agree`,
    )
  }
  const peers = listed.filter((peer) => peer.name !== ownName)
  if (ownPort === 0 && peers.length > 0) {
    complain('ports.rpc', 'a server with peers needs a fixed port, so that they find it')
  }
  return { peers, bootstrapExpect: expectedServers(server, peers.length + 1, complain) }
}

/** Without a list nothing says how many there are, and a wrong guess would begin a second cluster. */
function foundServers(server: ServerFile, complain: Complain): number {
  const given = server.bootstrap_expect
  if (given !== undefined) return given
  if ((server.retry_join ?? []).length === 0) return 1
  complain(
    'server.bootstrap_expect',
    'missing; server.retry_join names others, so say how many servers make the first cluster (1, 3, 5 …, or 0 to join one)',
  )
  return 0
}

function expectedServers(server: ServerFile, named: number, complain: Complain): number {
  const given = server.bootstrap_expect
  if (given === undefined) {
    if (named % 2 === 1) return named
    complain(
      'server.bootstrap_expect',
      `missing; server.peers and this server are ${named}, so say how many make the first cluster (1, 3, 5 …, or 0 to join one)`,
    )
    return 0
  }
  if (given > named) {
    complain(
      'server.bootstrap_expect',
      `${given} servers are expected, but server.peers and this server are only ${named}; list them all as name=host:rpcport`,
    )
  }
  if (given === 0 && named === 1) {
    complain('server.bootstrap_expect', '0 only joins others, but server.peers names none')
  }
  return given
}

/** `host:port`, an IPv6 host in brackets. */
export function joinHostPort(host: string, port: number): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`
}
