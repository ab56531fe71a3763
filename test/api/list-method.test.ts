import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { listAlias, ListMethod } from '../../src/api/list-method.ts'
import { everything } from '../support/everything.ts'
import fc from '../support/fast-check.ts'

type Seen = { readonly method: string; readonly url: string; readonly body: string }

const answerAtEnd = (request: IncomingMessage, response: ServerResponse): void => {
  request.on('end', () => response.end('ok'))
}

/** A bare Node server that writes down what its parser finds, in order, and a client that sends packets one by one. */
async function bareServer(answer = answerAtEnd) {
  const lists = new ListMethod()
  const sockets: Socket[] = []
  const seen: Seen[] = []
  let rejected = 0
  const server = createServer((request: IncomingMessage, response) => {
    const { method = '', url = '', socket } = request
    const isList = method === listAlias && lists.takes(socket)
    const pieces: Buffer[] = []
    const at = seen.push({ method, url, body: '' }) - 1
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const body = Buffer.concat(pieces).toString('latin1')
      seen[at] = { method: isList ? 'LIST' : method, url, body }
    })
    answer(request, response)
  })
  server.on('connection', (socket: Socket) => {
    sockets.push(socket)
    lists.watch(socket, () => {})
  })
  server.on('clientError', (error, socket) => {
    if (lists.resume(server, error, socket)) return
    rejected += 1
    socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  return {
    /** All that the parser finds in these packets, each of which it gets alone. */
    async send(packets: readonly string[]): Promise<{ seen: readonly Seen[]; rejected: number }> {
      const before = { seen: seen.length, rejected }
      const client = connect({ port, host: '127.0.0.1', noDelay: true })
      const answer = everything(client)
      await once(client, 'connect')
      while (sockets.length === 0) await turn()
      const socket = sockets.pop()
      let bytes = 0
      for (const packet of packets) {
        if (socket === undefined || socket.destroyed) break
        client.write(packet, 'latin1')
        bytes += packet.length
        while (socket.bytesRead < bytes && !socket.destroyed) await turn()
      }
      client.end()
      await answer
      return { seen: seen.slice(before.seen), rejected: rejected - before.rejected }
    },
    async close() {
      server.close()
      await once(server, 'close')
    },
  }
}

const head = (method: string, url: string, more = '') =>
  `${method} ${url} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`

function cut(text: string, places: readonly number[]): readonly string[] {
  const sorted = [0, ...places.toSorted((a, b) => a - b), text.length]
  return sorted
    .map((place, at) => text.slice(sorted[at - 1] ?? 0, place))
    .filter((piece) => piece !== '')
}

t.test('a LIST is one wherever it is cut', async (t) => {
  const server = await bareServer()
  const text = head('LIST', '/a')
  const expected = { seen: [{ method: 'LIST', url: '/a', body: '' }], rejected: 0 }
  for (let at = 0; at < 12; at += 1) t.same(await server.send(cut(text, [at])), expected)
  t.same(await server.send(text.split('')), expected, 'byte by byte')
  await server.close()
})

t.test('what only resembles LIST is rejected wherever it is cut', async (t) => {
  const server = await bareServer()
  for (const method of [
    'LISTX',
    'LIS',
    'LISK',
    'list',
    'GEST',
    'UNLIST',
    'BIST',
    'LINST',
    'LINKX',
  ]) {
    for (let at = 0; at <= method.length + 1; at += 1) {
      const { seen, rejected } = await server.send(cut(head(method, '/a'), [at]))
      t.same([seen, rejected], [[], 1], `${method} cut at ${at}`)
    }
  }
  await server.close()
})

t.test('a LINK that a client sends is no LIST', async (t) => {
  const server = await bareServer()
  const text = head('LINK', '/a') + head('LIST', '/b') + head('LINK', '/c') + head('UNLINK', '/d')
  for (let at = 0; at < text.length; at += 1) {
    const { seen } = await server.send(cut(text, [at]))
    t.same(
      seen.map(({ method }) => method),
      ['LINK', 'LIST', 'LINK', 'UNLINK'],
      `cut at ${at}`,
    )
  }
  await server.close()
})

const hostile = fc
  .array(
    fc.constantFrom(
      head('LIST', '/forged'),
      'LIST ',
      'LIST',
      'LI',
      'UN',
      '\r\n',
      '0\r\n\r\n',
      'GET /forged HTTP/1.1\r\n\r\n',
      'x',
    ),
    { maxLength: 4 },
  )
  .map((parts) => parts.join(''))

const request = fc.oneof(
  fc
    .constantFrom('GET', 'LIST', 'DELETE', 'LINK')
    .map((method) => ({ method, body: '', text: '' })),
  // A body that ends in UN has a test of its own.
  fc.tuple(fc.constantFrom('PUT', 'LIST', 'POST'), hostile).map(([method, text]) => {
    const body = `${text}.`
    return { method, body, text: `Content-Length: ${body.length}\r\n` }
  }),
  fc.tuple(fc.constantFrom('PUT', 'LIST'), hostile).map(([method, body]) => ({
    method,
    body,
    text: 'Transfer-Encoding: chunked\r\n',
  })),
)

function written(
  { method, body, text }: { method: string; body: string; text: string },
  at: number,
) {
  const start = head(method, `/${at}`, text)
  if (!text.startsWith('Transfer')) return start + body
  const chunk = body === '' ? '' : `${body.length.toString(16)}\r\n${body}\r\n`
  return `${start}${chunk}0\r\n\r\n`
}

t.test('pipelined, beside bodies that hold LIST, in packets of any size', async () => {
  const server = await bareServer()
  await fc.assert(
    fc.asyncProperty(
      fc.array(request, { minLength: 1, maxLength: 6 }),
      fc.array(fc.nat(1_500), { maxLength: 8 }),
      async (requests, places) => {
        const text = requests.map(written).join('')
        const { seen, rejected } = await server.send(
          cut(
            text,
            places.map((place) => place % (text.length + 1)),
          ),
        )
        const expected = requests.map(({ method, body }, at) => ({ method, url: `/${at}`, body }))
        return rejected === 0 && JSON.stringify(seen) === JSON.stringify(expected)
      },
    ),
    { numRuns: 300 },
  )
  await server.close()
})

t.test(
  'after a body that ends in UN a LIST is one, but not right behind it in its packet',
  async (t) => {
    const server = await bareServer()
    const put = `${head('PUT', '/a', 'Content-Length: 3\r\n')}RUN`
    const list = head('LIST', '/b')
    const apart = await server.send([put, list])
    t.same(
      apart.seen.map(({ method }) => method),
      ['PUT', 'LIST'],
    )
    const together = await server.send([put + list])
    t.same([together.seen.map(({ method }) => method), together.rejected], [['PUT'], 1])
    await server.close()
  },
)

t.test('thousands of them in one packet', async (t) => {
  const server = await bareServer()
  const { seen, rejected } = await server.send([head('LIST', '/a').repeat(3_000)])
  t.same([seen.length, rejected], [3_000, 0])
  t.ok(seen.every(({ method }) => method === 'LIST'))
  await server.close()
})

t.test('framing that the parser rejects stays rejected', async (t) => {
  const server = await bareServer()
  const both = 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n'
  for (const more of [both, 'Content-Length: 1\r\nContent-Length: 2\r\n']) {
    const forged = head('PUT', '/a', more) + head('LIST', '/b')
    const { seen, rejected } = await server.send([head('LIST', '/0') + forged])
    t.same([seen.map(({ method }) => method), rejected], [['LIST'], 1])
  }
  await server.close()
})

t.test('a LIST in a packet at which Node stops reading, for answers pile up', async (t) => {
  const waiting: ServerResponse[] = []
  let paused = false
  const server = await bareServer((request, response) => {
    if (request.url === '/first') waiting.push(response)
    else response.end('b'.repeat(1_000_000))
    if (request.url !== '/last') return
    paused = request.socket.isPaused()
    setImmediate(() => waiting[0]?.end('ok'))
  })
  const packet = head('GET', '/first') + head('GET', '/2') + head('GET', '/last')
  const { seen, rejected } = await server.send([packet + head('LIST', '/a') + head('LIST', '/b')])
  t.ok(paused)
  t.same([seen.map(({ method }) => method), rejected], [['GET', 'GET', 'GET', 'LIST', 'LIST'], 0])
  await server.close()
})
