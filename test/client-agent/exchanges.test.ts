/** Requests to one server over connections that are kept, against a server that writes what a test says. */
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { Exchanges, type ExchangesOptions } from '../../src/client-agent/exchanges.ts'
import type { Answered } from '../../src/client-agent/exchange.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { LazyAbort } from '../../src/lib/lazy-abort.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { manualClock } from '../support/manual-clock.ts'

type Server = {
  readonly asked: string[]
  readonly sockets: Socket[]
  readonly exchanges: Exchanges
}

/** `answer` is called for whatever comes, with how many pieces came before. */
async function serverOf(
  t: Test,
  answer: (socket: Socket, text: string, before: number) => void,
  options: Partial<ExchangesOptions> = {},
): Promise<Server & { heard: () => number }> {
  const asked: string[] = []
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket
      .setNoDelay(true)
      .setDefaultEncoding('latin1')
      .on('error', () => {})
    socket.on('data', (data) => {
      asked.push(data.toString('latin1'))
      answer(socket, asked.at(-1) ?? '', asked.length - 1)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  let owed = 0
  const exchanges = new Exchanges({
    place: { secure: false, host: '127.0.0.1', port },
    tls: () => undefined,
    connectMs: 20_000,
    onAsked: () => {
      owed += 1
      return () => (owed -= 1)
    },
    clock: systemClock,
    ...options,
  })
  t.teardown(() => {
    exchanges.stop()
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { asked, sockets, exchanges, heard: () => owed }
}

const wanted = (): AbortSignal => new AbortController().signal

const plain = (body: string, more = ''): string =>
  `HTTP/1.1 200 OK\r\n${more}Connection: keep-alive\r\nContent-Length: ${body.length}\r\n\r\n${body}`

/** The text of an answer, and who read it. */
async function read(answer: Answered | Promise<Answered>): Promise<[reader: string, text: string]> {
  const answered = await answer
  if ('lines' in answered) return ['whole', answered.body.toString('latin1')]
  const pieces: Buffer[] = []
  for await (const piece of answered as AsyncIterable<Buffer>) pieces.push(piece)
  return ['node', Buffer.concat(pieces).toString('latin1')]
}

t.test('one request after the other goes over one connection', async (t) => {
  const { exchanges, sockets, heard } = await serverOf(t, (socket, text) =>
    socket.write(plain(text), 'latin1'),
  )
  for (const text of ['first', 'second', 'third \xff']) {
    t.same(await read(exchanges.ask('GET', text, wanted())), ['whole', text])
  }
  t.equal(sockets.length, 1)
  t.equal(heard(), 0)
})

t.test('requests at once go over a connection each, no more than there may be', async (t) => {
  const waiting: (() => void)[] = []
  const { exchanges, sockets, asked } = await serverOf(
    t,
    (socket, text) => waiting.push(() => socket.write(plain(text), 'latin1')),
    { connectionsMax: 2 },
  )
  const gone = new AbortController()
  const answers = ['a', 'b', 'c', 'd'].map((text) => exchanges.ask('GET', text, wanted()))
  const left = exchanges.ask('GET', 'e', gone.signal)
  gone.abort()
  await t.rejects(left, { message: 'nobody waits for the answer any more' })
  for (let at = 0; at < 4; at += 1) {
    await eventuallyTrue('the next one is asked', () => asked.length > at)
    waiting[at]?.()
    await answers[at]
  }
  t.equal(sockets.length, 2)
  t.same(asked.toSorted(), ['a', 'b', 'c', 'd'])
})

t.test('an answer may come in pieces, and one of another form is read by Node', async (t) => {
  const long = 'a'.repeat(200_000)
  const chunked = (length: number): string =>
    `Transfer-Encoding: chunked\r\n\r\n${`1\r\na\r\n`.repeat(length)}0\r\n\r\n`
  const kept = 'HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n'
  const rows = [
    ['byte by byte', plain('abc', 'X-A: b\r\n'.repeat(20)).split(''), 'abc', null, true],
    [
      'in three pieces',
      [plain('abc').slice(0, 20), plain('abc').slice(20, -1), 'c'],
      'abc',
      'whole',
      true,
    ],
    ['long', [plain(long)], long, 'node', true],
    ['in chunks', [`${kept}${chunked(3)}`], 'aaa', 'node', true],
    ['in chunks that come one by one', `${kept}${chunked(1)}`.split(''), 'a', 'node', true],
    [
      'without a body',
      ['HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n'],
      '',
      'node',
      true,
    ],
    ['behind another', ['HTTP/1.1 103 Early Hints\r\n\r\n', plain('abc')], 'abc', 'node', true],
    ['with many lines', [plain('abc', 'X-A: b\r\n'.repeat(1_000))], 'abc', 'whole', true],
    ['the last one', [plain('abc').replace('keep-alive', 'close')], 'abc', 'node', false],
    ['until the connection ends', ['HTTP/1.1 200 OK\r\n\r\nabc', null], 'abc', 'node', false],
  ] as const
  for (const [what, pieces, text, reader, isKept] of rows) {
    const { exchanges, sockets } = await serverOf(t, (socket) => void send(socket, pieces))
    for (const path of ['one', 'two']) {
      const [by, got] = await read(exchanges.ask('GET', path, wanted()))
      // The system may put pieces together, so that there are fewer.
      t.same([by, got], [reader ?? by, text], what)
    }
    t.equal(sockets.length, isKept ? 1 : 2, what)
  }
})

/** Each in a turn of its own; null: the end. */
async function send(socket: Socket, pieces: readonly (string | null)[]): Promise<void> {
  for (const piece of pieces) {
    if (piece === null) socket.end()
    else await new Promise<void>((sent) => socket.write(piece, 'latin1', () => setImmediate(sent)))
  }
}

t.test('no answer, half of one, and one that is none', async (t) => {
  const rows = [
    ['none', '', { code: 'ECONNRESET' }],
    ['half a head', 'HTTP/1.1 200 OK\r\nX-', { code: 'ECONNRESET' }],
    ['no HTTP', 'what?\r\n\r\n', { code: 'HPE_INVALID_CONSTANT' }],
    [
      'too long a head',
      `HTTP/1.1 200 OK\r\nX-A: ${'a'.repeat(20_000)}`,
      { code: 'HPE_HEADER_OVERFLOW' },
    ],
    ['half a body', plain('abc').slice(0, -1), { code: 'ECONNRESET' }],
    [
      'a length that is none',
      plain('').replace(': 0', ': x'),
      { code: 'HPE_INVALID_CONTENT_LENGTH' },
    ],
  ] as const
  for (const [what, text, error] of rows) {
    const { exchanges, sockets, heard } = await serverOf(t, (socket) => socket.end(text, 'latin1'))
    await t.rejects(read(exchanges.ask('GET', 'x', wanted())), error, what)
    await eventuallyTrue('the connection is over', () => sockets[0]?.destroyed === true)
    t.equal(heard(), 0, what)
  }
})

t.test('what nobody asked for ends a connection and answers nothing', async (t) => {
  const forged = plain('forged')
  const rows = [
    ['behind an answer', (socket: Socket) => socket.write(`${plain('well')}${forged}`), 'whole'],
    ['some time after it', (socket: Socket) => void send(socket, [plain('well'), forged]), 'whole'],
    [
      'behind one that Node reads',
      (socket: Socket) => socket.write(`HTTP/1.1 103 \r\n\r\n${plain('well')}${forged}`),
      'node',
    ],
  ] as const
  for (const [what, answer, reader] of rows) {
    const { exchanges, sockets } = await serverOf(t, (socket, text) => {
      if (text === 'one') answer(socket)
      else socket.write(plain('well'))
    })
    t.same(await read(exchanges.ask('GET', 'one', wanted())), [reader, 'well'], what)
    await eventuallyTrue('the connection is over', () => sockets[0]?.destroyed === true)
    t.same(await read(exchanges.ask('GET', 'two', wanted())), ['whole', 'well'], what)
    t.equal(sockets.length, 2, what)
  }
})

t.test('who goes away before the answer is there ends the connection', async (t) => {
  const head = plain('abc').slice(0, -3)
  for (const [what, text] of [
    ['nothing came', ''],
    ['half of it came', `${head}a`],
    ['Node reads it', `HTTP/1.1 103 \r\n\r\n${head}`],
  ] as const) {
    let isSent = false
    const { exchanges, sockets, heard } = await serverOf(t, (socket) => {
      socket.write(text, () => (isSent = true))
    })
    const gone = new LazyAbort()
    const answer = read(exchanges.ask('GET', 'x', gone))
    await eventuallyTrue('it was asked', () => isSent)
    gone.abort()
    await t.rejects(answer, { code: 'ECONNRESET' }, what)
    await eventuallyTrue('the server hears of it', () => sockets[0]?.destroyed === true)
    t.equal(heard(), 0, what)
    await t.rejects(exchanges.ask('GET', 'x', gone), { message: /nobody waits/ })
    t.equal(sockets.length, 1)
  }
})

t.test('a connection is not used after its server may have closed it', async (t) => {
  const clock = manualClock()
  const { exchanges, sockets } = await serverOf(
    t,
    (socket, text) => {
      const answer = plain(text, 'Keep-Alive: timeout=5\r\n')
      socket.write(text === 'node' ? `HTTP/1.1 103 \r\n\r\n${answer}` : answer)
    },
    { clock },
  )
  for (const text of ['whole', 'node']) {
    await read(exchanges.ask('GET', text, wanted()))
    const before = sockets.length
    clock.advance(3_999)
    await read(exchanges.ask('GET', text, wanted()))
    t.equal(sockets.length, before, 'it is younger')
    clock.advance(4_000)
    await read(exchanges.ask('GET', text, wanted()))
    t.equal(sockets.length, before + 1, 'it is not')
  }
})

t.test('a server that is not asked any more', async (t) => {
  const { exchanges, asked } = await serverOf(t, () => {}, { connectionsMax: 1 })
  const sent = t.rejects(exchanges.ask('PUT', 'a', wanted()), { code: 'ECONNRESET' })
  const waiting = t.rejects(exchanges.ask('PUT', 'b', wanted()), { name: 'NotSent' })
  await eventuallyTrue('it was asked', () => asked.length === 1)
  exchanges.stop()
  await Promise.all([sent, waiting])
  await t.rejects(exchanges.ask('PUT', 'c', wanted()), { name: 'NotSent' })
})

t.test('a server that takes no connection is left in time', async (t) => {
  const clock = manualClock()
  const { exchanges } = await serverOf(t, () => {}, {
    // Of a network that is for documents: nothing is there.
    place: { secure: false, host: '192.0.2.1', port: 1 },
    clock,
    connectMs: 2_000,
  })
  const asked = exchanges.ask('PUT', 'a', wanted())
  clock.advance(2_000)
  await t.rejects(asked, { name: 'NotSent' })
})
