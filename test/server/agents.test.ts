/** Which callers a server takes for client agents. */
import t from 'tap'
import type { Permissions } from '../../src/rpc/authorizer.ts'
import type { Caller, Requirement } from '../../src/rpc/method.ts'
import { unknownToken } from '../../src/rpc/refusal.ts'
import { knowsAgents } from '../../src/server/agents.ts'

const agent = { node: 'C1', token: 'agents', remote: '10.0.0.1', requestId: 'r' }

t.test('an agent has a token that may write its node, from where it is', async (t) => {
  const asked: (readonly [Caller, Requirement])[] = []
  const permissionsFor = (caller: Caller): Permissions => ({
    may: (requirement) => {
      asked.push([caller, requirement])
      return caller.token === 'agents'
    },
  })
  const atOnce = knowsAgents({ resolve: permissionsFor })
  t.equal(atOnce(agent), true)
  t.equal(atOnce({ ...agent, token: 'of a person' }), false)
  const later = knowsAgents({ resolve: (caller) => Promise.resolve(permissionsFor(caller)) })
  t.equal(await later(agent), true)
  t.equal(await later({ ...agent, token: 'of a person' }), false)
  t.match(asked[0], [
    { token: 'agents', remote: '10.0.0.1' },
    { resource: 'node', node: 'c1', access: 'write' },
  ])
})

t.test('a token that is none proves nothing, and refuses nothing', async (t) => {
  const thrown = knowsAgents({
    resolve: () => {
      throw unknownToken()
    },
  })
  t.equal(thrown(agent), false)
  t.equal(await knowsAgents({ resolve: () => Promise.reject(unknownToken()) })(agent), false)
})
