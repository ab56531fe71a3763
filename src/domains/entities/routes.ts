/** `/v1/identity/entity`: who logged in, as clients of Vault ask for it. */
import { Type } from 'typebox'
import {
  dataReply,
  envelope,
  keysEnvelope,
  keysReply,
  nothingThere,
  writtenReply,
} from '../../api/envelope.ts'
import { pageOf } from '../../api/pages.ts'
import type { ApiRequest, DescribedRoute } from '../../api/route.ts'
import { blocking, listing, text } from '../../api/shape.ts'
import { dateText } from '../../lib/date-text.ts'
import { entityMethods, type ShownEntity } from './methods.ts'
import { idLengthMax } from './model.ts'

const path = '/v1/identity/entity/id/:id'
const url = '/v1/identity/entity/id/8f2c6c5e-5d1b-4c43-9d0e-3f1f0a1b2c3d'
const named = { id: text('Id of the entity, as tokens show it') }

const Entity = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    creation_time: text('When it first logged in'),
    aliases: Type.Array(
      Type.Object({
        mount_id: text('Of the login method; token: given with a token'),
        rule: text('By what it is called so'),
        name: Type.String(),
      }),
    ),
  },
  { title: 'Entity' },
)

export const entityRoutes: readonly DescribedRoute[] = [
  {
    method: 'LIST',
    path: '/v1/identity/entity/id',
    summary: 'List the ids of entities',
    permission: 'acl:list',
    query: { ...blocking, ...listing },
    reply: keysReply,
    errors: ['not_found'],
    example: { status: 404 },
    handle: async (request) =>
      keysEnvelope(request, (await request.query(entityMethods.list, pageOf(request))).value),
  },
  {
    method: 'GET',
    path,
    summary: 'Read an entity and what it is called',
    permission: 'acl:read',
    params: named,
    query: blocking,
    reply: dataReply(Entity),
    errors: ['not_found'],
    example: { url, status: 404 },
    handle: async (request) => {
      const { value } = await request.query(entityMethods.read, { id: idOf(request) })
      if (value === null) throw nothingThere()
      return envelope(request, { data: shown(value) })
    },
  },
  {
    method: 'DELETE',
    path,
    summary: 'Forget an entity: its next login makes another one',
    permission: 'acl:write',
    params: named,
    reply: writtenReply,
    example: { url, status: 204 },
    handle: async (request) => {
      await request.call(entityMethods.remove, { id: idOf(request) })
      return envelope(request, {})
    },
  },
]

function idOf(request: ApiRequest): string {
  const id = request.parameter('id')
  if (id.length <= idLengthMax) return id
  throw nothingThere()
}

function shown({ row, aliases }: ShownEntity) {
  return {
    id: row.id,
    name: row.name,
    creation_time: dateText(row.createTimeMs),
    aliases: aliases.map(({ mountId, rule, name }) => ({ mount_id: mountId, rule, name })),
  }
}
