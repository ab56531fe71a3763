/** What holds for all routes of the session service, one by one: a new route is among them by its path. */
import t from 'tap'
import type { Route } from '../../src/api/route.ts'
import { serverOfOne } from './server-of-one.ts'

const paths = /^\/v1\/(?:session|kv|txn|catalog|health|agent\/(?:services?|checks?))(?:\/|$)/
const tenMinutesMs = 600_000

/** Answered from the agent's own memory, or from its configuration: nothing to be consistent with. */
const local = /^\/v1\/(?:agent\/|catalog\/datacenters)/

function urlOf({ path }: Route): string {
  return path.replaceAll(/:[a-z]+|\*/g, 'a')
}

void t.test('every route of the session service reads its query alike', async (t) => {
  const server = await serverOfOne(t, { begin: false })
  const routes = server.composed.routes.filter(({ path }) => paths.test(path))
  t.ok(routes.length > 30)
  for (const route of routes) {
    const { method } = route
    const url = urlOf(route)
    const headers = route.dialect === undefined ? {} : { 'X-Service-Dialect': route.dialect }
    const ask = (query: string) =>
      server.ask(method, `${url}?${query}`, method === 'PUT' ? '[]' : undefined, undefined, headers)
    const name = `${method} ${url}`
    const other = await ask('dc=mars')
    t.equal(other.status, 400, `${name} in another datacenter`)
    t.match(other.body, /datacenter/)
    for (const own of ['dc=', 'dc=DC1']) t.notMatch((await ask(own)).body, /datacenter/, name)
    if (method !== 'GET' || local.test(url)) continue

    for (const bad of ['index=x', 'index=-1', 'wait=x', 'wait=10', 'stale=0&consistent=0']) {
      t.equal((await ask(bad)).status, 400, `${name}?${bad}`)
    }
    t.equal((await ask('max_stale=x')).status, 400, `${name}?max_stale=x`)
    t.equal(route.waitMsMax, tenMinutesMs, `${name} waits for ten minutes`)
    for (const query of ['', 'stale=no', 'consistent=0', 'leader', 'index=', 'index=0&wait=']) {
      const { headers } = await ask(query)
      for (const prefix of ['x-service', 'x-consul']) {
        t.match(headers[`${prefix}-index`], /^[1-9]\d*$/, `${name}?${query}`)
        t.equal(headers[`${prefix}-knownleader`], 'true')
        t.match(headers[`${prefix}-lastcontact`], /^\d+$/)
      }
    }
  }
})

void t.test('switches count by presence', async (t) => {
  const server = await serverOfOne(t, { begin: false })
  await server.ask('PUT', '/v1/kv/a', 'v')
  const rows = [
    ['/v1/kv/?keys=false', '["a"]'],
    ['/v1/kv/a?raw=no', 'v'],
    ['/v1/kv/?keys&pretty=no', '[\n    "a"\n]\n'],
    ['/v1/session/list?pretty=0', '[]\n'],
  ] as const
  for (const [url, body] of rows) t.equal((await server.ask('GET', url)).body, body, url)
})

void t.test('names of members match in any letter case, in every body', async (t) => {
  const server = await serverOfOne(t)
  const rows: readonly (readonly [url: string, body: object])[] = [
    ['/v1/catalog/register', { node: 'n', ADDRESS: '10.0.0.1', check: { nAme: 'c' } }],
    ['/v1/session/create', { NODE: 'n', nodechecks: [], ttl: '20s', lockDELAY: '1s' }],
    ['/v1/txn', [{ kv: { verb: 'set', KEY: 'a', value: '' } }]],
    ['/v1/agent/check/register', { name: 'c', Ttl: '1h' }],
    ['/v1/var/a', { items: { Key: 'v', key: 'w' } }],
    ['/v1/namespace', { name: 'team', META: { A: 'b' } }],
    ['/v1/operator/autopilot/configuration', { minquorum: 3 }],
  ]
  for (const [url, body] of rows) {
    const answer = await server.ask('PUT', url, body)
    t.equal(answer.status, 200, `${url}: ${answer.body}`)
  }
  t.match((await server.ask('GET', '/v1/var/a')).json(), { Items: { Key: 'v', key: 'w' } })
  const config = await server.ask('GET', '/v1/operator/autopilot/configuration')
  t.match(config.json(), { MinQuorum: 3 })
})
