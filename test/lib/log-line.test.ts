/** Log lines: their two formats, and that one message is one line whatever it holds. */
import t from 'tap'
import type { LogFields, LogLevel, LogLine } from '../../src/lib/log.ts'
import { jsonLine, textLine } from '../../src/lib/log-line.ts'

const at = '2026-01-31T12:00:00.000Z'

function lineOf(level: LogLevel, message: string, fields: LogFields = {}): LogLine {
  return { timestamp: at, level, name: 's1.raft', message, fields }
}

t.test('text lines are for people', async (t) => {
  const line = (message: string, fields = {}) => textLine(lineOf('info', message, fields))
  t.equal(line('became leader'), `${at} [INFO] s1.raft: became leader`)
  t.equal(
    line('became leader', { term: 3, quick: true, peer: null, gone: undefined }),
    `${at} [INFO] s1.raft: became leader: term=3 quick=true peer=null`,
  )
  t.equal(
    line('x', { a: 'plain/path:1', b: 'two words', c: 'a=b', d: '"', e: '' }),
    `${at} [INFO] s1.raft: x: a=plain/path:1 b="two words" c="a=b" d="\\"" e=""`,
  )
})

t.test('no message and no value makes a second line', async (t) => {
  const forged = 'x\n2026 [INFO] s1: all is well\r\u001b[2J\u2028'
  for (const format of [textLine, jsonLine]) {
    const line = format(lineOf('warn', forged, { value: forged }))
    t.notMatch(line, /\p{Cc}/u)
  }
})

t.test('JSON lines hold the four keys, and a field replaces none of them', async (t) => {
  const fields = { term: 3, ok: true, none: null, gone: undefined, '@level': 'trace' }
  t.same(JSON.parse(jsonLine(lineOf('error', 'lost', fields))), {
    '@level': 'error',
    '@message': 'lost',
    '@module': 's1.raft',
    '@timestamp': at,
    term: 3,
    ok: true,
    none: null,
  })
})

t.test('long values are cut', async (t) => {
  const long = 'x'.repeat(100_000)
  t.ok(textLine(lineOf('info', long, { long })).length < 20_000)
  t.ok(jsonLine(lineOf('info', long, { long })).length < 40_000)
})
