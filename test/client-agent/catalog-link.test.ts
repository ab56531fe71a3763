/** A client agent's way to its node in the catalog. */
import t, { type Test } from 'tap'
import { ClientCatalogLink } from '../../src/client-agent/catalog-link.ts'
import { serverStandIn, upstreamTo } from './server-stand-in.ts'

const [own, other] = [
  '00000001-0000-4000-8000-000000000000',
  '00000002-0000-4000-8000-000000000000',
]

async function catalogWith(t: Test, answers: Record<string, [status: number, body: string]>) {
  const asked: string[] = []
  const place = await serverStandIn(t, (request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => (body += text))
    request.on('end', () => {
      asked.push(`${request.method} ${request.url} ${body}`)
      const [status, text] = answers[request.url ?? ''] ?? [404, 'no such path']
      response.writeHead(status).end(text)
    })
  })
  const upstream = upstreamTo(t, () => [place])
  const catalog = new ClientCatalogLink(upstream, 'the token')
  t.teardown(() => catalog.stop())
  return { catalog, asked, answers }
}

t.test('a node that is there, one that is not yet, and one of another agent', async (t) => {
  const [ofCatalog, ofHealth] = ['/v1/catalog/node/c%201', '/v1/health/node/c%201']
  const node = (id: string) =>
    JSON.stringify({
      Node: { ID: id, Node: 'c 1', Address: '10.0.0.1', Meta: { b: '2', a: '1' } },
      Services: { web: { ID: 'web', Service: 'web', Port: 80, Meta: { b: '2', a: '1' } } },
    })
  const { catalog, answers } = await catalogWith(t, {
    [ofCatalog]: [200, node(own)],
    [ofHealth]: [200, '[{"Node":"c 1","CheckID":"One","Name":"one","Status":"passing"}]'],
  })
  const { node: found, services, checks } = await catalog.held('c 1')
  t.match(found, {
    id: own,
    name: 'c 1',
    meta: [
      ['a', '1'],
      ['b', '2'],
    ],
  })
  t.match(services.get('web'), {
    name: 'web',
    port: 80,
    meta: [
      ['a', '1'],
      ['b', '2'],
    ],
  })
  t.match(checks.get('one'), { id: 'One', status: 'passing', definition: '{}' })
  answers[ofCatalog] = [200, node(other)]
  t.equal((await catalog.held('c 1')).node?.id, other)
  answers[ofCatalog] = [200, 'null']
  answers[ofHealth] = [200, '[]']
  t.match(await catalog.held('c 1'), { node: null, services: new Map() })
  for (const [status, body, code] of [
    [403, 'Permission denied', 'permission_denied'],
    [500, 'No cluster leader', 'unavailable'],
    [400, 'so not', 'invalid_argument'],
    [200, '[]', 'unavailable'],
    [200, '{"Services":{"x":1}}', 'unavailable'],
    [200, '{', 'unavailable'],
  ] as const) {
    answers[ofCatalog] = [status, body]
    await t.rejects(catalog.held('c 1'), { code }, body)
  }
})

t.test('what it sends is what the API takes, and refusals are told', async (t) => {
  const { catalog, asked, answers } = await catalogWith(t, {
    '/v1/catalog/register': [200, 'true'],
    '/v1/catalog/deregister': [200, 'true'],
    '/v1/catalog/agent': [200, 'true'],
  })
  const node = {
    name: 'c1',
    id: own,
    address: '10.0.0.1',
    datacenter: 'dc1',
    taggedAddresses: [],
    meta: [],
  }
  const registration = { node, skipNodeUpdate: true, service: null, checks: [] }
  await catalog.send({ type: 'register', registration })
  const deregistration = { node: 'c1', serviceId: 'web', checkId: null }
  await catalog.send({ type: 'deregister', deregistration })
  t.match(asked[0], `"Node":"c1","ID":"${own}","Address":"10.0.0.1","SkipNodeUpdate":true`)
  t.match(asked[1], '{"Node":"c1","ServiceID":"web","CheckID":""}')
  const meta = [['muster-gossip', '10.0.0.1:4648'] as const]
  await catalog.announce({ ...node, taggedAddresses: [['lan', '10.0.0.1']], meta })
  t.equal(
    asked[2],
    `PUT /v1/catalog/agent {"Node":"c1","ID":"${own}","Address":"10.0.0.1","Datacenter":"dc1","TaggedAddresses":{"lan":"10.0.0.1"},"NodeMeta":{"muster-gossip":"10.0.0.1:4648"}}`,
  )
  answers['/v1/catalog/register'] = [403, 'Permission denied']
  await t.rejects(catalog.send({ type: 'register', registration }), {
    code: 'permission_denied',
    message: /acl[.]agent_token must be/,
  })
})
