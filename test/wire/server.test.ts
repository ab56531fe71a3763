import { connect } from 'node:net'
import t from 'tap'
import { dial, DialError } from '../../src/wire/dial.ts'
import { WireServer } from '../../src/wire/server.ts'
import { collect, echoServer, path, wireOf, type WireSpec } from './echo.ts'
import { Proxy } from './proxy.ts'
import { until } from './until.ts'

t.test('frames come back in order, and both sides know each other', async (t) => {
  const { address, wire: served } = await echoServer(t, { id: 'b' })
  const wire = wireOf({ id: 'a' })
  const stream = await dial(wire, { address, path, to: 'b' })
  const frames = collect(stream)
  for (let n = 0; n < 500; n += 1) stream.write(Buffer.from(`frame ${n}`))
  await until('all frames are back', () => frames.length === 500)
  t.same(
    frames,
    Array.from({ length: 500 }, (_, n) => `frame ${n}`),
  )
  t.match(stream.peer, { id: 'b', clusterId: 'c1', version: 2 })
  t.equal(wire.peerVersion('b'), 2)
  t.equal(served.peerVersion('a'), 2)
  stream.close('done')
})

t.test('of servers of mixed versions each is known by the one that both sides speak', async (t) => {
  const newer = await echoServer(t, { id: 'b' })
  const older = await echoServer(t, { id: 'c', versions: { min: 1, max: 1 } })
  const wire = wireOf({ id: 'a' })
  t.equal(wire.peerVersion('b'), null, 'it was never met')
  for (const [to, { address }] of Object.entries({ b: newer, c: older })) {
    const stream = await dial(wire, { address, path, to })
    stream.close('done')
  }
  t.equal(wire.peerVersion('b'), 2)
  t.equal(wire.peerVersion('c'), 1)
})

t.test('what does not fit is refused with a sentence on both sides', async (t) => {
  const lines: string[] = []
  const { address } = await echoServer(t, { id: 'b', log: lines })
  const rows: [Partial<WireSpec>, string, RegExp][] = [
    [{ cluster: 'c2' }, 'b', /belongs to cluster c2/],
    [{}, 'x', /wants to reach server x at this address, but this is server b/],
    [{ versions: { min: 7, max: 9 } }, 'b', /speaks protocol versions 7 to 9/],
  ]
  for (const [spec, to, message] of rows) {
    const wire = wireOf({ id: 'a', ...spec })
    await t.rejects(dial(wire, { address, path, to }), { failure: 'rejected', message })
  }
  t.equal(lines.length, 1, 'logged once a minute per peer, however often it tries')
})

t.test('the cluster may be founded between two dials', async (t) => {
  let clusterId = ''
  const { address } = await echoServer(t, { id: 'b', cluster: () => clusterId })
  const wire = wireOf({ id: 'a', cluster: 'c1' })
  const first = await dial(wire, { address, path, to: 'b' })
  first.close('done')
  clusterId = 'c2'
  await t.rejects(dial(wire, { address, path, to: 'b' }), /belongs to cluster c1/)
})

t.test('a dial says why it failed', async (t) => {
  const server = await echoServer(t, { id: 'b' })
  const wire = wireOf({ id: 'a', connectTimeoutMs: 200 })
  const proxy = new Proxy(server.port)
  const silent = `127.0.0.1:${await proxy.listen()}`
  proxy.blackHole(true)
  t.teardown(() => proxy.close())
  const failure = async (address: string, to = 'b', signal?: AbortSignal): Promise<string> => {
    try {
      const stream = await dial(wire, { address, path, to }, signal)
      stream.close('unexpected')
      return 'none'
    } catch (error) {
      return error instanceof DialError ? error.failure : String(error)
    }
  }
  t.equal(await failure(silent), 'unreachable', 'nothing comes back')
  t.equal(await failure('127.0.0.1:1'), 'connectionRefused')
  t.equal(await failure('no such host:1'), 'unreachable')
  t.equal(await failure(silent, 'b', AbortSignal.abort()), 'cancelled')
  t.equal(await failure(silent, 'b', AbortSignal.timeout(20)), 'cancelled')
  await until('no socket is left behind', () => proxy.connections === 0)
})

t.test('garbage on the port harms nobody', async (t) => {
  const { address, port } = await echoServer(t, { id: 'b' })
  const stream = await dial(wireOf({ id: 'a' }), { address, path, to: 'b' })
  const frames = collect(stream)
  const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
  const garbage = [
    'GET / HTTP/1.1\r\n\r\n',
    '\x16\x03\x01\x02',
    preface + 'x'.repeat(5000),
    'x'.repeat(99_999),
  ]
  for (const bytes of garbage) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.resume()
    socket.end(bytes, 'latin1')
    await until('the server hangs up', () => socket.destroyed)
  }
  stream.write(Buffer.from('still there'))
  await until('the frame is back', () => frames.length === 1)
  stream.close('done')
})

t.test('a handshake that does not come ends the stream', async (t) => {
  const { address, wire } = await echoServer(t, { id: 'b', connectTimeoutMs: 50 })
  t.ok(wire)
  const { Client, credentials, Metadata } = await import('@grpc/grpc-js')
  const client = new Client(address, credentials.createInsecure())
  const pass = (bytes: Buffer): Buffer => bytes
  const call = client.makeBidiStreamRequest(path, pass, pass, new Metadata())
  let details = ''
  call.on('error', (error) => {
    details = error.message
  })
  call.resume()
  await until('it is ended', () => details !== '')
  t.match(details, /handshake did not come in time/)
  client.close()
})

t.test('stop ends while callers hold their streams and the network holds its bytes', async (t) => {
  const server = await echoServer(t, { id: 'b' })
  const proxy = new Proxy(server.port)
  const address = `127.0.0.1:${await proxy.listen()}`
  t.teardown(() => proxy.close())
  const wire = wireOf({ id: 'a' })
  const direct = await dial(wire, { address: server.address, path, to: 'b' })
  const stuck = await dial(wire, { address, path, to: 'b' })
  collect(direct)
  collect(stuck)
  proxy.blackHole(true)
  await server.server.stop()
  await until('the caller hears of it', () => !direct.open)
  stuck.close('done')
  await t.rejects(dial(wire, { address: server.address, path, to: 'b' }), /nothing listens/)
})

t.test('a port that is taken is said so', async (t) => {
  const { port } = await echoServer(t, { id: 'b' })
  const wire = wireOf({ id: 'c' })
  const second = new WireServer({ wire, bindAddress: '127.0.0.1', port, services: [] })
  await t.rejects(second.listen(), {
    code: 'unavailable',
    message: /cannot listen on 127\.0\.0\.1/,
  })
  await second.stop()
})
