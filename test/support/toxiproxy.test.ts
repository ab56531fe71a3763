/**
 * The fault proxy, driven by the public client over real sockets. TOXIPROXY_URL names another server that
 * speaks the same API, to see that both behave alike.
 */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { type Proxy, Toxiproxy } from 'toxiproxy-node-client'
import { eventuallyTrue } from './eventually.ts'
import { startToxiproxy } from './toxiproxy/server.ts'

type Toxics = Parameters<Proxy['addToxic']>[0]

type Rig = {
  readonly api: Toxiproxy
  readonly proxy: Proxy
  /** What the upstream has received, over all connections. */
  readonly received: () => Buffer
  /** Every connection that the upstream has accepted. */
  readonly accepted: Socket[]
  readonly dial: () => Promise<Socket>
}

const given = process.env['TOXIPROXY_URL']
const elsewhere = given !== undefined

/** An upstream that keeps what it receives, echoes it, and answers a FIN with a FIN; a proxy before it. */
async function rig(t: Test): Promise<Rig> {
  const local = given === undefined ? await startToxiproxy() : null
  const accepted: Socket[] = []
  const chunks: Buffer[] = []
  const upstream = createServer({ allowHalfOpen: true }, (socket) => {
    accepted.push(socket)
    socket.on('error', () => {})
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      socket.write(chunk)
    })
    socket.on('end', () => socket.end())
  })
  upstream.listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const api = new Toxiproxy(given ?? local?.url ?? '')
  const proxy = await api.createProxy({
    name: `test-${process.pid}-${Math.random().toString(36).slice(2)}`,
    listen: '127.0.0.1:0',
    upstream: addressOf(upstream),
  })
  const dialled: Socket[] = []
  t.teardown(async () => {
    for (const socket of [...dialled, ...accepted]) socket.destroy()
    await proxy.remove().catch(() => {})
    await local?.stop()
    upstream.close()
  })
  return {
    api,
    proxy,
    accepted,
    received: () => Buffer.concat(chunks),
    async dial() {
      const socket = connect({ ...hostAndPort(proxy.listen), allowHalfOpen: true })
      dialled.push(socket)
      await once(socket, 'connect')
      return socket
    },
  }
}

function addressOf(server: ReturnType<typeof createServer>): string {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening on TCP')
  return `127.0.0.1:${address.port}`
}

function hostAndPort(address: string): { host: string; port: number } {
  const [host = '', port = ''] = address.split(':')
  return { host, port: Number(port) }
}

/** What arrives at the socket from now on, and how it ended. */
function collect(socket: Socket): { bytes(): Buffer; end: Promise<'end' | 'reset'> } {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  const end = new Promise<'end' | 'reset'>((resolve) => {
    socket.once('end', () => resolve('end'))
    socket.once('error', () => resolve('reset'))
  })
  return { bytes: () => Buffer.concat(chunks), end }
}

function toxic(
  type: Toxics['type'],
  attributes: Record<string, number>,
  more: Partial<Pick<Toxics, 'stream' | 'toxicity' | 'name'>> = {},
): Toxics {
  return { name: `${type}-1`, type, stream: 'upstream', toxicity: 1, attributes, ...more }
}

void t.test('without toxics, bytes pass in both directions', async (t) => {
  const { dial, received } = await rig(t)
  const socket = await dial()
  const heard = collect(socket)
  const sent = Buffer.alloc(3_000_000, 'abc')
  socket.write(sent)
  await eventuallyTrue('all came back', () => heard.bytes().length === sent.length)
  t.ok(received().equals(sent), 'arrived whole')
  t.ok(heard.bytes().equals(sent), 'came back whole')
  socket.end()
  t.equal(await heard.end, 'end')
})

/** Others may close both directions at the first FIN. */
void t.test('half-closes pass through our own', { skip: elsewhere }, async (t) => {
  const { dial } = await rig(t)
  const socket = await dial()
  const heard = collect(socket)
  const sent = Buffer.alloc(3_000_000, 'abc')
  socket.end(sent)
  t.equal(await heard.end, 'end')
  t.ok(heard.bytes().equals(sent), 'came back whole after our own FIN')
})

void t.test('a disabled proxy cuts its connections and refuses new ones', async (t) => {
  const { proxy, dial } = await rig(t)
  const socket = await dial()
  const heard = collect(socket)
  socket.write('hello')
  await eventuallyTrue('the echo', () => heard.bytes().length === 5)
  const { listen, upstream } = proxy
  await proxy.update({ enabled: false, listen, upstream })
  await heard.end
  await t.rejects(dial(), { code: 'ECONNREFUSED' })
  await proxy.update({ enabled: true, listen, upstream })
  const again = collect(await dial())
  t.equal(again.bytes().length, 0, 'accepted again at the same address')
})

void t.test('latency delays without limiting what is under way', async (t) => {
  const { proxy, dial, received } = await rig(t)
  await proxy.addToxic(toxic('latency', { latency: 200, jitter: 10 }))
  const socket = await dial()
  const heard = collect(socket)
  const startMs = performance.now()
  for (let i = 0; i < 20; i += 1) socket.write(`${i},`)
  await eventuallyTrue('the last piece', () => heard.bytes().toString().endsWith('19,'))
  t.ok(performance.now() - startMs >= 185, 'not before the latency')
  t.match(received().toString(), /^0,1,2,3,.*18,19,$/, 'in order')
})

void t.test('bandwidth limits the rate, and a waiting sender is pushed back', async (t) => {
  const { proxy, dial, received } = await rig(t)
  await proxy.addToxic(toxic('bandwidth', { rate: 100 }))
  const socket = await dial()
  socket.resume()
  const startMs = performance.now()
  socket.write(Buffer.alloc(40_000))
  await eventuallyTrue('all of it', () => received().length === 40_000)
  t.ok(performance.now() - startMs >= 350, '40 KB at 100 KB/s take about 0.4 s')
  socket.write(Buffer.alloc(64_000_000))
  await eventuallyTrue('some of it', () => received().length > 60_000)
  t.ok(socket.writableLength > 0, 'the rest waits at its sender')
})

void t.test('slow_close delays the end, not the bytes', async (t) => {
  const { proxy, dial, received } = await rig(t)
  await proxy.addToxic(toxic('slow_close', { delay: 300 }))
  const socket = await dial()
  const heard = collect(socket)
  const startMs = performance.now()
  socket.end('bye')
  await eventuallyTrue('the bytes', () => received().toString() === 'bye')
  t.equal(await heard.end, 'end')
  t.ok(performance.now() - startMs >= 290)
})

void t.test('timeout 0 swallows one direction until removed, then closes', async (t) => {
  const { proxy, dial, received, accepted } = await rig(t)
  const added = await proxy.addToxic(toxic('timeout', { timeout: 0 }))
  const socket = await dial()
  const heard = collect(socket)
  await eventuallyTrue('the upstream connection', () => accepted.length === 1)
  socket.write('lost')
  accepted[0]?.write('heard')
  await eventuallyTrue('the other direction', () => heard.bytes().toString() === 'heard')
  t.equal(received().length, 0)
  await added.remove()
  await heard.end
  t.equal(received().length, 0, 'a stream with a hole never goes on')
})

void t.test('timeout closes after its time', async (t) => {
  const { proxy, dial, received } = await rig(t)
  await proxy.addToxic(toxic('timeout', { timeout: 100 }))
  const socket = await dial()
  const heard = collect(socket)
  socket.write('lost')
  await heard.end
  t.equal(received().length, 0)
})

void t.test('reset_peer answers bytes with a reset', async (t) => {
  const { proxy, dial, received } = await rig(t)
  await proxy.addToxic(toxic('reset_peer', { timeout: 20 }))
  const socket = await dial()
  const heard = collect(socket)
  socket.write('lost')
  t.equal(await heard.end, 'reset')
  t.equal(received().length, 0)
})

void t.test('slicer cuts into small pieces', async (t) => {
  const { proxy, dial, received } = await rig(t)
  await proxy.addToxic(toxic('slicer', { average_size: 10, size_variation: 5, delay: 2000 }))
  const socket = await dial()
  socket.resume()
  const startMs = performance.now()
  socket.write('0123456789'.repeat(10))
  await eventuallyTrue('all of it', () => received().length === 100)
  t.equal(received().toString(), '0123456789'.repeat(10), 'whole and in order')
  t.ok(performance.now() - startMs >= 10, 'with a pause between pieces')
})

void t.test('limit_data closes after so many bytes', async (t) => {
  const { proxy, dial, received } = await rig(t)
  await proxy.addToxic(toxic('limit_data', { bytes: 100 }))
  const socket = await dial()
  const heard = collect(socket)
  socket.write(Buffer.alloc(60))
  await eventuallyTrue('bytes under the limit', () => received().length === 60)
  socket.write(Buffer.alloc(60))
  await heard.end
  await eventuallyTrue('the first hundred', () => received().length === 100)
})

void t.test('a toxic strikes, changes and leaves while a connection is open', async (t) => {
  const { proxy, dial } = await rig(t)
  const socket = await dial()
  const heard = collect(socket)
  const added = await proxy.addToxic(toxic('latency', { latency: 60_000, jitter: 0 }))
  socket.write('held')
  await added.update(toxic('latency', { latency: 0, jitter: 0 }))
  t.same((await proxy.getToxic('latency-1')).attributes, { latency: 0, jitter: 0 })
  await eventuallyTrue('what was held goes on at once', () => heard.bytes().toString() === 'held')
  await added.update(toxic('latency', { latency: 60_000, jitter: 0 }))
  socket.write(' again')
  await added.remove()
  await eventuallyTrue('also at its end', () => heard.bytes().toString() === 'held again')
})

void t.test('downstream toxics leave requests alone', async (t) => {
  const { proxy, dial, received } = await rig(t)
  await proxy.addToxic(toxic('timeout', { timeout: 0 }, { stream: 'downstream' }))
  const socket = await dial()
  const heard = collect(socket)
  socket.write('one way')
  await eventuallyTrue('the request', () => received().toString() === 'one way')
  t.equal(heard.bytes().length, 0)
})

void t.test('toxicity spares some connections', async (t) => {
  const { proxy, dial } = await rig(t)
  await proxy.addToxic(toxic('limit_data', { bytes: 1 }, { toxicity: 0.5 }))
  const ends = []
  for (let i = 0; i < 40; i += 1) {
    const socket = await dial()
    const heard = collect(socket)
    socket.write('ab')
    const echoed = new Promise<'spared'>((resolve) => {
      socket.on('data', () => heard.bytes().length === 2 && resolve('spared'))
    })
    ends.push(Promise.race([echoed, heard.end.then(() => 'struck')]))
  }
  const struck = (await Promise.all(ends)).filter((end) => end === 'struck').length
  t.ok(struck > 5 && struck < 35, `${struck} of 40 were struck`)
})

void t.test('the API: version, listing, populate, reset, errors', async (t) => {
  const { api, proxy } = await rig(t)
  if (!elsewhere) t.match(await api.getVersion(), /\d+\.\d+/)
  t.match(Object.keys(await api.getAll()), [proxy.name])
  const { upstream } = proxy
  const populated = await api.populate([
    { name: proxy.name, listen: proxy.listen, upstream },
    { name: `${proxy.name}-2`, listen: '127.0.0.1:0', upstream, enabled: false },
  ])
  t.equal(populated[`${proxy.name}-2`]?.enabled, false)
  await proxy.addToxic(toxic('latency', { latency: 1, jitter: 0 }))
  await api.reset()
  t.equal((await api.get(`${proxy.name}-2`)).enabled, true, 'reset enables')
  await t.rejects(proxy.getToxic('latency-1'), /404/, 'reset removes toxics')
  await populated[`${proxy.name}-2`]?.remove()

  await t.rejects(api.get('nobody'), /404/)
  await t.rejects(api.createProxy({ name: proxy.name, listen: '127.0.0.1:0', upstream }), /409/)
  await t.rejects(api.createProxy({ name: '', listen: '127.0.0.1:0', upstream }), /400/)
  await proxy.addToxic(toxic('latency', { latency: 1, jitter: 0 }))
  await t.rejects(proxy.addToxic(toxic('latency', { latency: 1, jitter: 0 })), /409/)
  const nonsense = JSON.stringify({ name: 'x', type: 'nonsense', attributes: {} })
  const url = `${proxy.getPath()}/toxics`
  const response = await fetch(url, { method: 'POST', body: nonsense })
  t.equal(response.status, 400)
  t.match(await response.json(), { error: 'invalid toxic type' })
})
