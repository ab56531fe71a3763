import t from 'tap'
import { serverOfOne } from '../server-of-one.ts'

type Shown = { Name: string; CreateIndex: number; ModifyIndex: number }

void t.test('namespaces are made, changed, listed and deleted', async (t) => {
  const server = await serverOfOne(t)
  t.match((await server.ask('GET', '/v1/namespace/default')).json(), {
    Name: 'default',
    CreateIndex: 1,
  })
  const created = await server.ask('PUT', '/v1/namespace', {
    Name: 'prod',
    Description: 'live',
    Meta: { b: '2', a: '1', __proto: 'x' },
  })
  t.equal(created.status, 200)
  const first = created.json() as Shown
  t.equal(created.headers['x-service-index'], String(first.ModifyIndex))
  t.same((await server.ask('GET', '/v1/namespace/prod')).json(), first)

  const changed = (await server.ask('POST', '/v1/namespace/prod', {})).json() as Shown
  t.match(changed, { Description: '', CreateIndex: first.CreateIndex })
  t.ok(changed.ModifyIndex > first.ModifyIndex)
  await server.ask('PUT', '/v1/namespace/preview', {})

  const names = async (query: string) =>
    ((await server.ask('GET', `/v1/namespaces${query}`)).json() as Shown[]).map(({ Name }) => Name)
  t.same(await names(''), ['default', 'preview', 'prod'])
  t.same(await names('?prefix=pr'), ['preview', 'prod'])

  const deleted = await server.ask('DELETE', '/v1/namespace/prod')
  t.equal(deleted.status, 200)
  const gone = await server.ask('GET', '/v1/namespace/prod')
  t.equal(gone.status, 404)
  t.equal(gone.headers['x-service-index'], deleted.headers['x-service-index'])
  t.equal((await server.ask('DELETE', '/v1/namespace/prod')).status, 404)
})

void t.test('what breaks a rule is refused', async (t) => {
  const server = await serverOfOne(t)
  const cases = [
    ['DELETE', '/v1/namespace/default', undefined, 400, /default namespace cannot be deleted/],
    ['PUT', '/v1/namespace/a.b', {}, 400, /letters, digits and hyphens/],
    ['PUT', '/v1/namespace/*', {}, 400, /letters, digits and hyphens/],
    ['PUT', '/v1/namespace', {}, 400, /letters, digits and hyphens/],
    ['PUT', '/v1/namespace/a', { Name: 'b' }, 400, /differs/],
    ['PUT', '/v1/namespace/a', { Description: 'x'.repeat(257) }, 400, /256 bytes/],
    ['PUT', '/v1/namespace/a', { Meta: { k: 1 } }, 400, /must be a string/],
    ['PUT', '/v1/namespace/a', { Meta: { k: 'x'.repeat(20_000) } }, 400, /Meta may have/],
    ['PUT', '/v1/namespace/a', '', 400, /body is empty/],
    ['GET', `/v1/namespace/${'x'.repeat(200)}`, undefined, 404, /not found/],
  ] as const
  for (const [method, url, body, status, text] of cases) {
    const answer = await server.ask(method, url, body)
    t.equal(answer.status, status, `${method} ${url}: ${answer.body}`)
    t.match(answer.body, text)
  }
})

void t.test('bounds that would not hold are refused, empty ones are not', async (t) => {
  const server = await serverOfOne(t)
  const said = [
    [{ Capabilities: { EnabledTaskDrivers: ['docker'] } }, 'Capabilities.EnabledTaskDrivers'],
    [{ Capabilities: { DisabledTaskDrivers: ['raw_exec'] } }, 'Capabilities.DisabledTaskDrivers'],
    [{ Capabilities: { EnabledNetworkModes: ['host'] } }, 'Capabilities.EnabledNetworkModes'],
    [{ Capabilities: ['docker'] }, 'Capabilities'],
    [{ NodePoolConfiguration: { Default: 'gpu' } }, 'NodePoolConfiguration.Default'],
    [{ NodePoolConfiguration: { Denied: ['gpu'] } }, 'NodePoolConfiguration.Denied'],
    [
      { NodePoolConfiguration: { Default: 'default', Allowed: ['a'] } },
      'NodePoolConfiguration.Allowed',
    ],
    [{ VaultConfiguration: { Default: 'eu' } }, 'VaultConfiguration.Default'],
    [{ VaultConfiguration: { Default: 'default', Denied: ['eu'] } }, 'VaultConfiguration.Denied'],
    [{ ConsulConfiguration: { Allowed: ['eu'] } }, 'ConsulConfiguration.Allowed'],
    [{ ConsulConfiguration: 'eu' }, 'ConsulConfiguration'],
    [{ Quota: 'small' }, 'Quota'],
  ] as const
  for (const [body, path] of said) {
    const { status, body: text } = await server.ask('PUT', '/v1/namespace/app', body)
    t.equal(status, 400, path)
    t.ok(text.startsWith(`${path} must be empty or absent: `), text)
  }
  t.equal((await server.ask('GET', '/v1/namespace/app')).status, 404, 'and nothing was written')
  const nothing = [
    { Capabilities: null, NodePoolConfiguration: null, Quota: '' },
    { Capabilities: {}, NodePoolConfiguration: {}, Quota: null },
    { Capabilities: { EnabledTaskDrivers: null, DisabledTaskDrivers: [] } },
    { NodePoolConfiguration: { Default: 'default', Allowed: null, Denied: [] } },
    { VaultConfiguration: { Default: 'default', Allowed: null, Denied: null } },
    { VaultConfiguration: null, ConsulConfiguration: {} },
    { ConsulConfiguration: { Default: '', Allowed: [] } },
  ]
  for (const body of nothing) {
    t.equal((await server.ask('PUT', '/v1/namespace/app', body)).status, 200, JSON.stringify(body))
  }
})
