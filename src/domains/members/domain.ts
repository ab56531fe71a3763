/** The gossip pool: its members, joining, giving up, its keys, network coordinates. */
import { alsoByGet } from '../../api/by-get.ts'
import { inDatacenter } from '../../api/datacenter.ts'
import { defineDomain } from '../domain.ts'
import { coordinateMethods } from './coordinate-methods.ts'
import { coordinateRoutes } from './coordinate-routes.ts'
import { membersMethods } from './methods.ts'
import { membersRoutes } from './routes.ts'

export const membersDomain = defineDomain({
  name: 'members',
  methods: [...Object.values(membersMethods), ...Object.values(coordinateMethods)],
  routes: [
    ...membersRoutes,
    ...alsoByGet(membersRoutes, ['/v1/agent/join/:address', '/v1/agent/force-leave/:node']),
    ...inDatacenter(coordinateRoutes),
  ],
})
