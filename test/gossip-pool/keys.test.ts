/** The keys of the gossip across restarts. */
import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { silentLogger } from '../../src/lib/log.ts'
import { GossipKeys } from '../../src/gossip-pool/keys.ts'

t.test('the configured key counts until the keys were changed', async (t) => {
  const folder = t.testdir()
  const warnings: string[] = []
  const logger = { ...silentLogger, warn: (text: string) => warnings.push(text) }
  t.same(new GossipKeys(folder).load(null, logger), [])
  t.same(new GossipKeys(folder).load('a', logger), ['a'])
  new GossipKeys(folder).save(['b', 'a'])
  t.same(new GossipKeys(folder).load('a', logger), ['b', 'a'])
  t.same(warnings, [])
  new GossipKeys(folder).save(['b'])
  t.same(new GossipKeys(folder).load('a', logger), ['b'])
  t.match(warnings, [/the configured gossip key is not used/])
  t.equal((await stat(join(folder, 'gossip-keys.json'))).mode & 0o777, 0o600)
})

t.test('a file that holds something else is named', async (t) => {
  const folder = t.testdir()
  for (const text of ['', '{}', '{"version":1,"keys":[]}', '{"version":1,"keys":[1]}']) {
    await writeFile(join(folder, 'gossip-keys.json'), text)
    t.throws(() => new GossipKeys(folder).load(null, silentLogger), {
      code: 'corrupt',
      message: /gossip-keys\.json does not hold gossip keys/,
    })
  }
})
