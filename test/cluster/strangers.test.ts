/** Clusters whose gossip ports meet by mistake, of other keys and regions: they stay two, and the logs name the stranger. */
import t from 'tap'
import { startCluster, type ClusterOptions } from '../support/cluster.ts'
import { mark, markSeenBy } from '../support/mark.ts'
import { peers } from '../support/members.ts'

const keyOf = (fill: number): string => Buffer.alloc(32, fill).toString('base64')

type Row = {
  readonly what: string
  readonly one: ClusterOptions
  readonly two: ClusterOptions
  /** What the one that is joined logs. */
  readonly joined: RegExp
  /** What the one that joins logs. */
  readonly joins: RegExp
}

const rows: readonly Row[] = [
  {
    what: 'of two keys',
    one: { server: { encrypt: keyOf(1) } },
    two: { server: { encrypt: keyOf(2) } },
    joined: /a gossip stream was refused: .*wrong-key/,
    joins: /no gossip there, trying on: .*127.0.0.1:\d+ is wrong-key/,
  },
  {
    what: 'with a key and without',
    one: { server: { encrypt: keyOf(1) } },
    two: {},
    joined: /a gossip stream was refused: .*plain/,
    joins: /no gossip there, trying on: /,
  },
  {
    what: 'of two regions',
    one: {},
    two: { config: { region: 'far' } },
    joined: /member joined: member=s1\.far endpoint=127\.0\.0\.1:\d+/,
    joins: /member joined: member=s1\.global endpoint=127\.0\.0\.1:\d+/,
  },
]

for (const { what, ...row } of rows) {
  await t.test(`two clusters ${what} meet and stay two`, async (t) => {
    const one = await startCluster(t, { servers: 1, gossip: true, ...row.one })
    const two = await startCluster(t, { servers: 1, gossip: true, ...row.two })
    await mark(one, 'one')
    await mark(two, 'two')
    // As if the wrong address had been in its configuration.
    await two.reconfigureServer(0, { retry_join: [`127.0.0.1:${one.server(0).spec.ports.gossip}`] })
    await one.logged(0, row.joined)
    await two.logged(0, row.joins)
    await one.waitForLeader()
    await two.waitForLeader()
    t.equal(await markSeenBy(one, 0), 'one')
    t.equal(await markSeenBy(two, 0), 'two')
    const first = await peers(one, 0)
    const second = await peers(two, 0)
    t.equal(first.length + second.length, 2, 'each has itself alone')
    t.not(first[0]?.ID, second[0]?.ID)
  })
}
