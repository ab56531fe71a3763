/** Whose request it is that a client agent passes on, and who is not believed. */
import t from 'tap'
import {
  headersOfAgent,
  passedOnIn,
  type KnowsAgent,
  type ShownAgent,
} from '../../src/api/passed-on.ts'
import { apiFake } from '../support/api-fake.ts'

const self = { node: 'Ä b', token: 'secret of the agent' }

t.test('an agent that is known is believed, and nobody else', async (t) => {
  const shown: ShownAgent[] = []
  const answers: Readonly<Record<string, KnowsAgent>> = {
    known: () => true,
    'known later': () => Promise.resolve(true),
    unknown: () => false,
    'unknown later': () => Promise.resolve(false),
  }
  for (const [what, answer] of [...Object.entries(answers), ['nobody asked', undefined]] as const) {
    const { http } = apiFake({
      routes: [
        { method: 'GET', path: '/v1/whose', handle: async ({ remote }) => ({ text: remote }) },
      ],
      http: {
        ...(answer !== undefined && {
          knowsAgent: (agent: ShownAgent) => {
            shown.push(agent)
            return answer(agent)
          },
        }),
      },
    })
    t.teardown(() => http.stop())
    const headers = headersOfAgent(self, '10.1.2.3')
    const { body } = await http.app.inject({ url: '/v1/whose', headers })
    t.equal(body, what.startsWith('known') ? '10.1.2.3' : '127.0.0.1', what)
  }
  t.equal(shown.length, 4)
  for (const agent of shown) t.match(agent, { ...self, remote: '127.0.0.1' })
})

t.test('what an agent would not say counts for nothing', async (t) => {
  const rows: readonly (readonly [string, string | null])[] = [
    ['10.1.2.3', '10.1.2.3'],
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['2001:DB8::1', '2001:db8::1'],
    ['fe80::1%eth0', null],
    ['fe80::1', null],
    ['127.0.0.1', null],
    ['127.8.8.8', null],
    ['::ffff:127.0.0.1', null],
    ['::FFFF:7f00:1', null],
    ['::1', null],
    ['', null],
    ['10.1.2.3, 10.1.2.4', null],
    ['localhost', null],
    ['10.1.2.0/24', null],
    ['%', null],
  ]
  for (const [sent, caller] of rows) {
    // As somebody would send it who is not held to what an agent says.
    const headers = { ...headersOfAgent(self, '10.0.0.1'), 'x-service-caller': sent }
    t.equal(passedOnIn(headers)?.caller ?? null, caller, sent)
    if (caller === null) t.same(headersOfAgent(self, sent), {})
  }
  const whole = headersOfAgent(self, '10.1.2.3')
  for (const name of Object.keys(whole)) t.equal(passedOnIn({ ...whole, [name]: undefined }), null)
  t.equal(passedOnIn(headersOfAgent({ ...self, token: '' }, '10.1.2.3')), null)
  t.equal(passedOnIn({ ...whole, 'x-service-agent': '%zz' }), null)
})
