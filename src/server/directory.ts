/** The servers of this cluster by id and name, as the Raft configuration has them. */
import type { Raft } from '../raft/raft.ts'
import type { ServerDirectory } from '../rpc/servers.ts'
import type { AddressOf } from './consensus.ts'

export function serverDirectory(options: {
  readonly id: string
  readonly region: string
  readonly node: Raft
  readonly addressOf: AddressOf
}): ServerDirectory {
  const { id: selfId, region, node, addressOf } = options
  const members = () => node.status().configuration.members
  type Member = ReturnType<typeof members>[number]
  const infoOf = (member: Member) => ({
    id: member.id,
    name: member.name,
    address: addressOf(member),
  })
  return {
    selfId,
    find(text) {
      const found = members().find(
        ({ id, name }) => id === text || name === text || `${name}.${region}` === text,
      )
      return found === undefined ? null : infoOf(found)
    },
    all: () => members().map(infoOf),
    names: () => members().map(({ name }) => name),
  }
}
