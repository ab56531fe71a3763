/**
 * What a page in a browser could do to agents on its own machine, a server and a client agent: requests as browsers send them
 * for a page of another site, and for one whose name was turned to this machine. Then the settings that allow it.
 */
import { readFile, writeFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { Authority, writeTlsFiles } from '../support/certificates.ts'
import { startClientAgent } from '../support/client-agent.ts'
import { startCluster } from '../support/cluster.ts'
import { eventually } from '../support/eventually.ts'
import type { HttpClient } from '../support/http-client.ts'
import { tlsBlock } from '../support/rpc-tls.ts'
import type { ServerProcess } from '../support/server-process.ts'

const evil = 'http://evil.example:8000'

/** A form or script of another site needs no preflight for these. */
const crossed = {
  origin: evil,
  'sec-fetch-site': 'cross-site',
  'content-type': 'text/plain',
}

const secret = '1f6c2a52-0b5e-4c3c-9a0e-000000000001'

// oxfmt-ignore
const attacks: readonly (readonly [method: string, path: string, body: string])[] = [
  ['POST',   '/v1/var/stolen',                                '{"Items":{"a":"b"}}'],
  ['PUT',    '/v1/kv/stolen',                                 'x'],
  ['POST',   '/v1/txn',                                       '[]'],
  ['POST',   '/v1/operator/snapshot',                         'an archive'],
  ['POST',   '/v1/operator/raft/transfer-leadership',         ''],
  ['DELETE', '/v1/operator/raft/peer?id=x',                   ''],
  ['POST',   '/v1/operator/keyring/rotate',                   ''],
  ['POST',   '/v1/operator/autopilot/configuration',          '{"CleanupDeadServers":false}'],
  ['POST',   '/v1/acl/bootstrap',                             `{"BootstrapSecret":"${secret}"}`],
  ['PUT',    '/v1/agent/check/register',                      '{"Name":"c","Args":["/bin/sh"],"Interval":"1s"}'],
  ['PUT',    '/v1/agent/service/register',                    '{"Name":"s"}'],
  ['POST',   '/v1/agent/join?address=203.0.113.1',            ''],
  ['PUT',    '/v1/session/create',                            '{}'],
  ['GET',    '/v1/vars',                                      ''],
  ['GET',    '/v1/agent/self',                                ''],
  ['GET',    '/v1/nowhere',                                   ''],
  ['OPTIONS', '/v1/kv/stolen',                                ''],
]

async function refusesAll(t: Test, http: HttpClient, name: string): Promise<void> {
  const rebound = { host: 'evil.example:8000' }
  for (const [method, path, body] of attacks) {
    for (const headers of [crossed, rebound]) {
      const reply = await http.request(method, path, { headers, body })
      const what = `${name}: ${method} ${path} by ${Object.keys(headers)[0] ?? ''}`
      t.equal(reply.status, 403, what)
      t.match(reply.body.toString(), /^[^\n]* http\.(cors\.allowed_origins|allowed_hosts) [^\n]*$/)
    }
  }
  for (const headers of [{ origin: evil }, rebound]) {
    const handshake = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-version': '13',
      ...headers,
    }
    const reply = await http.request('GET', '/v1/agent/monitor', { headers: handshake })
    t.equal(reply.status, 403, `${name}: a WebSocket`)
  }
}

/** In Consul's dialect a GET deregisters: an image or a redirect would do, of which a browser says this little. */
async function refusesChangesByGet(t: Test, http: HttpClient, name: string): Promise<void> {
  const path = '/v1/agent/service/deregister/kept'
  const byGet = (headers: Readonly<Record<string, string>>) =>
    http.request('GET', path, { headers: { 'x-consul-token': 'any', ...headers } })
  await http.request('PUT', '/v1/agent/service/register', { body: '{"Name":"kept"}' })
  const names = async () => Object.keys((await http.json('GET', '/v1/agent/services')) as object)
  for (const headers of [{ 'user-agent': 'Mozilla/5.0 (X11)' }, { 'sec-fetch-site': 'none' }]) {
    const reply = await byGet(headers)
    t.equal(reply.status, 403, `${name}: a GET that changes, by ${Object.keys(headers)[0] ?? ''}`)
    t.ok((await names()).includes('kept'), 'it is still registered')
  }
  t.equal((await byGet({ 'user-agent': 'python-requests/2.32' })).status, 200, 'a program')
  t.notOk((await names()).includes('kept'))
}

async function reloadWith({ configFile, pid }: ServerProcess, changed: object): Promise<void> {
  const config = JSON.parse(await readFile(configFile, 'utf8')) as object
  await writeFile(configFile, JSON.stringify({ ...config, ...changed }))
  process.kill(pid ?? 0, 'SIGHUP')
}

void t.test('a page of another site steers neither a server nor a client agent', async (t) => {
  const cluster = await startCluster(t, { servers: 1, gossip: true })
  await cluster.waitForLeader()
  const server = cluster.http(0)
  const { http: agent, process: agentProcess } = await startClientAgent(t, cluster)
  for (const [http, name] of [
    [server, 'server'],
    [agent, 'client agent'],
  ] as const) {
    await refusesAll(t, http, name)
    await refusesChangesByGet(t, http, name)
    t.equal((await http.request('GET', '/v1/kv/stolen')).status, 404, 'nothing was written')
    t.equal((await http.request('GET', '/v1/var/stolen')).status, 404)
    for (const path of ['/v1/status/leader', '/v1/status/peers', '/v1/agent/health']) {
      const { status } = await http.request('GET', path, { headers: { origin: evil } })
      t.equal(status, 200, `${path} tells any page as much as it tells anybody`)
    }
    const own = { host: 'localhost:4646', origin: 'http://localhost:4646' }
    const put = await http.request('PUT', '/v1/kv/own', { headers: own, body: 'x' })
    t.equal(put.status, 200, 'a page of this listener')
    t.equal((await http.request('PUT', '/v1/kv/tool', { body: 'x' })).status, 200, 'a program')
  }

  const settings = {
    http: { allowed_hosts: ['*.example'], cors: { allowed_origins: ['https://ui.example'] } },
  }
  for (const process of [cluster.server(0), agentProcess]) await reloadWith(process, settings)
  for (const http of [server, agent]) {
    const headers = { host: 'muster.example', origin: 'https://ui.example' }
    const put = await eventually('the settings are read', async () => {
      const reply = await http.request('PUT', '/v1/kv/ui', { headers, body: 'x' })
      return reply.status === 200 ? reply : undefined
    })
    t.equal(put.headers['access-control-allow-origin'], 'https://ui.example')
    const preflight = await http.request('OPTIONS', '/v1/kv/ui', {
      headers: { ...headers, 'access-control-request-method': 'PUT' },
    })
    t.equal(preflight.status, 204)
    t.match(preflight.headers['access-control-allow-methods'], 'PUT')
    t.match(put.headers['access-control-expose-headers'], /X-Service-Index.*X-Consul-Index/)
    const other = { host: 'muster.example', origin: evil }
    t.equal((await http.request('PUT', '/v1/kv/ui', { headers: other, body: 'x' })).status, 403)
  }
})

void t.test(
  'nor do they over HTTPS, where a plain page of this host is of another site',
  async (t) => {
    const authority = await Authority.create()
    const ca = authority.cert
    const files = await writeTlsFiles(t.testdir(), 'server', ca, await authority.issue())
    const tls = tlsBlock(files, { http: true })
    const cluster = await startCluster(t, { servers: 1, gossip: true, ca, config: { tls } })
    await cluster.waitForLeader()
    const server = cluster.http(0)
    const { http: agent } = await startClientAgent(t, cluster, {
      ca,
      config: { tls: { ...tls, rpc: false } },
    })
    for (const [http, name] of [
      [server, 'server'],
      [agent, 'client agent'],
    ] as const) {
      await refusesAll(t, http, name)
      await refusesChangesByGet(t, http, name)
      const put = async (origin: string) =>
        (await http.request('PUT', '/v1/kv/own', { headers: { host: 'localhost:4646', origin } }))
          .status
      t.equal(await put('https://localhost:4646'), 200, 'a page of this listener')
      t.equal(await put('http://localhost:4646'), 403, 'a page that came over plain HTTP')
    }
  },
)
