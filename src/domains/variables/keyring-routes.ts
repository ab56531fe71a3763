/** `/v1/operator/keyring/*`. */
import { nanoseconds } from '../../lib/date-text.ts'
import { Type } from 'typebox'
import type { DescribedRoute } from '../../api/route.ts'
import type { Search } from '../../api/search.ts'
import { blocking, flag, ok, optionally, text } from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
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
    query: optionally({
      full: flag('Every rotation is full'),
      algo: text('The one there is, aes256-gcm'),
      publish_time: text('501: a new key is used at once'),
    }),
    reply: ok(Rotated),
    example: {},
    body: 'none',
    handle: async (request) => {
      // `full` asks to seal everything anew, which every rotation does.
      request.search.flag('full')
      refuseOthers(request.search)
      const key = await request.call(keyringMethods.rotate, {})
      return { json: { Key: shown(key) }, index: key.modifyIndex }
    },
  },
]

const algorithm = 'aes256-gcm'

function refuseOthers(search: Search): void {
  const algo = search.text('algo') || algorithm
  if (algo !== algorithm) {
    throw new MusterError('invalid_argument', `algo is ${algorithm} or absent`)
  }
  if (!search.has('publish_time')) return
  throw new MusterError(
    'not_implemented',
    'a new key is used at once: no publish_time is kept, rotate without it (-now)',
  )
}

function shown(key: ShownKey) {
  return {
    KeyID: key.id,
    ClusterKeyID: key.clusterKeyId,
    Algorithm: algorithm,
    State: key.state,
    CreateTime: nanoseconds(key.createTimeMs),
    CreateIndex: key.createIndex,
    ModifyIndex: key.modifyIndex,
  }
}
