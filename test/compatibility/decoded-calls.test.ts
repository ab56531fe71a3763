/** What Nomad's Go client decodes has a body. */
import t from 'tap'
import { serverDomains } from '../../src/domains/registry.ts'
import type { HttpClient } from '../support/http-client.ts'
import { isDecoded } from './decoded-calls.ts'
import { Replay } from './replay.ts'
import { put, row } from './rows.ts'

t.test('every route whose answer Nomad decodes has one', (t) => {
  const routes = serverDomains.flatMap((domain) => domain.routes ?? [])
  const found = routes.filter(({ method, path }) => isDecoded(method, path))
  t.ok(found.length > 30, `${found.length} are looked at`)
  for (const { method, path, reply } of found) {
    t.ok('application/json' in (reply[200] ?? {}), `${method} ${path}`)
  }
  t.end()
})

t.test('the replay finds an empty body where one is decoded', async (t) => {
  const answers = (text: string) =>
    ({
      request: async () => ({ status: 200, headers: {}, body: Buffer.from(text) }),
    }) as unknown as HttpClient
  const outcome = (text: string, path: string) =>
    new Replay(answers(text), {}, {}, isDecoded).outcomeOf(row('x', put(path)))
  const decoded = '/v1/client/allocation/5/restart?x=1'
  t.match(await outcome('', decoded), { verdict: 'differs', note: /no body/ })
  t.match(await outcome('not JSON', decoded), { verdict: 'differs' })
  t.match(await outcome('{}', decoded), { verdict: 'works' })
  t.match(await outcome('', '/v1/system/gc'), { verdict: 'works' })
})
