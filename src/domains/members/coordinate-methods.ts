/** Network coordinates of nodes as gossip has them, and of servers by datacenter. Each agent answers from what it measured. */
import { Type } from 'typebox'
import { delay } from '../../lib/async.ts'
import { defineLocalMethod, defineStreamMethod, type Requirement } from '../../rpc/method.ts'
import { present } from './methods.ts'
import type { PoolCoordinate, PoolMember, PoolOfServer } from './pool.ts'
import { gossipPool } from './services.ts'

/** Coordinates move with every probe, so a blocking query is answered after this at the latest. */
export const coordinateWaitMsMax = 5_000
const nodeLengthMax = 256
const serverRole = 'muster'

export type NodeCoordinate = {
  readonly node: string
  readonly datacenter: string
  readonly isServer: boolean
  readonly coordinate: PoolCoordinate
}

const list = defineLocalMethod({
  kind: 'local',
  name: 'members.coordinates',
  args: Type.Object({
    node: Type.Union([Type.String({ minLength: 1, maxLength: nodeLengthMax }), Type.Null()]),
  }),
  requires: () => ({ resource: 'none' }),
  run: async (context, { node }): Promise<readonly NodeCoordinate[]> =>
    coordinates(context.service(gossipPool))
      .filter((row) => node === null || row.node === node)
      .filter((row) => context.may(mayRead(row)))
      .toSorted((left, right) => (left.node < right.node ? -1 : 1)),
})

/** One item, once the time is up. */
const wait = defineStreamMethod({
  kind: 'stream',
  name: 'members.awaitCoordinates',
  args: Type.Object({ waitMs: Type.Number({ minimum: 0, maximum: coordinateWaitMsMax }) }),
  requires: () => ({ resource: 'none' }),
  open: async function* ({ signal, clock }, { waitMs }) {
    await delay(clock, waitMs, signal)
    yield null
  },
})

/** Of this region's agents; others in the pool are no nodes of its catalog. */
function coordinates({ region, pool }: PoolOfServer): readonly NodeCoordinate[] {
  const gossip = present(pool)
  const places = gossip.coordinates()
  return gossip.members().flatMap((member): readonly NodeCoordinate[] => {
    const coordinate = places.get(member.name)
    const node = nodeOf(member, region)
    if (coordinate === undefined || node === null) return []
    const { tags } = member
    const isServer = tags.get('role') === serverRole
    return [{ node, datacenter: tags.get('dc') ?? '', isServer, coordinate }]
  })
}

function nodeOf({ name }: PoolMember, region: string): string | null {
  const suffix = `.${region}`
  return name.endsWith(suffix) ? name.slice(0, -suffix.length) : null
}

export const coordinateMethods = { list, wait }

function mayRead({ node }: NodeCoordinate): Requirement {
  return { resource: 'node', node, access: 'read' }
}
