/**
 * Whether and how a server takes part in gossip. The one rule: it does, unless `server.peers` names the others and
 * nothing of gossip is configured.
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

const keyBytes: readonly number[] = [16, 24, 32]

/** Null: no gossip. What is wrong with a key is said without showing it. */
export function completeGossip(server: ServerFile, complain: Complain): GossipConfig | null {
  const { peers, retry_join: retryJoin, encrypt } = server
  const listed = peers !== undefined && peers.length > 0
  if (listed && retryJoin === undefined && encrypt === undefined) return null
  if (encrypt !== undefined && !isKey(encrypt)) {
    complain(
      'server.encrypt',
      'must be 16, 24 or 32 bytes in base64; `head -c 32 /dev/urandom | base64` makes one',
    )
  }
  return { retryJoin: retryJoin ?? [], encrypt: encrypt ?? null }
}

function isKey(text: string): boolean {
  const bytes = Buffer.from(text, 'base64')
  return keyBytes.includes(bytes.length) && bytes.toString('base64') === text
}
