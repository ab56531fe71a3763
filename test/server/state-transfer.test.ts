/** How a server that lost its state asks another member for one. */
import t from 'tap'
import { MusterError } from '../../src/lib/errors.ts'
import type { AuditLine } from '../../src/rpc/calls.ts'
import { Services } from '../../src/rpc/services.ts'
import { requestStateBy, sendStateMethod, stateSender } from '../../src/server/state-transfer.ts'
import { fakeServer } from '../support/rpc-fakes.ts'

const member = { id: 'id-b', name: 'b', address: 'b:1', role: 'voter' } as const

t.test('a request for the state is a method like any other between servers', async (t) => {
  const lines: AuditLine[] = []
  const sent: [string, number][] = []
  const services = new Services()
  services.provide(stateSender, {
    sendState: (to, atLeast) => {
      if (atLeast > 7) throw new MusterError('unavailable', 'the state of this server is older')
      sent.push([to, atLeast])
    },
  })
  const a = fakeServer()
  const b = fakeServer({
    methods: [sendStateMethod],
    services,
    audit: (line) => lines.push(line),
  })
  a.link.handlers.set('b:2', b.dispatcher.handleForwarded)
  const requestState = (id: string) => requestStateBy({ id, link: a.link, addressOf: () => 'b:2' })
  await requestState('id-a')(member, 7)
  t.same(sent, [['id-a', 7]])
  await t.rejects(requestState('id-a')(member, 8), { code: 'unavailable' })
  await t.rejects(requestState('')(member, 7), {
    code: 'invalid_argument',
    message: /^server.sendState: id must not have fewer than 1/,
  })
  t.same(
    lines.map(({ method, outcome, forwarded }) => `${method} ${outcome} ${forwarded}`),
    ['ok', 'unavailable', 'invalid_argument'].map((end) => `server.sendState ${end} true`),
  )
})
