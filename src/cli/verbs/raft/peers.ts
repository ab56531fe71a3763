/** The servers of the consensus group as a table, and options that name one of them. */
import { flagOf, integerOf, listOf, objectOf, textOf } from '../../api/answer.ts'
import type { Search } from '../../api/client.ts'
import type { Json } from '../../../lib/exact-json.ts'
import { misused, type FlagTable, type Flags } from '../../flags.ts'
import type { Style } from '../../print/style.ts'
import { table, type Cell } from '../../print/table.ts'

export type Peer = {
  readonly id: string
  readonly name: string
  readonly address: string
  readonly leads: boolean
  readonly votes: boolean
  readonly protocol: string
  /** As the agent asked sees it; `unknown` also of an earlier program's answer. */
  readonly status: string
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
      status: server['Status'] === undefined ? 'unknown' : textOf(server, 'Status'),
    }
  })
  return { peers, index: integerOf(object, 'Index') }
}

const headings = ['Node', 'ID', 'Address', 'State', 'Voter', 'RaftProtocol']

export function peerTable(peers: readonly Peer[], style: Style): string {
  return table(
    style,
    headings,
    peers.map((peer) => cellsOf(peer, style)),
  )
}

/** As `peerTable`, and whether each server is there. */
export function peerStatusTable(peers: readonly Peer[], style: Style): string {
  return table(
    style,
    [...headings, 'Status'],
    peers.map((peer) => {
      const { status } = peer
      const gone = status === 'failed' || status === 'left'
      return [...cellsOf(peer, style), gone ? { text: status, paint: style.bad } : status]
    }),
  )
}

function cellsOf({ name, id, address, leads, votes, protocol }: Peer, style: Style): Cell[] {
  const state = leads ? { text: 'leader', paint: style.good } : 'follower'
  return [name, id, address, state, String(votes), protocol]
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
