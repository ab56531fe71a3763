/** A request as it goes over the wire. */
import t from 'tap'
import { requestText } from '../../src/client-agent/request-text.ts'

const place = { secure: false, host: '::1', port: 4646 }

t.test('a request is its head and its body', (t) => {
  const own = { host: 'other', connection: 'close', 'content-length': '99', 'x-a': ['b', 'c'] }
  const head = 'host: [::1]:4646\r\nconnection: keep-alive\r\nx-a: b\r\nx-a: c\r\n'
  const rows = [
    ['GET', null, `${head}\r\n`],
    ['DELETE', null, `${head}\r\n`],
    ['PUT', null, `${head}content-length: 0\r\n\r\n`],
    ['PUT', Buffer.from([0, 13, 10, 255]), `${head}content-length: 4\r\n\r\n\0\r\n\xff`],
    ['GET', Buffer.from('a'), `${head}content-length: 1\r\n\r\na`],
  ] as const
  for (const [method, body, expected] of rows) {
    const text = requestText(place, { method, url: '/v1/kv/a?b', headers: own, body })
    t.equal(text, `${method} /v1/kv/a?b HTTP/1.1\r\n${expected}`)
  }
  t.end()
})

t.test('what would be another request is refused', (t) => {
  const well = { method: 'GET', url: '/', headers: {}, body: null }
  const rows = [
    { ...well, method: 'GET /' },
    { ...well, url: '/ HTTP/1.1' },
    { ...well, url: '/\r\nx: y' },
    { ...well, url: '/\xe9' },
    { ...well, url: '' },
    { ...well, headers: { 'x-a': 'b\r\nx-b: c' } },
    { ...well, headers: { 'x-a': ['b', 'c\n'] } },
    { ...well, headers: { 'x-a': '\u0100' } },
    { ...well, headers: { 'x-a: b\r\nx-b': 'c' } },
  ]
  for (const row of rows) t.throws(() => requestText(place, row), TypeError, JSON.stringify(row))
  t.end()
})
