/** Asking servers in turn: what is asked again elsewhere, and what never is. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { probe } from '../../src/client-agent/json-request.ts'
import { bytesOf, type Ask } from '../../src/client-agent/upstream.ts'
import type { HttpAddress } from '../../src/lib/host-port.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { serverStandIn, upstreamTo } from './server-stand-in.ts'

type Handler = (request: IncomingMessage, response: ServerResponse) => void

async function server(t: Test, handle: Handler): Promise<HttpAddress & { asked: string[] }> {
  const asked: string[] = []
  const place = await serverStandIn(t, (request, response) => {
    asked.push(`${request.method} ${request.url}`)
    handle(request, response)
  })
  return { ...place, asked }
}

const nobody: HttpAddress = { secure: false, host: '127.0.0.1', port: 1 }

function upstreamOf(t: Test, places: readonly HttpAddress[]) {
  const failed: HttpAddress[] = []
  const upstream = upstreamTo(
    t,
    () => places,
    (place) => failed.push(place),
  )
  return { upstream, failed }
}

function ask(method: string, more: Partial<Ask> = {}): Ask {
  return {
    method,
    url: '/x',
    headers: {},
    body: null,
    signal: AbortSignal.timeout(20_000),
    ...more,
  }
}

const answers: Handler = (request, response) => {
  request.resume()
  request.on('end', () => response.end('well'))
}
const breaksOff: Handler = (request) => request.socket.destroy()

t.test('a server that cannot be reached is left for the next one, whatever is asked', async (t) => {
  const good = await server(t, answers)
  const { upstream, failed } = upstreamOf(t, [nobody, good])
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const body = method === 'PUT' ? Buffer.from('body') : null
    const answer = await upstream.ask(ask(method, { body }))
    t.equal(String(await bytesOf(answer, 100)), 'well')
  }
  t.same(failed, [nobody, nobody, nobody])
})

t.test('what was sent and not answered is asked again only if that changes nothing', async (t) => {
  const bad = await server(t, breaksOff)
  const good = await server(t, answers)
  const { upstream } = upstreamOf(t, [bad, good])
  t.equal(String(await bytesOf(await upstream.ask(ask('GET')), 100)), 'well')
  for (const method of ['PUT', 'DELETE', 'POST']) {
    await t.rejects(upstream.ask(ask(method)), { code: 'outcome_unknown' }, method)
  }
  await t.rejects(upstream.ask(ask('GET', { body: Buffer.from('x') })), { code: 'outcome_unknown' })
  t.equal(good.asked.length, 1)
})

t.test('a wait that another server goes on with is as long as what is left of it', async (t) => {
  const bad = await server(t, (request) => setTimeout(() => request.socket.destroy(), 20))
  const good = await server(t, answers)
  const { upstream } = upstreamOf(t, [bad, good])
  await upstream.ask(ask('GET', { url: '/v1/kv/a?index=7&wait=10s' }))
  t.same(bad.asked, ['GET /v1/kv/a?index=7&wait=10s'])
  t.match(good.asked, [/^GET \/v1\/kv\/a\?index=7&wait=9\.\d+s$/])
})

t.test(
  'bodies are streamed, and one that breaks off in the middle is not a whole one',
  async (t) => {
    let got = 0
    const sink = await server(t, (request, response) => {
      request.on('data', (piece: Buffer) => (got += piece.length))
      request.on('end', () => response.end(String(got)))
    })
    const { upstream } = upstreamOf(t, [sink])
    async function* pieces(count: number, fails: boolean): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < count; at += 1) yield Buffer.alloc(10_000)
      if (fails) throw new Error('the client went away')
    }
    const answer = await upstream.ask(ask('PUT', { body: pieces(100, false) }))
    t.equal(String(await bytesOf(answer, 100)), '1000000')
    await t.rejects(upstream.ask(ask('PUT', { body: pieces(3, true) })), {
      code: 'outcome_unknown',
    })
    const large = await upstream.ask(ask('PUT', { body: pieces(1, false) }))
    await t.rejects(bytesOf(large, 3), { code: 'unavailable' })
  },
)

t.test('an answer that breaks off is no answer', async (t) => {
  const bad = await server(t, (_request, response) => {
    response.writeHead(200, { 'content-length': 10 })
    response.write('half', () => response.destroy())
  })
  const { upstream } = upstreamOf(t, [bad])
  for (const method of ['GET', 'PUT']) {
    const answer = await upstream.ask(ask(method))
    await t.rejects(bytesOf(answer, 100), { code: 'outcome_unknown' })
  }
})

t.test('a long answer comes at the pace of its reader, and ends with him', async (t) => {
  let written = 0
  let closed = 0
  const endless = await server(t, (_request, response) => {
    const write = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536))) written += 65_536
    }
    response.on('drain', write).on('close', () => (closed += 1))
    write()
  })
  const { upstream } = upstreamOf(t, [endless])
  const gone = new AbortController()
  const [left, aborted] = [
    await upstream.ask(ask('GET')),
    await upstream.ask(ask('GET', { signal: gone.signal })),
  ]
  let before = -1
  await eventuallyTrue('it waits', () => {
    const waits = written === before
    before = written
    return waits
  })
  t.ok(written < 64 * 2 ** 20, `${written} bytes wait`)
  let read = 0
  for await (const piece of left.body as AsyncIterable<Buffer>) {
    read += piece.length
    if (read > 2 * before) break
  }
  await eventuallyTrue('the reader left', () => closed === 1)
  gone.abort()
  await t.rejects(bytesOf(aborted, Infinity), { code: 'outcome_unknown' })
  await eventuallyTrue('nobody waits', () => closed === 2)
})

t.test('nobody to ask, nobody who waits, and time that is up', async (t) => {
  const none = upstreamOf(t, [])
  await t.rejects(none.upstream.ask(ask('GET')), {
    code: 'no_leader',
    message: 'No known servers: none is known',
  })
  const silent = await server(t, () => {})
  const { upstream } = upstreamOf(t, [silent, nobody])
  const gone = new AbortController()
  const asking = upstream.ask(ask('GET', { signal: gone.signal }))
  setImmediate(() => gone.abort())
  await t.rejects(asking, { code: 'cancelled' })
  await t.rejects(upstream.ask(ask('GET', { signal: AbortSignal.timeout(50) })), {
    code: 'timeout',
  })
  const dropped = upstream.ask(ask('PUT'))
  dropped.catch(() => {})
  await eventuallyTrue('it was asked', () => silent.asked.includes('PUT /x'))
  upstream.drop(silent)
  await t.rejects(dropped, { code: 'outcome_unknown' }, 'gossip says that it is dead')
  upstream.stop()
  await t.rejects(upstream.ask(ask('GET')), { code: 'no_leader' })
})

t.test(
  'a server that stands still is left: reads go elsewhere, of writes the outcome is unknown',
  async (t) => {
    const still = await server(t, () => undefined)
    const good = await server(t, answers)
    const { upstream, failed } = upstreamOf(t, [still, good])
    const write = upstream.ask(ask('PUT', { body: Buffer.from('body') }))
    const read = upstream.ask(ask('GET'))
    await t.rejects(write, { code: 'outcome_unknown' })
    t.equal(String(await bytesOf(await read, 100)), 'well')
    t.ok(failed.length > 0)
    t.same(failed[0]?.port, still.port)
  },
)

t.test(
  'a server whose answer takes long is waited for, as long as it answers something else',
  async (t) => {
    let end: (() => void) | null = null
    const slow = await server(t, (request, response) => {
      if (request.url === '/x') end = () => response.end('at last')
      else response.end('"127.0.0.1:1"')
    })
    const { upstream, failed } = upstreamOf(t, [slow])
    const asked = upstream.ask(ask('GET'))
    await eventuallyTrue('it was asked twice whether it is there', () => {
      return slow.asked.filter((line) => line === 'GET /v1/status/leader?stale').length >= 2
    })
    ;(end as (() => void) | null)?.()
    t.equal(String(await bytesOf(await asked, 100)), 'at last')
    t.same(failed, [])
  },
)

t.test('a server that was started anew is found beside the connection that it had', async (t) => {
  let requests = 0
  const anew = await server(t, (request, response) => {
    requests += 1
    if (requests === 2) request.socket.destroy()
    else response.end('[]')
  })
  const { upstream } = upstreamOf(t, [anew])
  await probe(upstream, anew)
  await probe(upstream, anew)
  t.equal(requests, 3)
  const bad = await server(t, breaksOff)
  await t.rejects(probe(upstream, bad), { code: 'ECONNRESET' })
  t.equal(bad.asked.length, 2, 'not for ever')
})
