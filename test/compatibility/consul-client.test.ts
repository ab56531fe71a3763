/**
 * The session service's own client package, unchanged, at a server that follows; `test/cluster/warm.test.ts` has it at a client
 * agent.
 */
import t from 'tap'
import { serverOfThree } from '../support/server-of-three.ts'
import { clientPackageWorks } from './consul-client-works.ts'

void t.test('the client package works unchanged at a server that need not lead', async (t) => {
  const three = await serverOfThree(t, { gossip: true })
  const { name, ports } = three.server(await three.follower()).spec
  const { size } = three
  await clientPackageWorks(t, { name, port: ports.http, agents: size, servers: size })
})
