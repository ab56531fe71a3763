/** `muster watch` against a server of one, and its reading against servers that fail and forget. */
import { appendFile, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ApiClient } from '../../src/cli/api/client.ts'
import { Servers } from '../../src/cli/api/servers.ts'
import { changes, type Change } from '../../src/cli/watch/changes.ts'
import type { View } from '../../src/cli/watch/views.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { manualClock } from '../support/manual-clock.ts'
import { eventually } from '../support/eventually.ts'
import { serverForCli } from './server-for-cli.ts'
import { run } from './terminal.ts'

void t.test('what cannot be watched is misuse', async (t) => {
  const cases: readonly (readonly [line: string, reason: RegExp])[] = [
    ['watch', /-type is one of key, keyprefix, .* it is missing/],
    ['watch -type leaf', /-type is one of .* it is not "leaf"/],
    ['watch -type key', /-type key needs -key/],
    ['watch -type keyprefix', /-type keyprefix needs -prefix/],
    ['watch -type service', /-type service needs -service/],
    ['watch -type nodes -key a', /-key is not for -type nodes/],
    ['watch -type service -service a -passingonly yes', /-passingonly is true or false/],
    ['watch -type checks -service a -state any', /-service and -state exclude each other/],
  ]
  for (const [line, reason] of cases) {
    t.match(await run(line.split(' ')), { code: 2, err: reason }, line)
  }
})

void t.test('without a command it shows what there is, once', async (t) => {
  const { muster, server } = await serverForCli(t)
  await server.ask('PUT', '/v1/kv/app/a?flags=18446744073709551615', Buffer.from('one'))
  await server.ask('PUT', '/v1/catalog/register', {
    Node: 'box',
    Address: '10.0.0.1',
    Service: { Service: 'web', Tags: ['eu'] },
    Check: { Name: 'alive', ServiceID: 'web', Status: 'warning' },
  })
  t.match(await muster('watch -type key -key app/a'), {
    code: 0,
    out: /^\{\n[^]*"Key": "app\/a",\n[^]*"Flags": 18446744073709551615,/,
    err: '',
  })
  t.match(await muster('watch -type key -key none'), { code: 0, out: 'null\n' })
  t.match(await muster('watch -type keyprefix -prefix app/'), { out: /^\[\n +\{[^]*"app\/a"/ })
  t.match(await muster('watch -type services'), { out: /"web": \[\n +"eu"\n/ })
  t.match(await muster('watch -type nodes'), { out: /"Node": "box"/ })
  t.match(await muster('watch -type service -service web -tag eu'), { out: /"Service": "web"/ })
  t.match(await muster('watch -type service -service web -tag us'), { out: '[]\n' })
  t.match(await muster('watch -type service -service web -passingonly true'), { out: '[]\n' })
  t.match(await muster('watch -type checks -state warning'), { out: /"Name": "alive"/ })
  t.match(await muster('watch -type checks -service web'), { out: /"Name": "alive"/ })
})

void t.test('a command is run at once and on each change, until a signal', async (t) => {
  const { muster, server } = await serverForCli(t)
  const file = join(t.testdir(), 'seen')
  await appendFile(file, '')
  const lines = async (): Promise<readonly string[]> =>
    (await readFile(file, 'utf8')).split('\n').slice(0, -1)
  const seen = (count: number) =>
    eventually(`${count} changes`, async () => ((await lines()).length >= count ? true : undefined))
  let stop = (_signal: NodeJS.Signals): void => {}
  const watching = muster(
    ['watch', '-type', 'key', '-key', 'app', `(printf '%s ' $MUSTER_INDEX; cat) >>${file}`],
    { signals: (send) => (stop = send) },
  )
  await seen(1)
  await server.ask('PUT', '/v1/kv/other', Buffer.from('no concern'))
  await server.ask('PUT', '/v1/kv/app', Buffer.from('one'))
  await seen(2)
  await server.ask('PUT', '/v1/kv/app', Buffer.from('two'))
  await seen(3)
  stop('SIGINT')
  t.match(await watching, { code: 0, err: '' })
  const [missing, one, two] = await lines()
  t.match(missing, /^\d+ null$/)
  t.match(one, /^\d+ \{.*"Value":"b25l".*\}$/)
  t.match(two, /^\d+ \{.*"Value":"dHdv".*\}$/)
})

void t.test('a command that fails, or does not start, ends it', async (t) => {
  const { muster } = await serverForCli(t)
  t.match(await muster(['watch', '-type', 'nodes', 'exit 4']), {
    code: 1,
    err: 'muster watch: the command ended with exit code 4\n',
  })
  t.match(await muster(['watch', '-type', 'nodes', '-shell=false', '/no/such', '-x']), {
    code: 1,
    err: /the command does not start: .*ENOENT/,
  })
  t.match(await run(['watch', '-type', 'nodes', '-address', '127.0.0.1:1']), {
    code: 1,
    err: /nothing listens there/,
  })
})

type Scripted = { readonly status?: number; readonly index?: string; readonly value?: string }

/** Answers in this order, then nothing more, until the test is over. */
async function scripted(t: Test, replies: readonly Scripted[]) {
  const asked: string[] = []
  const left = [...replies]
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    const reply = left.shift()
    if (reply === undefined) return
    const { status = 200, index = '1', value = '' } = reply
    response.writeHead(status, { 'X-Service-Index': index })
    response.end(JSON.stringify(value))
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const bound = server.address()
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0
  return { asked, address: new URL(`http://127.0.0.1:${port}`) }
}

const view: View = { path: '/v', search: {}, indexGrows: true, shown: (answer) => answer }

/** All that was yielded until the server had nothing more to say. */
async function read(t: Test, replies: readonly Scripted[], of: View = view) {
  const { asked, address } = await scripted(t, replies)
  const tls = { ca: null, cert: null, key: null, serverName: null, verify: true }
  const settings = {
    addresses: [address] as const,
    token: null,
    region: null,
    namespace: null,
    tls,
  }
  const stop = new AbortController()
  const warnings: string[] = []
  const found: Change[] = []
  const reading = (async () => {
    const all = changes({
      servers: new Servers([new ApiClient(settings)], manualClock()),
      clock: systemClock,
      view: of,
      search: {},
      signal: stop.signal,
      warn: (text) => void warnings.push(text),
    })
    for await (const change of all) found.push(change)
  })()
  await eventually('all was asked', () => (asked.length > replies.length ? true : undefined))
  stop.abort()
  await reading
  return { asked, found, warnings }
}

void t.test('only another content is a change', async (t) => {
  const { found, asked } = await read(t, [
    { index: '5', value: 'a' },
    { index: '5', value: 'a' },
    { index: '7', value: 'a' },
    { index: '9', value: 'b' },
  ])
  t.same(found, [
    { index: '5', shown: 'a' },
    { index: '9', shown: 'b' },
  ])
  const indexes = asked.map((url) => /index=(\d+)/.exec(url)?.[1] ?? null)
  t.same(indexes, [null, '5', '5', '7', '9'])
})

void t.test('an index that went back is no place to wait at', async (t) => {
  const { found, asked } = await read(t, [
    { index: '90', value: 'a' },
    { index: '8', value: 'b' },
    { index: '8', value: 'b' },
  ])
  t.same(
    found.map(({ shown }) => shown),
    ['a', 'b'],
  )
  t.same(
    asked.map((url) => /index=(\d+)/.exec(url)?.[1] ?? null),
    [null, '90', null, '8'],
  )
})

void t.test('indexes of events are any numbers', async (t) => {
  const replies = [
    { index: '90', value: 'a' },
    { index: '8', value: 'b' },
  ]
  const { asked } = await read(t, replies, { ...view, indexGrows: false })
  t.match(asked[2], /index=8&/)
})

void t.test(
  'after a failure it is asked from the start, and what it was is no change',
  async (t) => {
    const { found, asked, warnings } = await read(t, [
      { index: '5', value: 'a' },
      { status: 500, value: 'No cluster leader' },
      { index: '5', value: 'a' },
      { index: '6', value: 'b' },
    ])
    t.same(
      found.map(({ shown }) => shown),
      ['a', 'b'],
    )
    t.same(
      asked.map((url) => /index=(\d+)/.exec(url)?.[1] ?? null),
      [null, '5', null, '5', '6'],
    )
    t.match(warnings, [/No cluster leader.*; asking again in 1 s/])
  },
)
