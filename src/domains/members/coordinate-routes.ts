/** `/v1/coordinate/*`, as `consul rtt` and Consul's clients ask it. */
import { Type } from 'typebox'
import { readOptions } from '../../api/blocking.ts'
import type { ApiReply, ApiRequest, DescribedRoute } from '../../api/route.ts'
import { blocking, ok, text } from '../../api/shape.ts'
import {
  coordinateWaitMsMax,
  coordinateMethods,
  type NodeCoordinate,
} from './coordinate-methods.ts'
import { Coordinate, DatacenterCoordinates } from './shapes.ts'

/** Servers are in one pool with all others, which Consul calls `wan` where it is between datacenters. */
const serverArea = 'wan'
/** No list is older or newer than another: a client that waits for a change gets the next look. */
const index = 1
const noJitter = { next: () => 0 }

const list = async (request: ApiRequest, node: string | null) => {
  const rules = { waitMsMax: coordinateWaitMsMax, byPresence: true, random: noJitter }
  const { minIndex, waitMs } = readOptions(request.search, rules)
  if (minIndex >= index) {
    request.beginWaiting()
    const waited = await request.open(coordinateMethods.wait, { waitMs })
    await waited.next()
    await waited.return?.()
  }
  return request.call(coordinateMethods.list, { node })
}
const common = { method: 'GET', switches: 'presence', anyRegion: true } as const
export const coordinateRoutes: readonly DescribedRoute[] = [
  {
    ...common,
    path: '/v1/coordinate/nodes',
    summary: 'Network coordinates of nodes',
    permission: 'filtered',
    query: blocking,
    reply: ok(Type.Array(Coordinate)),
    example: {},
    handle: async (request) => ({ json: (await list(request, null)).map(shown), index }),
  },
  {
    ...common,
    path: '/v1/coordinate/node/:node',
    summary: 'Network coordinate of a node',
    permission: 'filtered',
    params: { node: text('Its name') },
    query: blocking,
    reply: ok(Type.Array(Coordinate)),
    errors: ['not_found'],
    example: { url: '/v1/coordinate/node/web-1' },
    handle: async (request): Promise<ApiReply> => {
      const rows = await list(request, request.parameter('node'))
      return rows.length === 0 ? { status: 404, index } : { json: rows.map(shown), index }
    },
  },
  {
    ...common,
    path: '/v1/coordinate/datacenters',
    summary: 'Network coordinates of servers by datacenter',
    permission: 'filtered',
    reply: ok(Type.Array(DatacenterCoordinates)),
    example: {},
    handle: async (request) => {
      const rows = await request.call(coordinateMethods.list, { node: null })
      const servers = Map.groupBy(
        rows.filter(({ isServer }) => isServer),
        ({ datacenter }) => datacenter,
      )
      return {
        json: [...servers].map(([datacenter, coordinates]) => ({
          Datacenter: datacenter,
          AreaID: serverArea,
          Coordinates: coordinates.map(shown),
        })),
      }
    },
  },
]

function shown({ node, coordinate }: NodeCoordinate) {
  const { vector, error, adjustment, height } = coordinate
  return {
    Node: node,
    Segment: '',
    Coord: { Vec: vector, Error: error, Adjustment: adjustment, Height: height },
  }
}
