/** An HTTP server over a fake of one cluster member, with routes that exercise the engine and nothing else. */
import { proposable } from '../../src/fsm/domain.ts'
import Type from 'typebox'
import { silentLogger } from '../../src/lib/log.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { seededRandom } from '../../src/lib/random.ts'
import { HttpServer, type HttpServerOptions } from '../../src/api/server.ts'
import type { Route } from '../../src/api/route.ts'
import type { ServerDispatcherOptions } from '../../src/rpc/server-dispatcher-options.ts'
import { defineLeaderMethod, defineQuery } from '../../src/rpc/method.ts'
import { fakeServer, fakeTable, type FakeServer } from './rpc-fakes.ts'

const none = () => ({ resource: 'none' }) as const

export const getRow = defineQuery({
  kind: 'query',
  name: 'rows.get',
  args: Type.Object({ key: Type.String() }),
  requires: none,
  query(reader, { key }) {
    const row = reader.get(fakeTable, [key])
    return { value: row ?? null, index: row?.index ?? reader.tableIndex(fakeTable as never) }
  },
})

export const listRows = defineQuery({
  kind: 'query',
  name: 'rows.list',
  args: Type.Object({ prefix: Type.String() }),
  requires: none,
  query(reader, { prefix }) {
    return {
      value: reader.pages(fakeTable, { startsWith: prefix }),
      index: reader.tableIndex(fakeTable as never),
    }
  },
})

export const putRow = defineLeaderMethod({
  kind: 'leader',
  name: 'rows.put',
  args: Type.Object({ key: Type.String({ maxLength: 128 }), value: Type.Unknown() }),
  requires: none,
  async run(context, args) {
    return (await context.propose(proposable('put'), args)).index
  },
})

export const rowRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/row/*',
    async handle(request) {
      const { value } = await request.query(getRow, { key: request.tail })
      return value === null ? { status: 404, text: 'row not found' } : { json: value }
    },
  },
  {
    method: 'PUT',
    path: '/v1/row/*',
    async handle(request) {
      const value = request.fields().raw('Value')
      const index = await request.call(putRow, { key: request.tail, value })
      return { json: { Index: index }, index }
    },
  },
  {
    method: 'GET',
    path: '/v1/rows',
    async handle(request) {
      const { value } = await request.query(listRows, {
        prefix: request.search.text('prefix') ?? '',
      })
      return { rows: value }
    },
  },
]

export type ApiFake = FakeServer & { readonly http: HttpServer }

export function apiFake(
  options: {
    readonly routes?: readonly Route[]
    readonly http?: Partial<HttpServerOptions>
    readonly dispatch?: Partial<ServerDispatcherOptions>
  } = {},
): ApiFake {
  const server = fakeServer({ methods: [getRow, listRows, putRow], ...options.dispatch })
  const http = new HttpServer({
    routes: [...rowRoutes, ...(options.routes ?? [])],
    dispatcher: server.dispatcher,
    clock: systemClock,
    random: seededRandom(1),
    log: silentLogger,
    region: 'global',
    ...options.http,
  })
  return { ...server, http }
}
