/** What may be asked of this server's gossip. All of it runs where it arrives: gossip itself tells the others. */
import { Type, type Static } from 'typebox'
import { codeOf, MusterError, textOf } from '../../lib/errors.ts'
import { looksLikeAddress } from '../../lib/host-port.ts'
import { defineLocalMethod, type LocalContext } from '../../rpc/method.ts'
import type { KeyReport, Pool, PoolMember, PoolOfServer } from './pool.ts'
import { gossipPool } from './services.ts'

/** Of one request to join. */
export const joinAddressesMax = 32
const addressLengthMax = 300
const nameLengthMax = 256
const keyLengthMax = 64
const errorsShown = 3

const KeyChange = Type.Object({
  type: Type.Enum(['install', 'use', 'remove']),
  key: Type.String({ minLength: 1, maxLength: keyLengthMax }),
})

export type MembersAnswer = Pick<PoolOfServer, 'server' | 'region' | 'datacenter'> & {
  readonly members: readonly PoolMember[]
}

const list = defineLocalMethod({
  kind: 'local',
  name: 'members.list',
  args: Type.Object({}),
  requires: () => ({ resource: 'node', access: 'read' }),
  run: async (context): Promise<MembersAnswer> => {
    const { server, region, datacenter, pool } = context.service(gossipPool)
    const members = present(pool).members()
    return { server, region, datacenter, members: members.toSorted(byName) }
  },
})

const JoinArgs = Type.Object({
  addresses: Type.Array(Type.String({ minLength: 1, maxLength: addressLengthMax }), {
    minItems: 1,
    maxItems: joinAddressesMax,
  }),
})

/** By Nomad's path, which asks for no token. */
const join = defineLocalMethod({
  kind: 'local',
  name: 'members.join',
  ignoresToken: true,
  args: JoinArgs,
  requires: () => ({ resource: 'none' }),
  run: joinAll,
})

/** By Consul's. */
const joinAsWriter = defineLocalMethod({
  kind: 'local',
  name: 'members.joinAsWriter',
  args: JoinArgs,
  requires: () => ({ resource: 'agent', access: 'write' }),
  run: joinAll,
})

async function joinAll(context: LocalContext, { addresses }: Static<typeof JoinArgs>) {
  const { joined, errors } = await present(context.service(gossipPool).pool).join(addresses)
  for (const { address, error } of errors) {
    // The reason repeats the address.
    const said = mayBeShown({ address, error })
      ? { address, reason: textOf(error) }
      : { reason: 'what was given is left out: it does not look like an address' }
    context.log.warn('a join by command failed', said)
  }
  return { joined, errors: errors.map(joinFailure) }
}

const forceLeave = defineLocalMethod({
  kind: 'local',
  name: 'members.forceLeave',
  args: Type.Object({
    node: Type.String({ minLength: 1, maxLength: nameLengthMax }),
    prune: Type.Boolean(),
  }),
  requires: () => ({ resource: 'agent', access: 'write' }),
  run: async (context, { node, prune }): Promise<null> => {
    const { region, pool, giveUp } = context.service(gossipPool)
    const gossip = present(pool)
    const isMember = gossip.members().some(({ name }) => name === node)
    const name = isMember ? node : `${node}.${region}`
    try {
      gossip.forceLeave(name, prune)
      context.log.info('a member was given up by command', { member: name, prune })
    } catch (error) {
      // An absent member has left, and a living member stays: neither is an error for the client.
      if (codeOf(error) !== 'not_found' && codeOf(error) !== 'invalid_argument') throw error
    }
    // What gossip says removes no voter: it is the operator's word that counts.
    const suffix = `.${region}`
    if (name.endsWith(suffix)) await giveUp?.(name.slice(0, -suffix.length))
    return null
  },
})

/** Shows the keys themselves. */
const keys = defineLocalMethod({
  kind: 'local',
  name: 'members.keys',
  args: Type.Object({}),
  requires: () => ({ resource: 'keyring', access: 'read' }),
  run: (context) => present(context.service(gossipPool).pool).keyring.everywhere({ type: 'list' }),
})

const changeKey = defineLocalMethod({
  kind: 'local',
  name: 'members.changeKey',
  args: KeyChange,
  requires: () => ({ resource: 'keyring', access: 'write' }),
  run: async (context, { type, key }): Promise<KeyReport> => {
    const { keyring } = present(context.service(gossipPool).pool)
    if (type === 'remove') await refusePrimary(keyring, key)
    const report = await keyring.everywhere({ type, key })
    const problems = [...report.errors].map(([member, text]) => `${member}: ${text}`)
    if (problems.length === 0) {
      context.log.info('the gossip keys were changed', { change: type, members: report.answered })
      return report
    }
    const shown = problems.slice(0, errorsShown).join('; ')
    throw new MusterError(
      'unavailable',
      `${problems.length} of ${report.members} members did not ${type} the key: ${shown}`,
    )
  },
})

export const membersMethods = { list, join, joinAsWriter, forceLeave, keys, changeKey }

/**
 * One text for a refused connection, a silent one, a foreign service and an unknown name: anyone may ask for a join, and must
 * not learn by it what else this agent can reach. The log has the reason. A member that answered says its own.
 */
function joinFailure({ address, error }: { address: string; error: Error }): string {
  if (codeOf(error) === 'conflict') return textOf(error)
  if (!mayBeShown({ address, error })) {
    return 'cannot join through what was given, which is left out here as it does not look like an address: write host:port'
  }
  return `cannot join through ${address}: no member answered there; the log of this agent has the reason`
}

/** A token is easily put where the address belongs. Where a member answered is an address, however it looks. */
function mayBeShown({ address, error }: { address: string; error: Error }): boolean {
  return codeOf(error) === 'conflict' || looksLikeAddress(address)
}

/** Throws `conflict` for the key that a member encrypts with: each would refuse, one by one. */
async function refusePrimary(keyring: Pool['keyring'], key: string): Promise<void> {
  const { primaryKeys } = await keyring.everywhere({ type: 'list' })
  const users = primaryKeys.get(key) ?? 0
  if (users === 0) return
  throw new MusterError(
    'conflict',
    `the key is the primary gossip key of ${users} ${users === 1 ? 'member' : 'members'} and cannot be removed: install another key and use it first`,
  )
}

export function present(pool: Pool | null): Pool {
  if (pool !== null) return pool
  throw new MusterError(
    'not_implemented',
    'this server takes part in no gossip: it has server.peers; set server.retry_join as well, or instead',
  )
}

function byName(left: PoolMember, right: PoolMember): number {
  return left.name < right.name ? -1 : 1
}
