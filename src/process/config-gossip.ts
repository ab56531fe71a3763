/**
 * Whether and how an agent takes part in gossip. A client agent does; and a server does, unless `server.peers` names the
 * others and nothing of gossip is configured.
 */
import Type from 'typebox'
import type { Complain } from './config-check.ts'
import { parseAddress, text } from './config-values.ts'

export const retryJoinMax = 32

/** `about`: what `retry_join` means for this kind of agent. */
export function gossipKeys(about: string, shown?: string) {
  return {
    retry_join: Type.Optional(
      Type.Array(
        Type.Refine(
          text('a gossip address host or host:port'),
          (address) => parseAddress(address) !== undefined,
        ),
        {
          maxItems: retryJoinMax,
          description: `a list of at most ${retryJoinMax} gossip addresses`,
          about,
          ...(shown !== undefined && { shown }),
        },
      ),
    ),
    /** Checked below, by a refusal that does not show it. */
    encrypt: Type.Optional(
      text('a gossip key in base64', { about: 'the first gossip key, in base64' }),
    ),
  }
}

export type GossipConfig = {
  /** host or host:port, names too; tried until one answers. */
  readonly retryJoin: readonly string[]
  /** In base64; null: packets go in the clear. Never shown. */
  readonly encrypt: string | null
}

type GossipFile = { readonly retry_join?: readonly string[]; readonly encrypt?: string }

const keyBytes: readonly number[] = [16, 24, 32]

/** Null: no gossip. What is wrong with a key is said without showing it. */
export function completeGossip(
  server: GossipFile & { readonly peers?: readonly unknown[] },
  complain: Complain,
): GossipConfig | null {
  const { peers, retry_join: retryJoin, encrypt } = server
  const listed = peers !== undefined && peers.length > 0
  if (listed && retryJoin === undefined && encrypt === undefined) return null
  checkKey('server.encrypt', encrypt, complain)
  return { retryJoin: retryJoin ?? [], encrypt: encrypt ?? null }
}

/** Of a client agent, which finds its servers by it. */
export function completeClientGossip(client: GossipFile, complain: Complain): GossipConfig {
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
