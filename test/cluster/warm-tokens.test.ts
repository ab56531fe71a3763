/**
 * As `warm.test.ts`, of suites whose server has access control and an audit log: each brings agents, policies and tokens of its own.
 */
import t from 'tap'
import { warmTokens } from '../support/warm-cluster.ts'
import { firstMessageDecides } from './warm/exec-handshake.ts'
import { addressesCount, noAddress } from './warm/passed-on.ts'

t.setTimeout(180_000)

const warm = warmTokens(t)

void t.test('the token of the first message decides, and is in no log', async (t) => {
  await firstMessageDecides(t, await warm())
})

const skip = noAddress
void t.test('a token with networks is good for clients of an agent there', { skip }, async (t) => {
  await addressesCount(t, await warm())
})
