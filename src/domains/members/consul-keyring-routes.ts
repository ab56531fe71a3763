/** `/v1/operator/keyring` in Consul's forms: the HTTP method says what becomes of the gossip key in the body. */
import { Type } from 'typebox'
import {
  type ApiRequest,
  type DescribedRoute,
  type RouteMethod,
  smallBodyBytesMax,
} from '../../api/route.ts'
import { count, done, ok, optionally } from '../../api/shape.ts'
import { site } from '../../api/site.ts'
import { MusterError } from '../../lib/errors.ts'
import { membersMethods } from './methods.ts'
import type { KeyReport } from './pool.ts'
import { changeSummaries, ConsulKeyReport, exampleKey, KeyBody } from './shapes.ts'

const path = '/v1/operator/keyring'

const changeByMethod = [
  ['POST', 'install'],
  ['PUT', 'use'],
  ['DELETE', 'remove'],
] as const satisfies readonly (readonly [RouteMethod, string])[]

const relay = optionally({ 'relay-factor': count('Only 0') })

export const keyringRoutesOfConsul: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path,
    summary: "Keys of the gossip, in Consul's shape",
    permission: 'keyring:read',
    query: relay,
    reply: ok(Type.Array(ConsulKeyReport)),
    example: {},
    switches: 'presence',
    anyRegion: true,
    handle: async (request) => {
      assertNoRelay(request)
      return {
        json: [
          shownRing(await request.call(membersMethods.keys, {}), request.service(site).datacenter),
        ],
      }
    },
  },
  ...changeByMethod.map(([method, type]): DescribedRoute => ({
    method,
    path,
    summary: changeSummaries[type],
    permission: 'keyring:write',
    errors: ['conflict'],
    query: relay,
    bodySchema: KeyBody,
    reply: done,
    example: { body: { Key: exampleKey } },
    switches: 'presence',
    bodyBytesMax: smallBodyBytesMax,
    anyRegion: true,
    handle: async (request) => {
      assertNoRelay(request)
      const key = request.fields().text('Key') ?? ''
      if (key === '') throw new MusterError('invalid_argument', 'Key is missing: a key in base64')
      await request.call(membersMethods.changeKey, { type, key })
      return {}
    },
  })),
]

/** Consul's tools send `relay-factor` with every request, 0 by default: more is no part of this operation here. */
function assertNoRelay({ search }: ApiRequest): void {
  const relays = search.integer('relay-factor', { min: 0, max: 255 }) ?? 0
  if (relays === 0) return
  throw new MusterError('invalid_argument', 'relay-factor must be 0: keys travel without relays')
}

/** The one pool there is. Consul has a second one between datacenters, which would be a row of its own. */
function shownRing(report: KeyReport, datacenter: string) {
  return {
    WAN: false,
    Datacenter: datacenter,
    Segment: '',
    Messages: Object.fromEntries(report.errors),
    Keys: Object.fromEntries(report.keys),
    PrimaryKeys: Object.fromEntries(report.primaryKeys),
    NumNodes: report.members,
  }
}
