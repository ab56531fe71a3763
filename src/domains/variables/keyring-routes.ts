/** `/v1/operator/keyring/*`. */
import { nanoseconds } from '../../api/json.ts'
import type { Route } from '../../api/route.ts'
import { keyringMethods, type ShownKey } from './keyring-methods.ts'

export const keyringRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/operator/keyring/keys',
    handle: async (request) => {
      const { value } = await request.query(keyringMethods.list, {})
      return { json: value.map(shown) }
    },
  },
  {
    method: 'PUT',
    path: '/v1/operator/keyring/rotate',
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
