/**
 * Whom an operator names as the servers of a recovered cluster: the file, and what it has to say to be taken.
 * The same file on every survivor makes the same cluster of them.
 */
import { MusterError } from '../lib/errors.ts'
import { sha256OfParts, uuidOfHash } from '../lib/hash-uuid.ts'
import { isServerName } from '../lib/server-name.ts'
import { uuidPattern } from '../lib/uuid.ts'
import type { Configuration, Member } from '../raft/core/message.ts'
import { membersMax } from '../raft/quorum-recovery.ts'

export const peersFileBytesMax = 64 * 1024

type NamedServer = {
  readonly id: string
  readonly name: string | null
  readonly address: string | null
  readonly nonVoter: boolean
}

/** The file's text: a JSON list of `id`, and `address`, `name`, `non_voter` where they differ. Throws `invalid_argument`. */
export function parsePeersFile(text: string, path: string): readonly NamedServer[] {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw wrong(path, 'it is not JSON')
  }
  if (!Array.isArray(value) || value.length === 0 || value.length > membersMax) {
    throw wrong(path, `it should be a list of 1 to ${membersMax} servers`)
  }
  const servers = value.map((item: unknown, at) => parseServer(item, `server ${at + 1}`, path))
  for (const [at, { id }] of servers.entries()) {
    if (servers.findIndex((other) => other.id === id) !== at) {
      throw wrong(path, `server ${id} is in it twice`)
    }
  }
  return servers
}

const addressPattern = /^(\[[0-9A-Fa-f:.]+\]|[^\s:]{1,253}):\d{1,5}$/
const keys: readonly string[] = ['id', 'name', 'address', 'non_voter']

function parseServer(value: unknown, which: string, path: string): NamedServer {
  if (typeof value !== 'object' || value === null) throw wrong(path, `${which} is no object`)
  const odd = Object.keys(value).find((key) => !keys.includes(key))
  if (odd !== undefined) {
    throw wrong(path, `${which} has ${JSON.stringify(odd)}; there are ${keys.join(', ')}`)
  }
  const id = 'id' in value ? value.id : null
  if (typeof id !== 'string' || !uuidPattern.test(id)) {
    throw wrong(path, `${which} needs an id, as server.json in its data folder has it`)
  }
  const name = 'name' in value ? value.name : null
  if (name !== null && (typeof name !== 'string' || !isServerName(name))) {
    throw wrong(path, `the name of ${which} is none`)
  }
  const address = 'address' in value ? value.address : null
  if (address !== null && (typeof address !== 'string' || !addressPattern.test(address))) {
    throw wrong(path, `the address of ${which} should be host:port of its RPC listener`)
  }
  const nonVoter = 'non_voter' in value ? value.non_voter : false
  if (typeof nonVoter !== 'boolean') throw wrong(path, `non_voter of ${which} is true or false`)
  return { id, name, address, nonVoter }
}

/** The named servers as members; what the file leaves out is as it was. Throws `invalid_argument`. */
export function membersNamed(
  named: readonly NamedServer[],
  before: Configuration,
  selfId: string,
  path: string,
): readonly Member[] {
  if (!named.some(({ id }) => id === selfId)) {
    throw wrong(path, `this server, ${selfId}, is not in it`)
  }
  if (named.every(({ nonVoter }) => nonVoter)) throw wrong(path, 'it names no voter')
  const members = named.map(({ id, name, address, nonVoter }): Member => {
    const known = before.members.find((member) => member.id === id)
    const called = name ?? known?.name
    const reached = address ?? known?.address
    if (called === undefined || reached === undefined) {
      throw wrong(
        path,
        `server ${id} is not among the members that this server knows; if it holds data of this cluster, give its name and address`,
      )
    }
    return { id, name: called, address: reached, role: nonVoter ? 'learner' : 'voter' }
  })
  for (const key of ['name', 'address'] as const) {
    const values = members.map((member) => member[key])
    const twice = values.find((value, at) => values.indexOf(value) !== at)
    if (twice !== undefined) throw wrong(path, `two servers in it have the ${key} ${twice}`)
  }
  return members
}

/**
 * An id that all survivors arrive at by themselves from the same members, and nobody with others: should two survivors
 * be told different things, they are of different clusters and never mix.
 */
export function successorId(before: Configuration, members: readonly Member[]): string {
  const roles = members.map(({ id, role }) => `${id} ${role}`).toSorted()
  return uuidOfHash(sha256OfParts([before.clusterId, ...roles]))
}

function wrong(path: string, what: string): MusterError {
  return new MusterError('invalid_argument', `${path}: ${what}`)
}
