/** `muster event stream`: frames become lines, or stay what they are. */
import t from 'tap'
import { linesOf } from '../../src/cli/api/lines.ts'
import { standIn } from './api-stand-in.ts'
import { run } from './terminal.ts'

const path = 'GET /v1/event/stream'

function event(index: number, type: string, key: string, namespace = '') {
  return { Topic: '', Type: type, Key: key, Namespace: namespace, Index: index, Payload: {} }
}

const frames = [
  {},
  { Index: 12, Snapshot: true, Events: [event(7, 'KVUpserted', 'a', 'default')] },
  { Index: 12, EndOfSnapshot: true, Events: [] },
  {
    Index: 13,
    Events: [event(13, 'NodeRegistration', 'n\u001b1'), event(13, 'KVDeleted', 'a', 'team')],
  },
  { Error: 'this server stops', Index: 13 },
]
const text = frames.map((frame) => `${JSON.stringify(frame)}\n`).join('')

void t.test('a line for each change, and the reason of the end', async (t) => {
  const { address, asked } = await standIn(t, { [path]: { text } })
  const options = ['-topic', 'KV:a/*', '-topic', 'node', '-snapshot', '-namespace', '*']
  const { code, out, err } = await run(['event', 'stream', '-address', address, ...options])
  t.equal(code, 1)
  t.same(
    [out, err],
    [
      [
        '7         KVUpserted             default     a',
        '13        NodeRegistration       -           n\\u001b1',
        '13        KVDeleted              team        a',
        '',
      ].join('\n'),
      'That was all there is at index 12; changes follow\n' +
        'muster event stream: the agent ended the stream: this server stops; all up to index 13 was told\n',
    ],
  )
  t.match(asked, [
    { url: '/v1/event/stream?topic=KV%3Aa%2F*&topic=node&snapshot=true&namespace=*' },
  ])
})

void t.test('frames as they come, without heartbeats', async (t) => {
  const { address, asked } = await standIn(t, { [path]: { text } })
  const { code, out } = await run(['event', 'stream', '-address', address, '-json'])
  t.equal(code, 1)
  t.equal(out, text.slice('{}\n'.length, text.lastIndexOf('{"Error"')))
  t.match(asked, [{ url: '/v1/event/stream?index=now' }])
})

void t.test('it begins where it is told to', async (t) => {
  const { address, asked } = await standIn(t, { [path]: { text: '' } })
  t.match(await run(['event', 'stream', '-address', address, '-index', '5']), {
    code: 1,
    err: /the agent ended the stream; did it stop\?/,
  })
  t.match(asked, [{ url: '/v1/event/stream?index=5' }])
  t.match(await run(['event', 'stream', '-index', 'soon']), {
    code: 2,
    err: /-index is a whole number, not "soon"/,
  })
})

void t.test('what is refused, and what is no stream of events, is told', async (t) => {
  const rows = [
    [{ status: 410, text: 'events of index 1 are not kept any more' }, /not kept any more \(410\)/],
    [{ text: 'hello\n' }, /a frame of events is not valid JSON/],
    [{ text: '{"Events":5}\n' }, /expected a list/],
    [{ text: '{"Index":1' }, /broke off in the middle/],
  ] as const
  for (const [reply, err] of rows) {
    const { address } = await standIn(t, { [path]: reply })
    t.match(await run(['event', 'stream', '-address', address]), { code: 1, out: '', err })
  }
})

void t.test('lines come out whole, however packets cut them', async (t) => {
  const lines = ['größe 日本', '', '{}', 'x'.repeat(1_000)]
  const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
  for (const size of [1, 7, bytes.length]) {
    const body = async function* () {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
    }
    const read: string[] = []
    for await (const line of linesOf(body())) read.push(line)
    t.same(read, lines.filter(Boolean), `in pieces of ${size} bytes`)
  }
})
