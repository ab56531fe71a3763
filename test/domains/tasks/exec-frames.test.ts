/** Frames of a command over a WebSocket. */
import t from 'tap'
import { framesOfOutput, toldBy } from '../../../src/domains/tasks/exec-frames.ts'

t.test('what a client may say', (t) => {
  const data = Buffer.from('ls\n')
  t.same(toldBy(JSON.stringify({ stdin: { data: data.toString('base64') } })), [{ data }])
  t.same(toldBy('{"stdin":{"close":true}}'), [{ ends: true }])
  t.same(toldBy('{"tty_size":{"height":24,"width":80}}'), [{ size: { rows: 24, columns: 80 } }])
  t.same(toldBy('{"tty_size":{"height":0,"width":0}}'), [], 'a terminal that is not shown')
  t.same(toldBy('{"tty_size":{}}'), [], 'sides that are 0 are left out')
  t.same(toldBy('{"tty_size":{"height":24}}'), [])
  t.same(toldBy('{"stdin":null,"tty_size":null}'), [])
  t.same(toldBy('{}'), [], 'only that it is there')
  t.end()
})

t.test('what cannot be read is named', (t) => {
  const wrong = [
    ['x', /no JSON/],
    ['[1', /no JSON/],
    ['null', /objects/],
    ['{"stdin":7}', /objects/],
    ['{"stdin":{"data":7}}', /base64/],
    ['{"tty_size":{"height":"1","width":2}}', /height and width/],
    ['{"tty_size":{"height":-1}}', /height and width/],
    [JSON.stringify({ stdin: { data: 'A'.repeat(262_144) } }), /at most/],
  ] as const
  for (const [message, text] of wrong) {
    t.throws(() => toldBy(message), { code: 'invalid_argument', message: text }, message)
  }
  t.end()
})

t.test('what a client is told', (t) => {
  const told = (output: Parameters<typeof framesOfOutput>[0]): unknown[] =>
    framesOfOutput(output).map((frame): unknown => JSON.parse(frame))
  t.same(told({ type: 'session', session: 'x' }), [])
  t.same(told({ type: 'stderr', data: Buffer.from('no') }), [{ stderr: { data: 'bm8=' } }])
  t.same(told({ type: 'exited', code: 3 }), [
    { stdout: { close: true } },
    { stderr: { close: true } },
    { exited: true, result: { exit_code: 3 } },
  ])
  t.end()
})
