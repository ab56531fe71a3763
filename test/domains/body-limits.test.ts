/**
 * How large a body each route takes: all that write are asked with one byte more, in chunks that declare no length. What
 * each takes is the table in docs/limits-and-audit.md; TAP_SNAPSHOT=1 writes it anew.
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { errorBody } from '../../src/api/errors.ts'
import { bodyBytesMaxOf, bodyKindOf } from '../../src/api/route-body.ts'
import { smallBodyBytesMax, type Route } from '../../src/api/route.ts'
import { HttpServer } from '../../src/api/server.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLogger } from '../../src/lib/log.ts'
import { seededRandom } from '../../src/lib/random.ts'
import type { Dispatcher } from '../../src/rpc/dispatch.ts'
import { documentTable } from '../support/document-table.ts'
import { serverOfOne } from './server-of-one.ts'

const standard = 2 * 2 ** 20
/** Of what is read into memory at once. */
const inMemoryMax = 4 * 2 ** 20
const blockBytes = 65_536

t.test('every route bounds its body, and the document says how', async (t) => {
  const server = await serverOfOne(t)
  const { routes } = server.composed
  const writing = routes.filter(({ method }) => !['GET', 'DELETE', 'LIST'].includes(method))
  for (const route of routes) {
    const max = bodyBytesMaxOf(route, standard)
    if (bodyKindOf(route) !== 'stream') {
      t.ok(max <= inMemoryMax, `${nameOf(route)}: ${max}`)
      const named = max <= smallBodyBytesMax || (route.atLeast ?? []).length > 0
      t.ok(named, `${nameOf(route)}: who may send more than 64 KiB`)
    }
    if (!writing.includes(route)) t.ok(max <= 65_536, `${nameOf(route)} wants no body`)
  }
  await documentTable(t, {
    document: new URL('../../docs/limits-and-audit.md', import.meta.url),
    name: 'bodies',
    writtenBy: 'test/domains/body-limits.test.ts',
    rows: [
      ['request', 'body', 'at most'],
      ...writing
        .toSorted((left, right) => (left.path < right.path ? -1 : 1))
        .map((route) => [`\`${nameOf(route)}\``, shownKind(route), shownMax(route)]),
    ],
  })
})

t.test('a body in chunks that is too large is 413 in one line, and asks for nothing', async (t) => {
  const server = await serverOfOne(t)
  let asked = 0
  const dispatcher = new Proxy({} as Dispatcher, {
    get: (_, name) => {
      if (name === 'drain') return () => {}
      if (name === 'admit') return () => null
      return () => Promise.reject(new Error(`${++asked}`))
    },
  })
  const { routes } = server.composed
  const http = new HttpServer({
    routes,
    dispatcher,
    clock: systemClock,
    random: seededRandom(1),
    log: silentLogger,
    region: 'global',
    limits: { bodyBytesMax: standard },
  })
  t.teardown(() => http.stop(0))
  const port = await http.listen({ host: '127.0.0.1', port: 0 })
  for (const route of routes) {
    if (bodyKindOf(route) === 'stream') continue
    const max = bodyBytesMaxOf(route, standard)
    const [head = '', body = ''] = (await sendChunks(port, route, max + 1)).split('\r\n\r\n')
    t.match(head, /^HTTP\/1\.1 413 /, nameOf(route))
    const refusal = `the request body is too large: it has over ${max} bytes`
    t.equal(body, errorBody(route.path, refusal).body)
  }
  t.equal(asked, 0)
})

function nameOf({ method, path, dialect }: Route): string {
  return dialect === undefined ? `${method} ${path}` : `${method} ${path} (${dialect})`
}

function shownKind(route: Route): string {
  const kind = bodyKindOf(route)
  if (kind === 'none') return 'ignored'
  return kind === 'json' ? 'JSON' : kind === 'bytes' ? 'bytes' : 'a stream'
}

function shownMax(route: Route): string {
  const { bodyBytesMax, body } = route
  if (bodyBytesMax === undefined && body !== 'none') return '`limits.http_body_bytes_max`'
  const max = bodyBytesMaxOf(route, standard)
  for (const [unit, bytes] of [
    ['GiB', 2 ** 30],
    ['MiB', 2 ** 20],
  ] as const) {
    if (max >= bytes && max % bytes === 0) return `${max / bytes} ${unit}`
  }
  return `${Math.ceil(max / 2 ** 10)} KiB`
}

async function sendChunks(port: number, route: Route, length: number): Promise<string> {
  const path = route.path.replaceAll(/:[a-z_]+/g, 'x').replace('*', 'x')
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.setEncoding('utf8')
  socket.on('data', (chunk: string) => (text += chunk))
  const dialect = route.dialect === undefined ? '' : `X-Service-Dialect: ${route.dialect}\r\n`
  socket.write(
    `${route.method} ${path} HTTP/1.1\r\nHost: localhost\r\n${dialect}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n`,
  )
  for (let left = length; left > 0; left -= blockBytes) {
    const size = Math.min(left, blockBytes)
    socket.write(`${size.toString(16)}\r\n${' '.repeat(size)}\r\n`)
  }
  socket.write('0\r\n\r\n')
  await once(socket, 'close')
  return text
}
