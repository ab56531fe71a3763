/** The line of each request at level debug: what it tells, what it hides, and that it costs nothing below. */
import t from 'tap'
import { createLog } from '../../src/process/logging.ts'
import { noAudit } from '../../src/api/audit.ts'
import type { LogLevel, LogLine } from '../../src/lib/log.ts'
import { apiFake } from '../support/api-fake.ts'
import { eventuallyTrue } from '../support/eventually.ts'

const secret = '0b9cc06f-2a3c-4b4e-8f0e-000000000001'

function served(level: LogLevel) {
  const log = createLog({
    name: 's1',
    level,
    json: false,
    sink: { write() {} },
    wallMs: () => 0,
    soon: () => {},
  })
  let lookUps = 0
  const accessorOf = (token: string): string | null => {
    lookUps += 1
    return token === secret ? 'accessor-1' : null
  }
  const { http } = apiFake({
    http: { log: log.logger.named('http'), audit: { ...noAudit, accessorOf } },
  })
  return { log, http, lookUps: () => lookUps }
}

t.test('each request leaves one line at level debug, without its secrets', async (t) => {
  const { log, http } = served('debug')
  t.teardown(() => http.stop())
  const lines: LogLine[] = []
  log.tap.follow('debug', (line) => void lines.push(line))
  const headers = { 'x-service-token': secret, 'x-request-id': 'abc' }
  await http.app.inject({ url: `/v1/row/none?token=${secret}&wait=1s`, headers })
  await http.app.inject({ method: 'PUT', url: `/v1/nowhere/${secret}`, payload: 'x' })
  await http.app.inject({
    method: 'HEAD',
    url: '/v1/rows?filter=secret',
    headers: { 'x-service-token': 'unknown-one' },
  })
  await eventuallyTrue('three lines', () => lines.length === 3)
  const [first, second, third] = lines
  t.match(first, {
    level: 'debug',
    name: 's1.http',
    message: 'request complete',
    fields: {
      method: 'GET',
      path: '/v1/row/none?token=<redacted>&wait=1s',
      status: 404,
      ms: Number,
      requestId: 'abc',
      remote: '127.0.0.1',
      accessor: 'accessor-1',
    },
  })
  t.match(second?.fields, { method: 'PUT', path: '/v1/nowhere/<redacted>', accessor: 'anonymous' })
  t.match(third?.fields, { method: 'HEAD', path: '/v1/rows?<redacted>', accessor: 'unknown' })
  t.notMatch(JSON.stringify(lines), secret)
})

t.test(
  'nothing is made of a line that nobody reads, until a reader asks for level debug',
  async (t) => {
    const { log, http, lookUps } = served('info')
    t.teardown(() => http.stop())
    const headers = { 'x-service-token': secret }
    await http.app.inject({ url: '/v1/rows', headers })
    await eventuallyTrue('it is over', () => http.underWayCount === 0)
    t.equal(lookUps(), 0)
    const lines: LogLine[] = []
    const leave = log.tap.follow('debug', (line) => void lines.push(line))
    await http.app.inject({ url: '/v1/rows', headers })
    await eventuallyTrue('a line', () => lines.length === 1)
    leave()
    await http.app.inject({ url: '/v1/rows', headers })
    await eventuallyTrue('it is over', () => http.underWayCount === 0)
    t.equal(lines.length, 1)
    t.equal(lookUps(), 1)
  },
)
