/**
 * Whether and how an agent takes part in gossip. A client agent does; and a server does, unless `server.peers` names the
 * others and nothing of gossip is configured.
 */
import type { ConfigFile } from './config-schema.ts'
import type { Complain } from './config-listeners.ts'

export type GossipConfig = {
  /** host or host:port, names too; tried until one answers. */
  readonly retryJoin: readonly string[]
  /** In base64; null: packets go in the clear. Never shown. */
  readonly encrypt: string | null
}

type ServerFile = NonNullable<ConfigFile['server']>
type ClientFile = NonNullable<ConfigFile['client']>

const keyBytes: readonly number[] = [16, 24, 32]

/** Null: no gossip. What is wrong with a key is said without showing it. */
export function completeGossip(server: ServerFile, complain: Complain): GossipConfig | null {
  const { peers, retry_join: retryJoin, encrypt } = server
  const listed = peers !== undefined && peers.length > 0
  if (listed && retryJoin === undefined && encrypt === undefined) return null
  checkKey('server.encrypt', encrypt, complain)
  return { retryJoin: retryJoin ?? [], encrypt: encrypt ?? null }
}

/** Of a client agent, which finds its servers by it. */
export function completeClientGossip(client: ClientFile, complain: Complain): GossipConfig {
  const { retry_join: retryJoin = [], encrypt } = client
  checkKey('client.encrypt', encrypt, complain)
  if (retryJoin.length === 0) {
    complain(
      'client.retry_join',
      'missing; name the gossip addresses of some servers, as in ["10.0.0.1:4648"]',
    )
  }
  return { retryJoin, encrypt: encrypt ?? null }
}

function checkKey(name: string, key: string | undefined, complain: Complain): void {
  if (key === undefined || isKey(key)) return
  complain(
    name,
    'must be 16, 24 or 32 bytes in base64; `head -c 32 /dev/urandom | base64` makes one',
  )
}

function isKey(text: string): boolean {
  const bytes = Buffer.from(text, 'base64')
  return keyBytes.includes(bytes.length) && bytes.toString('base64') === text
}
