/** What pages in browsers may cause: the rule as a table, and the same over real connections. */
import { request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { Browsers, noBrowserSettings, type BrowserSettings } from '../../src/api/browsers.ts'
import { hostsRememberedMax, Hosts } from '../../src/api/hosts.ts'
import type { Route } from '../../src/api/route.ts'
import { MusterError } from '../../src/lib/errors.ts'
import { apiFake } from '../support/api-fake.ts'
import { everything } from '../support/everything.ts'

t.test('names have to be listed, addresses have not', (t) => {
  const hosts = new Hosts({
    ownNames: ['s1', 'Web1.Example.com'],
    allowedHosts: ['muster.example.org', '*.lb.example.org', 'dotted.example.org.'],
  })
  hosts.add('api.internal', { isFor: (name) => name === 'cert.example.org' })
  // oxfmt-ignore
  const cases: readonly (readonly [header: string, good: boolean])[] = [
    ['127.0.0.1:4646',              true],
    ['127.0.0.1',                   true],
    ['10.9.8.7:80',                 true],
    ['[::1]:4646',                  true],
    ['[fe80::1%eth0]:4646',         true],
    ['[2001:db8::7]',               true],
    ['2001:db8::7',                 true],
    ['localhost:4646',              true],
    ['LOCALHOST:1',                 true],
    ['localhost.:4646',             true],
    ['s1:4646',                     true],
    ['web1.example.com',            true],
    ['api.internal:4646',           true],
    ['cert.example.org',            true],
    ['muster.example.org:443',      true],
    ['MUSTER.example.org.',         true],
    ['dotted.example.org',          true],
    ['a.lb.example.org',            true],
    ['a.b.lb.example.org',          true],
    ['lb.example.org',              false],
    ['evil-lb.example.org',         false],
    ['evil.example',                false],
    ['evil.example:4646',           false],
    ['localhost.evil.example',      false],
    ['muster.example.org.evil.example', false],
    ['127.0.0.1.evil.example',      false],
    ['0x7f.1',                      false],
    ['127.1',                       false],
    ['127.0.0.1:',                  true],
    ['127.0.0.1:x',                 false],
    ['[evil.example]',              false],
    ['user@localhost',              false],
    ['localhost evil.example',      false],
    ['localhost,evil.example',      false],
    ['*',                           false],
  ]
  for (const [header, good] of cases) {
    t.equal(hosts.has(header), good, header)
    t.equal(hosts.has(header), good, `${header}, once more`)
  }
  hosts.configure({ ownNames: [], allowedHosts: ['*'] })
  t.ok(hosts.has('evil.example'), '* is any host')
  hosts.configure({ ownNames: [], allowedHosts: [] })
  t.notOk(hosts.has('evil.example'), 'what was good is judged anew')
  for (let port = 1; port <= 3 * hostsRememberedMax; port += 1) hosts.has(`localhost:${port}`)
  t.ok(hosts.has('localhost:1'))
  t.end()
})

const browserSettings: BrowserSettings = {
  ...noBrowserSettings,
  corsOrigins: ['https://ui.example.com'],
}

type Sent = {
  readonly method?: string
  readonly target?: string
  readonly isPublic?: boolean
  readonly changesByGet?: boolean
  readonly secure?: boolean
  readonly headers: Readonly<Record<string, string>>
}

const publicPath = '/v1/open'

/** `ok`, `cors`, `preflight`, or the status of the refusal. */
function verdict(browsers: Browsers, sent: Sent): string {
  const { method = 'PUT', target = '/v1/var/a', isPublic = false, secure = false, headers } = sent
  const { changesByGet = false } = sent
  const path = isPublic ? publicPath : '/v1/var/a'
  const socket = secure ? { encrypted: true } : {}
  const rawHeaders = Object.entries(headers).flat()
  const request = { method, headers, rawHeaders, socket } as unknown as IncomingMessage
  try {
    const admission = browsers.admit(request, target, { path, route: { changesByGet } })
    if (admission?.isPreflight === true) return 'preflight'
    return admission?.headers.includes('Access-Control-Allow-Origin') === true ? 'cors' : 'ok'
  } catch (error) {
    if (!(error instanceof MusterError) || !('status' in error)) throw error
    return String(error.status)
  }
}

t.test('a request that a page of another site caused is refused', (t) => {
  const browsers = new Browsers(browserSettings, { exposed: [], publicPaths: [publicPath] })
  const host = '127.0.0.1:4646'
  const own = `http://${host}`
  const evil = 'http://evil.example'
  const ui = 'https://ui.example.com'
  // oxfmt-ignore
  const cases: readonly (readonly [name: string, sent: Sent, expected: string])[] = [
    ['a program',                        { headers: { host } },                                                       'ok'],
    ['HTTP/1.0 without a host',          { headers: {} },                                                             'ok'],
    ['an empty host',                    { headers: { host: '' } },                                                   'ok'],
    ['a rebound name',                   { headers: { host: 'evil.example:4646' } },                                  '403'],
    ['a rebound name that reads',        { method: 'GET', isPublic: true, headers: { host: 'evil.example' } },        '403'],
    ['a foreign host in the target',     { target: 'http://evil.example/v1/x', headers: { host } },                   '403'],
    ['the own host in the target',       { target: `http://${host}/v1/x`, headers: { host } },                        'ok'],
    ['an address somebody typed',        { method: 'GET', headers: { host, 'sec-fetch-site': 'none' } },              'ok'],
    ['a page of this listener',          { headers: { host, origin: own } },                                          'ok'],
    ['the browser says so',              { headers: { host, origin: `https://${host}`, 'sec-fetch-site': 'same-origin' } }, 'ok'],
    ['a page of it over TLS',            { secure: true, headers: { host, origin: `https://${host}` } },              'ok'],
    ['the same host without TLS',        { secure: true, headers: { host, origin: own } },                            '403'],
    ['another port of the host',         { headers: { host, origin: 'http://127.0.0.1:8080' } },                      '403'],
    ['another site',                     { headers: { host, origin: evil } },                                         '403'],
    ['another site, as it says itself',  { headers: { host, origin: evil, 'sec-fetch-site': 'cross-site' } },         '403'],
    ['a page without an origin',         { headers: { host, origin: 'null' } },                                       '403'],
    ['a neighbour of the site',          { headers: { host, origin: 'http://a.example', 'sec-fetch-site': 'same-site' } }, '403'],
    ['an image of another site',         { method: 'GET', headers: { host, 'sec-fetch-site': 'cross-site' } },        '403'],
    ['an image of a neighbour',          { method: 'GET', headers: { host, 'sec-fetch-site': 'same-site' } },         '403'],
    ['a word nobody knows',              { method: 'GET', headers: { host, 'sec-fetch-site': 'cross-site, none' } },  '403'],
    ['an origin and a typed address',    { headers: { host, origin: evil, 'sec-fetch-site': 'none' } },               '403'],
    ['public data, by GET',              { method: 'GET', isPublic: true, headers: { host, origin: evil } },          'ok'],
    ['public data, by HEAD',             { method: 'HEAD', isPublic: true, headers: { host, 'sec-fetch-site': 'cross-site' } }, 'ok'],
    ['public data, by POST',             { method: 'POST', isPublic: true, headers: { host, origin: evil } },         '403'],
    ['public data as a WebSocket',       { method: 'GET', isPublic: true, headers: { host, origin: evil, upgrade: 'websocket' } }, '403'],
    ['a listed origin',                  { headers: { host, origin: ui, 'sec-fetch-site': 'cross-site' } },           'cors'],
    ['a listed origin by plain HTTP',    { headers: { host, origin: 'http://ui.example.com' } },                      '403'],
    ['a listed origin, rebound',         { headers: { host: 'evil.example', origin: ui } },                           '403'],
    ['an image of a listed site',        { method: 'GET', headers: { host, 'sec-fetch-site': 'cross-site' } },        '403'],
    ['a preflight of a listed origin',   { method: 'OPTIONS', headers: { host, origin: ui, 'access-control-request-method': 'PUT' } }, 'preflight'],
    ['a preflight of another site',      { method: 'OPTIONS', headers: { host, origin: evil, 'access-control-request-method': 'PUT' } }, '403'],
    ['a GET that changes, by a program', { method: 'GET', changesByGet: true, headers: { host, 'user-agent': 'python-requests/2.32' } }, 'ok'],
    ['the same by fetch in a program',   { method: 'GET', changesByGet: true, headers: { host, 'user-agent': 'node', 'sec-fetch-mode': 'cors' } }, 'ok'],
    ['the same by an image, no loopback', { method: 'GET', changesByGet: true, headers: { host, 'user-agent': 'Mozilla/5.0 (X11)' } }, '403'],
    ['the same, typed or redirected',    { method: 'GET', changesByGet: true, headers: { host, 'user-agent': 'Mozilla/5.0 (X11)', 'sec-fetch-site': 'none' } }, '403'],
    ['the same, with no browser\'s name', { method: 'GET', changesByGet: true, headers: { host, 'sec-fetch-site': 'none' } }, '403'],
    ['the same by a page of this listener', { method: 'GET', changesByGet: true, headers: { host, 'user-agent': 'Mozilla/5.0 (X11)', 'sec-fetch-site': 'same-origin' } }, 'ok'],
    ['the same by a listed origin',      { method: 'GET', changesByGet: true, headers: { host, origin: ui, 'user-agent': 'Mozilla/5.0 (X11)' } }, 'cors'],
    ['OPTIONS that asks nothing',        { method: 'OPTIONS', headers: { host, origin: ui } },                        'cors'],
  ]
  for (const [name, sent, expected] of cases) t.equal(verdict(browsers, sent), expected, name)
  t.end()
})

let written = 0

const routes: readonly Route[] = [
  {
    method: 'PUT',
    path: '/v1/write',
    body: 'bytes',
    handle: () => {
      written += 1
      return { json: true }
    },
  },
  { method: 'GET', path: '/v1/open', public: true, handle: () => ({ text: 'open' }) },
  {
    method: 'GET',
    path: '/v1/follow',
    websocket: true,
    handle: () => ({ stream: (async function* () {})() }),
  },
]

async function serve(t: Test, browsers?: BrowserSettings) {
  const { http } = apiFake({ routes, http: { ...(browsers !== undefined && { browsers }) } })
  const port = await http.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => http.stop(0))
  return { http, port }
}

type Asked = {
  readonly status: number
  readonly text: string
  readonly headers: IncomingMessage['headers']
}

function ask(
  port: number,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<Asked> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ host: '127.0.0.1', port, method, path, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (text += chunk))
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, text, headers: response.headers })
      })
    })
    sent.on('error', reject)
    sent.on('upgrade', (response, socket) => {
      socket.destroy()
      resolve({ status: response.statusCode ?? 0, text: '', headers: response.headers })
    })
    sent.end()
  })
}

const handshake = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'sec-websocket-version': '13',
}

t.test(
  'over a connection a refusal is one line that names the setting, and nothing runs',
  async (t) => {
    const { port } = await serve(t)
    const evil = { origin: 'http://evil.example' }
    const before = written
    const crossed = await ask(port, 'POST', '/v1/write', { ...evil, 'content-type': 'text/plain' })
    t.equal(crossed.status, 403)
    t.match(
      crossed.text,
      /^a page of "http:\/\/evil\.example" .*http\.cors\.allowed_origins[^\n]*$/,
    )
    t.equal(crossed.headers['access-control-allow-origin'], undefined)
    const rebound = await ask(port, 'PUT', '/v1/write', { host: 'evil.example:4646' })
    t.equal(rebound.status, 403)
    t.match(rebound.text, /"evil\.example:4646": http\.allowed_hosts may name it$/)
    t.equal((await ask(port, 'GET', '/v1/follow', { ...handshake, ...evil })).status, 403)
    t.equal(
      (await ask(port, 'GET', '/v1/follow', { ...handshake, host: 'evil.example' })).status,
      403,
    )
    t.equal(
      (await ask(port, 'GET', '/nowhere', { host: 'evil.example' })).status,
      403,
      'also no path',
    )
    t.equal((await ask(port, 'OPTIONS', '/v1/write', evil)).status, 403)
    t.equal(written, before, 'nothing was written')
    t.equal((await ask(port, 'GET', '/v1/open', evil)).status, 200)
    t.equal((await ask(port, 'PUT', '/v1/write', {})).status, 200)
    t.equal((await ask(port, 'GET', '/v1/follow', handshake)).status, 101)
    t.equal(written, before + 1)
  },
)

t.test('several hosts are 400, and none is but for HTTP/1.0', async (t) => {
  const { port } = await serve(t)
  const talk = (head: string): Promise<string> => {
    const socket = connect(port, '127.0.0.1')
    socket.write(`${head}\r\n\r\n`)
    return everything(socket)
  }
  t.match(
    await talk(
      'GET /v1/open HTTP/1.1\r\nConnection: close\r\nHost: localhost\r\nhost: evil.example',
    ),
    /^HTTP\/1\.1 400 [^]*more than one Host header$/,
  )
  t.match(
    await talk('GET /v1/open HTTP/1.1\r\nConnection: close'),
    /^HTTP\/1\.1 400 [^]*X-Request-Id: [^]*must have a Host header$/,
  )
  t.match(await talk('GET /v1/open HTTP/1.0'), /^HTTP\/1\.1 200 /)
  t.match(
    await talk('GET http://evil.example/v1/open HTTP/1.1\r\nConnection: close\r\nHost: localhost'),
    /^HTTP\/1\.1 403 /,
  )
})

t.test('a listed origin may use the API and read its answers, errors among them', async (t) => {
  const { port, http } = await serve(t, browserSettings)
  const origin = 'https://ui.example.com'
  const preflight = await ask(port, 'OPTIONS', '/v1/write', {
    origin,
    'access-control-request-method': 'PUT',
    'access-control-request-headers': 'x-service-token,content-type',
  })
  t.equal(preflight.status, 204)
  t.match(preflight.headers, {
    vary: 'Origin',
    'access-control-allow-origin': origin,
    'access-control-allow-methods': /PUT/,
    'access-control-allow-headers': 'x-service-token,content-type',
    'access-control-max-age': '600',
  })
  t.equal(preflight.headers['access-control-allow-credentials'], undefined)
  t.equal(preflight.headers['access-control-allow-private-network'], undefined)
  const fromInternet = await ask(port, 'OPTIONS', '/v1/write', {
    origin,
    'access-control-request-method': 'PUT',
    'access-control-request-private-network': 'true',
  })
  t.equal(fromInternet.headers['access-control-allow-private-network'], 'true')
  const put = await ask(port, 'PUT', '/v1/write', { origin })
  t.equal(put.status, 200)
  const exposed = put.headers['access-control-expose-headers']?.split(', ') ?? []
  const needed = ['Service', 'Consul', 'Nomad', 'Vault'].flatMap((name) =>
    [
      'Index',
      'KnownLeader',
      'LastContact',
      'NextToken',
      'ContentHash',
      'Results-Filtered-By-ACLs',
    ].map((header) => `X-${name}-${header}`),
  )
  t.same(exposed.toSorted(), [...needed, 'X-Request-Id', 'Retry-After'].toSorted())
  for (const path of ['/v1/row/none', '/nowhere', '/v1/rows', '/v1/follow']) {
    const { headers } = await ask(port, 'GET', path, { origin })
    t.equal(headers['access-control-allow-origin'], origin, path)
    t.match(headers.vary, /Origin/, path)
  }
  t.equal((await ask(port, 'GET', '/v1/follow', { ...handshake, origin })).status, 101)
  t.equal((await ask(port, 'GET', '/v1/open', {})).headers.vary, 'Origin', 'for caches')
  http.configureBrowsers(noBrowserSettings)
  t.equal((await ask(port, 'PUT', '/v1/write', { origin })).status, 403, 'settings change at once')
})
