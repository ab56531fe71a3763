/** Where log lines go: to the output in few writes, and to whoever follows them. */
import t from 'tap'
import { createLog } from '../../src/process/logging.ts'
import type { LogLevel } from '../../src/lib/log.ts'

const at = '2026-01-31T12:00:00.000Z'

function openLog(options: { level?: LogLevel; json?: boolean; toJournal?: boolean } = {}) {
  const written: string[] = []
  const soon: (() => void)[] = []
  const log = createLog({
    name: 's1',
    level: options.level ?? 'trace',
    json: options.json ?? false,
    sink: { write: (text) => void written.push(text) },
    toJournal: options.toJournal ?? false,
    wallMs: () => Date.parse(at),
    soon: (run) => void soon.push(run),
  })
  return { ...log, written, soon }
}

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

t.test("each line for systemd's journal begins with its level", async (t) => {
  for (const json of [false, true]) {
    const log = openLog({ json, toJournal: true })
    for (const level of ['trace', 'debug', 'info', 'warn', 'error'] as const)
      log.logger[level]('x\ny')
    log.flush()
    const lines = log.written.join('').trimEnd().split('\n')
    t.same(
      lines.map((line) => line.slice(0, 4)),
      ['<7>', '<7>', '<6>', '<4>', '<3>'].map((mark) => mark + (json ? '{' : '2')),
    )
  }
})

t.test('what is gathered is bounded', async (t) => {
  const log = openLog({ json: true })
  for (let line = 0; line < 10_000; line += 1) log.logger.info('again and again')
  t.ok(log.written.length > 5)
  t.ok(Math.max(...log.written.map((text) => text.length)) < 70_000)
})

t.test('level and form can change while loggers and followers are there', async (t) => {
  const log = openLog({ level: 'info' })
  const raft = log.logger.named('raft')
  const followed: string[] = []
  const leave = log.tap.follow('warn', ({ message }) => void followed.push(message))
  raft.debug('a')
  log.configure({ level: 'debug', json: true })
  raft.debug('b')
  t.equal(raft.listens('debug'), true)
  log.configure({ level: 'error', json: false })
  t.same([raft.listens('info'), raft.listens('warn')], [false, true], 'the follower reads on')
  raft.warn('c')
  leave()
  t.equal(raft.listens('warn'), false)
  log.flush()
  const [json = '', text] = log.written.join('').split('\n')
  t.match(JSON.parse(json), { '@level': 'debug', '@message': 'b', '@module': 's1.raft' })
  t.equal(text, '', 'the output takes no warning any more')
  t.same(followed, ['c'])
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
  t.same([logger.listens('info'), logger.listens('warn')], [false, true])
  const leave = log.tap.follow('debug', () => {})
  t.same([logger.listens('trace'), logger.listens('debug')], [false, true])
  leave()
  t.equal(logger.listens('info'), false)
})

t.test(
  'a follower gets lines below the own level, and costs nothing once it is gone',
  async (t) => {
    const log = openLog({ level: 'warn' })
    const raft = log.logger.named('raft')
    const seen: string[] = []
    const stop = log.tap.follow('trace', ({ level, name, message, fields }) => {
      seen.push(`${level} ${name} ${message} ${JSON.stringify(fields)}`)
    })
    const calm: string[] = []
    const stopCalm = log.tap.follow('error', ({ message }) => void calm.push(message))
    raft.trace('a', { term: 3 })
    raft.error('b')
    stop()
    stop()
    raft.debug('c')
    raft.error('d')
    stopCalm()
    raft.error('e')
    log.flush()
    t.same(seen, ['trace s1.raft a {"term":3}', 'error s1.raft b {}'])
    t.same(calm, ['b', 'd'])
    t.match(log.written.join(''), /^[^\n]+: b\n[^\n]+: d\n[^\n]+: e\n$/, 'the output is as before')
  },
)
