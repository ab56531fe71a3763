/** `muster monitor`: frames become the log again. */
import t from 'tap'
import { textOfFrames } from '../../src/cli/api/frames.ts'
import { framesOf } from '../../src/domains/process/log-frames.ts'
import { standIn } from './api-stand-in.ts'
import { run } from './terminal.ts'

const path = 'GET /v1/agent/monitor'

function inFrames(text: string): string {
  return `{}${framesOf(text, 0).frames.join('{}')}{}`
}

void t.test('the lines come out whole, however frames and packets cut them', async (t) => {
  const text = `${'größe 日本 {"}" \\" '.repeat(300)}\nend\n`
  const bytes = Buffer.from(inFrames(text))
  for (const size of [1, 7, 1_000, bytes.length]) {
    const body = async function* () {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
    }
    const parts: string[] = []
    for await (const part of textOfFrames(body())) parts.push(part)
    t.equal(parts.join(''), text, `in pieces of ${size} bytes`)
  }
})

void t.test('the log is asked for as the options say', async (t) => {
  const { address, asked } = await standIn(t, { [path]: { text: inFrames('one\n\u001b[2J\n') } })
  const line = ['monitor', '-address', address, '-log-level', 'DEBUG', '-server-id', 'leader']
  t.match(await run([...line, '-json']), {
    code: 1,
    out: 'one\n\\u001b[2J\n',
    err: /the agent ended the log/,
  })
  t.match(asked, [{ url: '/v1/agent/monitor?log_level=debug&log_json=true&server_id=leader' }])
  t.match(await run(['monitor', '-log-level', 'loud']), {
    code: 2,
    err: /-log-level is one of trace, debug, info, warn, error, not "loud"/,
  })
})

void t.test('it ends when nobody reads on', async (t) => {
  const text = 'a line\n'.repeat(1_000)
  const { address } = await standIn(t, { [path]: { text: inFrames(text) } })
  const { code, out, err } = await run(['monitor', '-address', address], { outLengthMax: 100 })
  t.match({ code, err }, { code: 0, err: '' })
  t.ok(out.length < text.length)
})

void t.test('what is no log, and what breaks off, is told', async (t) => {
  const rows = [
    [{ text: 'hello' }, /not a log of a Muster agent/],
    [{ text: '{"Data":5}' }, /expected text for Data/],
    [{ text: '{"Data":"' }, /broke off in the middle/],
    [{ text: '{}', breaks: true }, /the answer broke off from/],
    [{ status: 404, text: 'unknown server "x"' }, /unknown server "x" \(404\)/],
  ] as const
  for (const [reply, err] of rows) {
    const { address } = await standIn(t, { [path]: reply })
    t.match(await run(['monitor', '-address', address]), { code: 1, out: '', err })
  }
})
