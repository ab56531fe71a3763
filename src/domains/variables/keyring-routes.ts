/** `/v1/operator/keyring/*`. */
import { nanoseconds } from '../../lib/date-text.ts'
import { Type } from 'typebox'
import type { DescribedRoute } from '../../api/route.ts'
import { blocking, flag, ok, optionally } from '../../api/shape.ts'
import { keyringMethods, type ShownKey } from './keyring-methods.ts'
import { KeyOfRing, Rotated } from './shapes.ts'

export const keyringRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: '/v1/operator/keyring/keys',
    summary: 'Keys that seal variables, without the keys themselves',
    permission: 'operator:read',
    query: blocking,
    reply: ok(Type.Array(KeyOfRing)),
    example: {},
    handle: async (request) => {
      const { value } = await request.query(keyringMethods.list, {})
      return { json: value.map(shown) }
    },
  },
  {
    method: 'PUT',
    path: '/v1/operator/keyring/rotate',
    summary: 'Make a new key and seal all variables anew',
    permission: 'operator:write',
    query: optionally({ full: flag('Every rotation is full') }),
    reply: ok(Rotated),
    example: {},
    body: 'none',
    handle: async (request) => {
      // `full` asks to seal everything anew, which every rotation does.
      request.search.flag('full')
      const key = await request.call(keyringMethods.rotate, {})
      return { json: { Key: shown(key) }, index: key.modifyIndex }
    },
  },
]

function shown(key: ShownKey) {
  return {
    KeyID: key.id,
    Algorithm: 'aes256-gcm',
    State: key.state,
    CreateTime: nanoseconds(key.createTimeMs),
    CreateIndex: key.createIndex,
    ModifyIndex: key.modifyIndex,
  }
}
