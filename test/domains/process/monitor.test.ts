/** The log as a stream: levels, formats, what a slow reader loses and is told, and frames with offsets. */
import t, { type Test } from 'tap'
import { createLog } from '../../../src/process/logging.ts'
import { framesOf, logFrames } from '../../../src/domains/process/log-frames.ts'
import { heartbeat } from '../../../src/lib/frame-stream.ts'
import { bufferedLengthMax, LogBuffer } from '../../../src/domains/process/log-buffer.ts'
import { Monitors, readersMax } from '../../../src/domains/process/monitor.ts'
import type { LogLine } from '../../../src/lib/log.ts'
import { textLine } from '../../../src/lib/log-line.ts'
import { hastyClock } from '../server-of-one.ts'

const at = '2026-01-31T12:00:00.000Z'
const clock = hastyClock(20)
const anyone = { accessor: null, address: 'a', operator: true }

function logOf() {
  return createLog({
    name: 's1',
    level: 'error',
    json: false,
    sink: { write: () => {} },
    wallMs: () => Date.parse(at),
    soon: () => {},
  })
}

function open(t: Test, level: 'trace' | 'info' = 'info', json = false) {
  const { logger, tap } = logOf()
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  const monitors = new Monitors(tap, clock, 's1.global')
  return { logger, stop, monitors, lines: monitors.open({ level, json }, stop.signal, anyone) }
}

t.test('a reader gets the lines of its level, also below that of the process', async (t) => {
  const { logger, lines } = open(t)
  logger.debug('too low')
  logger.info('one', { term: 3 })
  logger.named('raft').warn('two')
  t.equal((await lines.next()).value, `${at} [INFO] s1: one: term=3\n${at} [WARN] s1.raft: two\n`)
  const next = lines.next()
  logger.error('three')
  t.equal((await next).value, `${at} [ERROR] s1: three\n`, 'and those that come while it waits')
})

t.test('JSON lines are one object each', async (t) => {
  const { logger, lines } = open(t, 'trace', true)
  logger.trace('one', { term: 3 })
  const { value } = await lines.next()
  t.same(JSON.parse(String(value)), {
    '@level': 'trace',
    '@message': 'one',
    '@module': 's1',
    '@timestamp': at,
    term: 3,
  })
})

t.test('a stream ends by its signal or by its reader, and then nothing listens', async (t) => {
  const { logger, stop, lines } = open(t)
  const waiting = lines.next()
  logger.info('last')
  stop.abort()
  t.match(await waiting, { value: /s1: last\n$/, done: false }, 'what waits still comes')
  logger.info('nobody hears')
  t.same(await lines.next(), { value: undefined, done: true })

  const other = open(t)
  const pending = other.lines.next()
  await other.lines.return?.()
  t.same(await pending, { value: undefined, done: true })
})

t.test('readers are bounded in number, and places come free', async (t) => {
  const { monitors, lines } = open(t)
  const signal = new AbortController().signal
  const another = () => monitors.open({ level: 'info', json: false }, signal, anyone)
  const others = Array.from({ length: readersMax - 1 }, another)
  t.throws(another, { code: 'overloaded' })
  t.equal(monitors.refusedCount, 1)
  await lines.return?.()
  others.push(another())
  for (const other of others) await other.return?.()
})

t.test('a slow reader loses lines, is told how many and where, and holds nobody up', async (t) => {
  const { logger, lines } = open(t)
  const text = 'x'.repeat(1_000)
  const logged = 2_000
  for (let n = 0; n < logged; n++) logger.info(text, { n })
  let seen = ''
  while (!seen.includes('dropped=')) seen += String((await lines.next()).value)
  const kept = seen.split('\n').filter((line) => line.includes(text)).length
  const last = seen.trimEnd().split('\n').at(-1) ?? ''
  t.ok(kept * text.length < bufferedLengthMax + 10 * text.length, `${kept} lines were kept`)
  const lost = logged - kept
  const notice = `[WARN] s1.global.monitor: ${lost} lines dropped: this reader is slower than the log`
  t.ok(last.endsWith(`${notice}: dropped=${lost}`), last.slice(0, 200))
  logger.info('after')
  t.match((await lines.next()).value, /s1: after\n$/)
})

t.test('the count of dropped lines stands where they are missing', (t) => {
  const buffer = new LogBuffer({
    format: textLine,
    dropNotice: (count) => `${count} dropped`,
    lengthMax: 100,
  })
  const line = (message: string): LogLine => ({
    timestamp: at,
    level: 'info',
    name: 's1',
    message,
    fields: {},
  })
  for (const message of ['a', 'b', 'c', 'd', 'e', 'f']) buffer.push(line(message))
  const first = buffer.take()
  buffer.push(line('g'))
  t.match(first, /s1: a\n.*s1: b\n.*s1: c\n(3 dropped\n)$/s)
  t.match(buffer.take(), /^[^\n]*s1: g\n$/)
  t.equal(buffer.take(), '')
  t.end()
})

t.test('long output leaves in pieces that end between lines', async (t) => {
  const { logger, lines } = open(t)
  for (let n = 0; n < 300; n++) logger.info('x'.repeat(1_000))
  let total = 0
  for (let chunks = 0; total < 300; chunks++) {
    const { value } = await lines.next()
    const text = String(value)
    t.ok(text.length <= 64 * 1024 && text.endsWith('\n'))
    total += text.split('\n').length - 1
  }
  t.equal(total, 300)
})

t.test('frames hold a kilobyte each and say where they begin', (t) => {
  const { frames, end } = framesOf('ä'.repeat(1_000), 500)
  const parsed = frames.map((frame) => JSON.parse(frame) as { Offset: number; Data: string })
  t.same(
    parsed.map(({ Offset }) => Offset),
    [500, 1_524],
  )
  t.equal(end, 2_500)
  const bytes = Buffer.concat(parsed.map(({ Data }) => Buffer.from(Data, 'base64')))
  t.equal(bytes.toString(), 'ä'.repeat(1_000))
  t.match(JSON.parse(frames[0] ?? ''), { FileEvent: 'log' })
  t.end()
})

t.test(
  'a stream without lines sends heartbeats, and loses none of the lines after them',
  async (t) => {
    const chunks: ((value: IteratorResult<string>) => void)[] = []
    const source: AsyncIterator<string> = {
      next: () => new Promise((resolve) => chunks.push(resolve)),
    }
    const frames = logFrames(source, hastyClock(100))
    t.equal((await frames.next()).value, heartbeat)
    t.equal((await frames.next()).value, heartbeat)
    chunks[0]?.({ value: 'one\n', done: false })
    t.same(JSON.parse(String((await frames.next()).value)), {
      Offset: 0,
      Data: Buffer.from('one\n').toString('base64'),
      FileEvent: 'log',
    })
    const next = frames.next()
    chunks[1]?.({ value: 'two\n', done: false })
    t.match(JSON.parse(String((await next).value)), { Offset: 4 })
    const last = frames.next()
    chunks[2]?.({ value: undefined, done: true })
    t.equal((await last).done, true)
    t.equal(chunks.length, 3, 'nothing was asked twice')
  },
)
