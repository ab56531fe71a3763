/** Which agent is asked, as whom, and what a person reads when that fails. */
import { readFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { standIn } from './api-stand-in.ts'
import { run } from './terminal.ts'

const empty = { 'GET /v1/namespaces': { json: [] } }

t.test('options go over the environment, ours over that of the peer', async (t) => {
  const agent = await standIn(t, empty)
  const list = ['namespace', 'list']
  const nobody = 'http://127.0.0.1:1'
  const ways: readonly (readonly [readonly string[], Readonly<Record<string, string>>])[] = [
    [['-address', agent.address], {}],
    [[`--address=${agent.address}/`], { MUSTER_ADDR: nobody }],
    [[], { MUSTER_ADDR: agent.address, NOMAD_ADDR: nobody }],
    [[], { NOMAD_ADDR: agent.address }],
    [['-address', agent.address.replace('http://', '')], {}],
  ]
  for (const [args, env] of ways) {
    t.match(await run([...list, ...args], { env }), { code: 0, err: '' }, args.join(' '))
  }
  t.equal(agent.asked.length, ways.length)
})

t.test('token, region and namespace travel with the request', async (t) => {
  const agent = await standIn(t, { 'GET /v1/vars': { json: [] } })
  const env = { MUSTER_ADDR: agent.address, MUSTER_TOKEN: 't-1', MUSTER_REGION: 'eu' }
  await run(['var', 'list', '-namespace', '*', 'a b'], { env })
  await run(['var', 'list', '-token', 't-2', '-region=us'], {
    env: { ...env, MUSTER_NAMESPACE: 'team' },
  })
  t.match(agent.asked, [
    { url: '/v1/vars?prefix=a+b&namespace=*&region=eu', headers: { 'x-service-token': 't-1' } },
    { url: '/v1/vars?namespace=team&region=us', headers: { 'x-service-token': 't-2' } },
  ])
})

t.test('of several addresses the next is asked where one cannot be reached', async (t) => {
  const agent = await standIn(t, {
    'GET /v1/namespaces': { json: [] },
    'PUT /v1/kv/a': { text: 'true' },
    'PUT /v1/operator/snapshot': { json: {} },
    'GET /v1/agent/monitor': { text: '{"Data":"bGluZQo="}' },
  })
  const nobody = 'http://127.0.0.1:1'
  const ways = [
    { args: ['-address', `${nobody},${agent.address}`], env: {} },
    { args: ['-address', nobody, '-address', agent.address], env: {} },
    { args: [], env: { MUSTER_ADDR: `${nobody}, ${agent.address}` } },
  ]
  for (const { args, env } of ways) {
    t.match(await run(['namespace', 'list', ...args], { env }), { code: 0, err: '' })
    t.match(await run(['kv', 'put', 'a', 'b', ...args], { env }), { code: 0, err: '' })
    t.match(await run(['monitor', ...args], { env }), { out: /^line/ })
  }
  const neither = await run(['namespace', 'list', '-address', `${nobody},http://127.0.0.1:2`])
  t.equal(neither.code, 1)
  t.match(neither.err, /no answer from http:\/\/127.0.0.1:1: .*; no answer from .*127.0.0.1:2: /)
})

t.test('a write that an agent took without an answer is not made at the next', async (t) => {
  const agent = await standIn(t, { 'PUT /v1/kv/a': { text: 'true' }, ...empty })
  const listener = createServer((socket) => void socket.once('data', () => socket.destroy()))
  await new Promise<void>((resolve) => {
    listener.listen(0, '127.0.0.1', resolve)
  })
  t.teardown(() => listener.close())
  const { port } = listener.address() as AddressInfo
  const env = { MUSTER_ADDR: `http://127.0.0.1:${port},${agent.address}` }
  t.match(await run(['kv', 'put', 'a', 'b'], { env }), { code: 1, err: /it broke off/ })
  t.equal(agent.asked.length, 0)
  t.match(await run(['namespace', 'list'], { env }), { code: 0, err: '' }, 'a read goes on')
})

t.test('an address may lead through a path of a proxy', async (t) => {
  const agent = await standIn(t, { 'GET /muster/v1/namespaces': { json: [] } })
  t.match(await run(['namespace', 'list', '-address', `${agent.address}/muster/`]), { code: 0 })
})

t.test('what goes wrong is one line, with what would be right', async (t) => {
  const agent = await standIn(t, {
    'GET /v1/namespaces': { status: 403, text: 'Permission denied\u001b[31m\nand more' },
    'GET /v1/vars': { status: 500, text: '' },
    'GET /v1/operator/keyring/keys': { text: '<html>' },
    'GET /v1/operator/raft/configuration': { json: { Servers: 'none', Index: 1 } },
    'GET /v1/agent/self': { status: 500, text: 'No path to region' },
    'GET /v1/namespace/x': { text: '{"Name', breaks: true, headers: { 'content-length': '99' } },
  })
  const failures: readonly (readonly [string, RegExp])[] = [
    ['namespace list', /^muster namespace list: Permission denied \[31m and more \(403\)\n$/],
    ['var list', /^muster var list: the agent answered 500 Internal Server Error\n$/],
    ['operator root keyring list', /the answer of 127\.0\.0\.1:\d+ is not valid JSON\n$/],
    ['status', /expected a list; does -address name one\?\n$/],
    ['namespace status x', /the answer broke off from http:\/\/127\.0\.0\.1:\d+: it broke off/],
    ['agent-info -region far', /No path to region "far": the agent is of another one; is MUSTER_/],
    ['namespace status y', /there is no namespace "y"\n$/],
  ]
  for (const [line, expected] of failures) {
    const { code, err, out } = await run(line.split(' '), { env: { MUSTER_ADDR: agent.address } })
    t.equal(code, 1, line)
    t.match(err, expected)
    t.equal(out, '')
  }
  const nobody = await run(['status', '-address', '127.0.0.1:1'])
  t.equal(nobody.code, 1)
  t.match(
    nobody.err,
    /no answer from http:\/\/127\.0\.0\.1:1: nothing listens there; start an agent/,
  )
  const secure = await run(['status', '-address', agent.address.replace('http', 'https')])
  t.match(secure.err, /it speaks no TLS/)
})

t.test('who hangs up on plain HTTP may speak TLS', async (t) => {
  const listener = createServer((socket) => void socket.once('data', () => socket.destroy()))
  await new Promise<void>((resolve) => {
    listener.listen(0, '127.0.0.1', resolve)
  })
  t.teardown(() => listener.close())
  const { port } = listener.address() as AddressInfo
  t.match(await run(['status', '-address', `127.0.0.1:${port}`]), {
    code: 1,
    err: /it broke off the connection; should the address begin with https:\/\/\?\n$/,
  })
})

t.test('a token is never repeated to the person', async (t) => {
  const bad = await run(['status', '-token', 's3cret with blanks'])
  t.equal(bad.code, 2)
  t.notMatch(bad.err, /s3cret/)
  const user = await run(['status', '-address', 'http://me:s3cret@host:1'])
  t.equal(user.code, 2)
  t.notMatch(user.err, /s3cret/)
})

t.test('HTTPS trusts the authority it is given, and shows a certificate', async (t) => {
  const dir = t.testdir()
  const make = (...args: string[]) => run(['tls', ...args, '-dir', dir])
  t.match(await make('ca', 'create'), { code: 0 })
  t.match(await make('cert', 'create', '-server'), { code: 0 })
  t.match(await make('cert', 'create', '-cli'), { code: 0 })
  const file = (name: string) => join(dir, name)
  const agent = await standIn(t, empty, {
    ca: await readFile(file('muster-agent-ca.pem')),
    cert: await readFile(file('global-server-muster.pem')),
    key: await readFile(file('global-server-muster-key.pem')),
    requestCert: true,
    rejectUnauthorized: true,
  })
  const env = {
    MUSTER_ADDR: agent.address,
    MUSTER_CLIENT_CERT: file('global-cli-muster.pem'),
    MUSTER_CLIENT_KEY: file('global-cli-muster-key.pem'),
  }
  const ca = ['-ca-cert', file('muster-agent-ca.pem')]
  const list = (args: readonly string[], more = {}) =>
    run(['namespace', 'list', ...args], { env: { ...env, ...more } })
  t.match(await list(ca), { code: 0, err: '' })
  t.match(await list([...ca, '-tls-server-name', 'server.global.muster']), { code: 0, err: '' })
  t.match(await list(['-tls-skip-verify']), { code: 0 })
  t.match(await list([], { MUSTER_SKIP_VERIFY: 'true' }), { code: 0 })
  t.match(await list([]), { code: 1, err: /an authority not trusted here; give -ca-cert/ })
  t.match(await list([...ca, '-tls-server-name', 'server.other.muster']), { code: 1 })
  t.match(await list(ca, { MUSTER_CLIENT_CERT: '', MUSTER_CLIENT_KEY: '' }), { code: 1 })
  t.match(await list(ca, { MUSTER_CLIENT_KEY: '' }), { code: 2, err: /belong together/ })
  t.match(await list(['-ca-cert', file('absent.pem')]), { code: 1, err: /-ca-cert: ENOENT/ })
})
