/** `/v1/coordinate/*`, as `consul rtt` and Consul's clients ask it. */
import { readOptions } from '../../api/blocking.ts'
import type { ApiReply, ApiRequest, Route } from '../../api/route.ts'
import {
  coordinateWaitMsMax,
  coordinateMethods,
  type NodeCoordinate,
} from './coordinate-methods.ts'

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
export const coordinateRoutes: readonly Route[] = [
  {
    ...common,
    path: '/v1/coordinate/nodes',
    handle: async (request) => ({ json: (await list(request, null)).map(shown), index }),
  },
  {
    ...common,
    path: '/v1/coordinate/node/:node',
    handle: async (request): Promise<ApiReply> => {
      const rows = await list(request, request.parameter('node'))
      return rows.length === 0 ? { status: 404, index } : { json: rows.map(shown), index }
    },
  },
  {
    ...common,
    path: '/v1/coordinate/datacenters',
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
