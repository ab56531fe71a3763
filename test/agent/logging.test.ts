/** Log lines: their two formats, and that one message is one line whatever it holds. */
import t from 'tap'
import { createLog, jsonLine, textLine } from '../../src/agent/logging.ts'
import type { LogLevel } from '../../src/lib/log.ts'

const at = '2026-01-31T12:00:00.000Z'

function openLog(options: { level?: LogLevel; json?: boolean } = {}) {
  const written: string[] = []
  const soon: (() => void)[] = []
  const log = createLog({
    name: 's1',
    level: options.level ?? 'trace',
    json: options.json ?? false,
    sink: { write: (text) => void written.push(text) },
    wallMs: () => Date.parse(at),
    soon: (run) => void soon.push(run),
  })
  return { ...log, written, soon }
}

t.test('text lines are for people', async (t) => {
  const line = (message: string, fields = {}) => textLine(at, 'info', 's1.raft', message, fields)
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
    const line = format(at, 'warn', 's1', forged, { value: forged })
    t.notMatch(line, /\p{Cc}/u)
  }
})

t.test('JSON lines hold the four keys, and a field replaces none of them', async (t) => {
  const fields = { term: 3, ok: true, none: null, gone: undefined, '@level': 'trace' }
  t.same(JSON.parse(jsonLine(at, 'error', 's1.raft', 'lost', fields)), {
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
  t.ok(textLine(at, 'info', 's1', long, { long }).length < 20_000)
  t.ok(jsonLine(at, 'info', 's1', long, { long }).length < 40_000)
})

t.test('lines of one turn are written together, and at once on flush', async (t) => {
  const log = openLog()
  log.logger.info('one')
  log.logger.named('raft').warn('two')
  t.same(log.written, [])
  t.equal(log.soon.length, 1)
  log.soon[0]?.()
  t.same(log.written, [`${at} [INFO] s1: one\n${at} [WARN] s1.raft: two\n`])
  log.logger.error('three')
  log.flush()
  log.flush()
  t.equal(log.written.length, 2)
  t.equal(log.soon.length, 2, 'a flush does not keep the next turn from writing')
})

t.test('what is gathered is bounded', async (t) => {
  const log = openLog({ json: true })
  for (let line = 0; line < 10_000; line += 1) log.logger.info('again and again')
  t.ok(log.written.length > 5)
  t.ok(Math.max(...log.written.map((text) => text.length)) < 70_000)
})

t.test('levels below the chosen one are silent', async (t) => {
  const log = openLog({ level: 'warn' })
  const { logger } = log
  logger.trace('a')
  logger.debug('b')
  logger.info('c')
  logger.warn('d')
  logger.error('e')
  log.flush()
  t.equal(log.written.join(''), `${at} [WARN] s1: d\n${at} [ERROR] s1: e\n`)
})
