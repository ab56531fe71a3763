/** The servers of the consensus group as a table, and options that name one of them. */
import { flagOf, integerOf, listOf, objectOf, textOf } from '../../api/answer.ts'
import type { Search } from '../../api/client.ts'
import type { Json } from '../../api/json.ts'
import { misused, type FlagTable, type Flags } from '../../flags.ts'
import type { Style } from '../../print/style.ts'
import { table } from '../../print/table.ts'

export type Peer = {
  readonly id: string
  readonly name: string
  readonly address: string
  readonly leads: boolean
  readonly votes: boolean
  readonly protocol: string
}

/** Of the answer of `/v1/operator/raft/configuration`. */
export function peersOf(configuration: Json): {
  readonly peers: readonly Peer[]
  readonly index: string
} {
  const object = objectOf(configuration)
  const peers = listOf(object['Servers']).map((value) => {
    const server = objectOf(value)
    return {
      id: textOf(server, 'ID'),
      name: textOf(server, 'Node'),
      address: textOf(server, 'Address'),
      leads: flagOf(server, 'Leader'),
      votes: flagOf(server, 'Voter'),
      protocol: textOf(server, 'RaftProtocol'),
    }
  })
  return { peers, index: integerOf(object, 'Index') }
}

export function peerTable(peers: readonly Peer[], style: Style): string {
  return table(
    style,
    ['Node', 'ID', 'Address', 'State', 'Voter', 'RaftProtocol'],
    peers.map(({ name, id, address, leads, votes, protocol }) => [
      name,
      id,
      address,
      leads ? { text: 'leader', paint: style.good } : 'follower',
      String(votes),
      protocol,
    ]),
  )
}

export const peerFlags: FlagTable = {
  'peer-id': { summary: 'The server with this ID', value: 'ID' },
  'peer-address': { summary: 'The server with this address', value: 'HOST:PORT' },
}

/** Null: none is named. */
export function peerSearch(flags: Flags): Search | null {
  const id = flags.last('peer-id')
  const address = flags.last('peer-address')
  if (id !== undefined && address !== undefined) {
    misused('name the server by -peer-id or by -peer-address, not by both')
  }
  return id === undefined && address === undefined ? null : { id, address }
}
