/** Which heads are taken for plain ones. Whatever is, Node's parser takes for the same answer. */
import { Duplex } from 'node:stream'
import { request, type IncomingMessage } from 'node:http'
import t from 'tap'
import { idleMsOf, plainHeadOf } from '../../src/client-agent/plain-answer.ts'
import fc from '../support/fast-check.ts'

t.test('which heads are plain', (t) => {
  const length = 'Content-Length: 5\r\n'
  const rows: readonly (readonly [what: string, head: string, isPlain: boolean])[] = [
    ['a plain one', `HTTP/1.1 200 OK\r\n${length}\r\n`, true],
    ['its body is there too', `HTTP/1.1 200 OK\r\n${length}\r\nfirst`, true],
    [
      'of a connection that is kept',
      `HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n${length}\r\n`,
      true,
    ],
    ['no reason', `HTTP/1.1 404 \r\n${length}\r\n`, true],
    ['letters of Latin-1', `HTTP/1.1 500 \xe9\r\nX-A: \xff\r\n${length}\r\n`, true],
    ['blanks around values', `HTTP/1.1 200 OK\r\nContent-Length: \t5 \r\n\r\n`, true],
    ['no bytes', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n', true],
    ['not whole', `HTTP/1.1 200 OK\r\n${length}`, false],
    ['no length', 'HTTP/1.1 200 OK\r\n\r\n', false],
    ['two lengths', `HTTP/1.1 200 OK\r\n${length}${length}\r\n`, false],
    ['a length of two', 'HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n', false],
    ['a length with a sign', 'HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n', false],
    ['an endless length', 'HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n', false],
    ['chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', false],
    [
      'chunks and a length',
      `HTTP/1.1 200 OK\r\n${length}Transfer-Encoding: chunked\r\n\r\n`,
      false,
    ],
    ['of a connection that ends', `HTTP/1.1 200 OK\r\nConnection: close\r\n${length}\r\n`, false],
    ['another protocol', `HTTP/1.1 200 OK\r\nUpgrade: x\r\n${length}\r\n`, false],
    ['not the last one', 'HTTP/1.1 100 Continue\r\n\r\n', false],
    ['no body by its status', `HTTP/1.1 204 No Content\r\n${length}\r\n`, false],
    ['no body by its status', `HTTP/1.1 304 Not Modified\r\n${length}\r\n`, false],
    ['no such status', `HTTP/1.1 99 OK\r\n${length}\r\n`, false],
    ['of an older server', `HTTP/1.0 200 OK\r\n${length}\r\n`, false],
    ['a line goes on', `HTTP/1.1 200 OK\r\nX-A: a\r\n b\r\n${length}\r\n`, false],
    ['a blank before the colon', `HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\n`, false],
    ['no name', `HTTP/1.1 200 OK\r\n: a\r\n${length}\r\n`, false],
    ['no colon', `HTTP/1.1 200 OK\r\nX-A\r\n${length}\r\n`, false],
    ['a line feed alone', `HTTP/1.1 200 OK\nX-A: a\r\n${length}\r\n`, false],
    ['a carriage return alone', `HTTP/1.1 200 OK\r\nX-A: a\rX-B: b\r\n${length}\r\n`, false],
    ['a zero byte', `HTTP/1.1 200 OK\r\nX-A: \0\r\n${length}\r\n`, false],
    ['too long', `HTTP/1.1 200 OK\r\nX-A: ${'a'.repeat(16_384)}\r\n${length}\r\n`, false],
  ]
  for (const [what, head, isPlain] of rows) t.equal(plainHeadOf(head) !== null, isPlain, what)
  t.end()
})

t.test('what a plain head tells', (t) => {
  const head =
    'HTTP/1.1 403 Forbidden\r\nX-A:a\r\nX-A: b \r\nKeep-Alive: timeout=75\r\nContent-Length: 2\r\n\r\n'
  t.same(plainHeadOf(`${head}no`), {
    status: 403,
    lines: ['X-A', 'a', 'X-A', 'b', 'Keep-Alive', 'timeout=75', 'Content-Length', '2'],
    headBytes: head.length,
    bodyBytes: 2,
    idleMs: 74_000,
  })
  t.equal(idleMsOf('timeout=5, max=100'), 30_000)
  t.equal(idleMsOf(undefined), 30_000)
  t.end()
})

t.test('what is taken for plain means the same to Node', async (t) => {
  const piece = fc.constantFrom(
    'HTTP/1.1 200 OK\r\n',
    'HTTP/1.1 201 \r\n',
    'HTTP/1.0 200 OK\r\n',
    'Content-Length: 3\r\n',
    'content-length:\t3\t\r\n',
    'Content-Length: 03\r\n',
    'Content-Length: 4\r\n',
    'Transfer-Encoding: chunked\r\n',
    'Connection: keep-alive\r\n',
    'Connection: Keep-Alive, x\r\n',
    'Keep-Alive: timeout=75\r\n',
    'X-A: \xe9 b\r\n',
    'X-A:\r\n',
    'X-A : b\r\n',
    ' folded\r\n',
    'X-B: b\n',
    '\r\n',
    '\r',
    '\n',
    '\0',
    'abc',
  )
  const text = fc
    .tuple(fc.constantFrom('HTTP/1.1 200 OK\r\n', ''), fc.array(piece, { maxLength: 8 }))
    .map(([first, pieces]) => `${first}${pieces.join('')}\r\nabcd`)
  let plain = 0
  await fc.assert(
    fc.asyncProperty(text, async (text) => {
      const head = plainHeadOf(text)
      if (head === null) return
      plain += 1
      const { headBytes, bodyBytes, status, lines } = head
      const answer = await answerOf(text.slice(0, headBytes + bodyBytes))
      t.same([answer.statusCode, answer.rawHeaders], [status, lines], JSON.stringify(text))
    }),
    { numRuns: 3_000 },
  )
  t.ok(plain > 30, `${plain} of them are plain`)
})

/** As Node's client reads it. */
function answerOf(text: string): Promise<IncomingMessage> {
  const connection = new Duplex({
    read: () => {},
    write: (_chunk, _encoding, done) => done(),
  })
  return new Promise((resolve, reject) => {
    const asked = request({ createConnection: () => connection }, resolve)
    asked.on('error', reject)
    asked.end()
    connection.push(text, 'latin1')
  })
}
