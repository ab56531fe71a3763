/** `/v1/sys/locked-users`: names that failed to log in too often. */
import { Type } from 'typebox'
import { dataReply, envelope } from '../../api/envelope.ts'
import { pageOf } from '../../api/pages.ts'
import { smallBodyBytesMax, type DescribedRoute } from '../../api/route.ts'
import { consistency, count, listing, text, Time } from '../../api/shape.ts'
import { lockMethods } from './lock-methods.ts'

const Locked = Type.Object({
  mount_accessor: Type.String(),
  mount_path: text('`auth/<path>/`'),
  alias: text('The name, as its method compares names'),
  locked_until: Time,
})

export const lockRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: '/v1/sys/locked-users',
    summary: 'List locked names',
    permission: 'auth:read',
    query: { ...consistency, ...listing },
    reply: dataReply(
      Type.Object({ total: count('Names in this answer'), locked: Type.Array(Locked) }),
    ),
    example: {},
    handle: async (request) => {
      const args = { ...pageOf(request), nowMs: request.clock.wallMs() }
      const { value } = await request.query(lockMethods.list, args)
      const { rows } = value
      const reply = envelope(request, { data: { total: rows.length, locked: rows } })
      return { ...reply, nextToken: value.nextToken }
    },
  },
  {
    method: 'POST',
    path: '/v1/sys/locked-users/:accessor/unlock/*',
    summary: 'Unlock a name',
    permission: 'auth:write',
    params: {
      accessor: text('Of the mount, as `GET /v1/sys/auth` shows it'),
      '*': text('The name, in any spelling that its method takes for the same'),
    },
    bodyBytesMax: smallBodyBytesMax,
    reply: { 204: {} },
    example: { url: '/v1/sys/locked-users/auth_orchestrator_00000000/unlock/ada', status: 204 },
    handle: async (request) => {
      const accessor = request.parameter('accessor')
      await request.call(lockMethods.unlock, { accessor, name: request.tail })
      return envelope(request, {})
    },
  },
]
