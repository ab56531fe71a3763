/** Where members are dialed when gossip says that they moved. */
import t from 'tap'
import { ProvenAddresses } from '../../src/server/proven-addresses.ts'
import { manualClock } from '../support/manual-clock.ts'

function fixture() {
  const clock = manualClock()
  const member = { id: 'id-2', name: 's2', address: 'old:1' }
  const state = {
    members: [member],
    claimed: 'old:1' as string | null,
    answering: new Set(['old:1']),
  }
  const asked: string[] = []
  let moved = 0
  const addresses = new ProvenAddresses({
    members: () => state.members,
    claimed: () => state.claimed,
    answers: async (address, id) => {
      asked.push(`${address} ${id}`)
      return state.answering.has(address)
    },
    onMoved: () => {
      moved += 1
    },
    clock,
  })
  /** One look, and what comes of it. */
  const look = async () => {
    clock.advance(1_000)
    addresses.look()
    // Its questions are answered at once, each in a later turn.
    for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    return addresses.addressOf(state.members[0] ?? member)
  }
  return { addresses, asked, clock, look, member, moved: () => moved, state }
}

t.test(
  'a claimed address counts once the server answers there and no longer where it was',
  async (t) => {
    const { addresses, asked, look, moved, state } = fixture()
    t.equal(await look(), null)
    t.same(asked, [], 'nothing to ask')
    state.claimed = 'forged:1'
    t.equal(await look(), null)
    t.same(asked, ['forged:1 id-2'], 'nobody of its id is there')
    state.answering.add('forged:1')
    t.equal(await look(), null, 'it answers where it was as well')
    t.equal(moved(), 0)
    state.claimed = 'new:1'
    state.answering = new Set(['new:1'])
    t.equal(await look(), 'new:1')
    t.equal(moved(), 1)
    state.claimed = null
    t.equal(await look(), 'new:1', 'silence of gossip moves nobody')
    state.members = [{ id: 'id-2', name: 's2', address: 'newer:1' }]
    t.equal(await look(), null, 'the Raft configuration knows better')
    await addresses.stop()
    state.claimed = 'late:1'
    t.equal(await look(), null)
  },
)

t.test('claims that follow one another fast are looked at twice a second', async (t) => {
  const { addresses, asked, state } = fixture()
  for (let count = 0; count < 100; count += 1) {
    state.claimed = `forged:${count}`
    addresses.look()
  }
  await addresses.stop()
  t.same(asked, ['forged:0 id-2'])
})
