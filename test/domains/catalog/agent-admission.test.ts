/** A client agent registers its node, and the leader asks back. */
import t from 'tap'
import {
  Admission,
  asksBackMax,
  newAgentsPerSecondMax,
} from '../../../src/domains/catalog/admission.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { serverOfOne } from '../server-of-one.ts'

const id = (at: number) => `${String(at).padStart(8, '0')}-0000-4000-8000-000000000000`

const body = (at: number, more: object = {}) => ({
  Node: `web-${at}`,
  ID: id(at),
  Address: '10.0.0.1',
  Datacenter: 'dc2',
  TaggedAddresses: { lan: '10.0.0.1' },
  NodeMeta: { 'muster-gossip': `10.0.0.1:${1_000 + at}`, 'muster-version': '1.2.3' },
  ...more,
})

t.test('a node is there once its agent answered under its id at its address', async (t) => {
  const asked: string[] = []
  let isThere = false
  const server = await serverOfOne(t, {
    answers: (endpoint, who) => {
      asked.push(`${endpoint} ${who}`)
      return isThere
    },
  })
  const register = (json: object) => server.ask('PUT', '/v1/catalog/agent', json)
  t.match(await register(body(1)), { status: 503, body: /no agent with ID .* answers gossip at/ })
  t.equal((await server.ask('GET', '/v1/catalog/node/web-1')).body, 'null')
  isThere = true
  t.equal((await register(body(1))).status, 200)
  t.same([...new Set(asked)], [`10.0.0.1:1001 ${id(1)}`])
  t.match(JSON.parse((await server.ask('GET', '/v1/catalog/node/web-1')).body), {
    Node: { ID: id(1), Datacenter: 'dc2', Meta: { 'muster-gossip': '10.0.0.1:1001' } },
  })
  t.match(JSON.parse((await server.ask('GET', '/v1/health/node/web-1')).body), [
    { CheckID: 'gossipHealth', Status: 'passing' },
  ])
  const count = asked.length
  t.equal((await register(body(1))).status, 200)
  t.equal(asked.length, count, 'what stands is not asked for again')
  t.match(await register(body(2, { Node: 'WEB-1' })), {
    status: 400,
    body: /reserved by the living/,
  })
  t.equal(asked.length, count, 'nobody is asked for a name that is taken')
})

t.test('what is no agent is refused', async (t) => {
  const server = await serverOfOne(t, { answers: () => true })
  for (const wrong of [
    { ID: '' },
    { ID: 'x' },
    { Node: '' },
    { Address: '' },
    { NodeMeta: {} },
    { NodeMeta: { 'muster-gossip': 'example.com:80' } },
    { NodeMeta: { 'muster-gossip': '10.0.0.1:0' } },
    { NodeMeta: { 'muster-gossip': '10.0.0.1:65536' } },
    { NodeMeta: { 'muster-gossip': '[10.0.0.1]:1' } },
    { Service: { Service: 'web' } },
  ]) {
    const answer = await server.ask('PUT', '/v1/catalog/agent', body(1, wrong))
    t.equal(answer.status, 400, JSON.stringify(wrong))
  }
  const v6 = body(1, { NodeMeta: { 'muster-gossip': '[2001:db8::1]:4648' } })
  t.equal((await server.ask('PUT', '/v1/catalog/agent', v6)).status, 200)
})

t.test('new agents come at a bounded rate, and known ones at any', async (t) => {
  const clock = manualClock()
  const admission = new Admission({ answers: async () => true, clock })
  const admit = (isNew: boolean) => admission.admit({ endpoint: '10.0.0.1:1', id: id(1), isNew })
  for (let at = 0; at < newAgentsPerSecondMax; at += 1) await admit(true)
  await t.rejects(admit(true), { code: 'overloaded', message: /new agents came within a second/ })
  await admit(false)
  clock.advance(1_000)
  await admit(true)
})

t.test('so many agents are asked back at once', async (t) => {
  const answer = Promise.withResolvers<boolean>()
  const admission = new Admission({ answers: () => answer.promise, clock: manualClock() })
  const admit = () => admission.admit({ endpoint: '10.0.0.1:1', id: id(1), isNew: false })
  const waiting = Array.from({ length: asksBackMax }, admit)
  await t.rejects(admit(), { code: 'overloaded', message: /are being asked back/ })
  answer.resolve(true)
  await Promise.all(waiting)
  await admit()
})
