/** Two members of one name, by themselves and with agents of serf, which are left out aloud where serf is missing. */
import t from 'tap'
import { NameVote } from '../../src/gossip/name-vote.ts'
import type { Endpoint } from '../../src/gossip/core/message.ts'
import { encodeConflictResponse } from '../../src/gossip/wire/internal-queries.ts'
import type { GossipEvent } from '../../src/gossip/gossip.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { sees, serf, serfSees, startAgent, startNode, type TestNode } from './pool.ts'
import { endpointOf } from './sim/world.ts'
import { serfMissing } from './wire/serf-agent.ts'

/** A query of a small pool ends after 3 s; the machine may be busy. */
const patience = { timeoutMs: 60_000, everyMs: 50 }

void t.test('more than half of those who answer decide', (t) => {
  const [own, other, third] = [endpointOf(1), endpointOf(2), endpointOf(3)]
  // whom the answers name, outcome, holder
  const table: readonly (readonly [readonly (Endpoint | null)[], string, Endpoint | null])[] = [
    [[], 'undecided', null],
    [[own], 'kept', null],
    [[other], 'lost', other],
    [[own, other], 'undecided', other],
    [[own, own, other], 'kept', other],
    [[own, other, other], 'lost', other],
    [[own, other, third, third], 'lost', third],
    [[null, null, other], 'undecided', other],
    [[null, own, own], 'kept', null],
  ]
  for (const [answers, outcome, holder] of table) {
    const vote = new NameVote('a', own)
    for (const endpoint of answers) {
      vote.add(encodeConflictResponse(endpoint === null ? null : { name: 'a', endpoint }))
    }
    vote.add(Uint8Array.of(1, 2, 3))
    vote.add(encodeConflictResponse({ name: 'b', endpoint: other }))
    const verdict = vote.verdict()
    t.match(verdict, { outcome, answers: answers.length })
    t.same(verdict.holder, holder)
  }
  t.end()
})

await t.test('the second of a name is told whose it is, and the first keeps it', async (t) => {
  const a = await startNode(t, 'a')
  const b = await startNode(t, 'b')
  const first = await startNode(t, 'dup')
  await a.join([b.local().endpoint, first.local().endpoint])
  await sees(b, 'a alive, b alive, dup alive')
  const second = await startNode(t, 'dup')
  const [ofFirst, ofSecond] = [votesOf(first), votesOf(second)]
  await second.join([a.local().endpoint])
  await eventuallyTrue('the vote of the second', () => ofSecond.length > 0, patience)
  const { endpoint: holder } = first.local()
  t.match(ofSecond, [{ outcome: 'lost', answers: 2, forThis: 0, holder }])
  await first.join([second.local().endpoint])
  await eventuallyTrue('the vote of the first', () => ofFirst.length > 0, patience)
  t.match(ofFirst, [{ outcome: 'kept', answers: 2, forThis: 2, holder: null }])
  await sees(a, 'a alive, b alive, dup alive')
  t.equal(a.member('dup')?.endpoint, holder)
})

await t.test(
  'of two serf agents of one name the second stops, by our answers',
  { skip: serfMissing },
  async (t) => {
    const a = await startNode(t, 'a')
    const b = await startNode(t, 'b')
    const first = await startAgent(t, 'dup')
    await a.join([b.local().endpoint, `127.0.0.1:${first.port}`])
    await sees(b, 'a alive, b alive, dup alive')
    const second = await startAgent(t, 'dup')
    await serf(second, 'join', a.local().endpoint)
    await eventuallyTrue('the end of the second', () => !second.running(), patience)
    await serfSees(first, 'a alive, b alive, dup alive')
    await sees(a, 'a alive, b alive, dup alive')
    t.equal(a.member('dup')?.port, first.port)
  },
)

await t.test('agents of serf vote about our names as we do', { skip: serfMissing }, async (t) => {
  const agents = [await startAgent(t, 'x'), await startAgent(t, 'y')]
  const first = await startNode(t, 'dup')
  await first.join(agents.map(({ port }) => `127.0.0.1:${port}`))
  for (const agent of agents) await serfSees(agent, 'dup alive, x alive, y alive')
  const second = await startNode(t, 'dup')
  const votes = votesOf(second)
  await second.join([`127.0.0.1:${agents[0]?.port}`])
  await eventuallyTrue('the vote', () => votes.length > 0, patience)
  t.match(votes, [{ outcome: 'lost', answers: 2, holder: first.local().endpoint }])
  for (const agent of agents) await serfSees(agent, 'dup alive, x alive, y alive')
})

function votesOf(node: TestNode): Extract<GossipEvent, { readonly type: 'name-vote' }>[] {
  const votes: Extract<GossipEvent, { readonly type: 'name-vote' }>[] = []
  node.onEvent((event) => {
    if (event.type === 'name-vote') votes.push(event)
  })
  return votes
}
