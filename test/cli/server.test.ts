/** `muster server`, `operator gossip keyring` and `agent-info` against a server with a pool that notes what it is told. */
import t, { type Test } from 'tap'
import type { KeyOperation, Pool, PoolMember } from '../../src/domains/members/pool.ts'
import { MusterError } from '../../src/lib/errors.ts'
import { poolMember } from '../support/pool-member.ts'
import { serverForCli } from './server-for-cli.ts'

const key = 'cGhyYXNlIG9mIDMyIGJ5dGVzIGluIGFsbCwgaGVyZSE='

const tags = new Map([
  ['region', 'global'],
  ['dc', 'dc1'],
  ['build', '0.1.0'],
  ['rpc_addr', '127.0.0.1'],
])

const suspicion = {
  incarnation: 3,
  by: 'one.global',
  why: 'no ack to a ping',
  path: 'udp and tcp',
  toldBy: null,
  confirmedBy: ['four.global'],
  atMs: 1_000,
  ended: { atMs: 2_000, how: 'failed', by: null },
}

async function withPool(t: Test, more: readonly PoolMember[] = []) {
  const told: unknown[] = []
  const members = [
    poolMember('one.global', { tags: new Map([...tags, ['port', '4647']]) }),
    poolMember('two.global', { tags, status: 'failed', suspicion }),
    poolMember('four.global', { udpBlocked: true, tags: new Map([['role', 'a\nb']]) }),
    ...more,
  ]
  const pool: Pool = {
    members: () => members,
    coordinates: () => new Map(),
    async join(addresses) {
      told.push(['join', ...addresses])
      const dead = addresses.filter((address) => address.startsWith('dead'))
      return {
        joined: addresses.filter((address) => !/^(dead|self)/.test(address)).length,
        errors: dead.map((address) => ({
          address,
          error: new MusterError('unavailable', `${address}: nobody there`),
        })),
      }
    },
    forceLeave(name, prune) {
      told.push(['force-leave', name, prune])
    },
    keyring: {
      async everywhere(operation: KeyOperation) {
        told.push(operation)
        return {
          members: 3,
          answered: 3,
          errors: new Map(),
          keys: new Map([[key, 3]]),
          primaryKeys: new Map([[key, 2]]),
        }
      },
    },
  }
  return { told, ...(await serverForCli(t, { pool })) }
}

void t.test('a client agent neither leads nor follows', async (t) => {
  const client = poolMember('web-1', { tags: new Map([['role', 'muster-client']]) })
  const { muster } = await withPool(t, [client])
  const { out } = await muster('server members')
  t.match(out, /^web-1 +127\.0\.0\.1 +4648 +alive +-\n/m)
})

void t.test('members are listed, and who is reached by TCP alone is named', async (t) => {
  const { muster, server } = await withPool(t)
  t.match(await muster('server members'), {
    code: 0,
    out:
      'Name         Address    Port  Status  Leader  Build  Datacenter  Region\n' +
      'four.global  127.0.0.1  4648  alive   false\n' +
      'one.global   127.0.0.1  4648  alive   true    0.1.0  dc1         global\n' +
      'two.global   127.0.0.1  4648  failed  false   0.1.0  dc1         global\n',
    err: 'four.global answers over TCP alone: its UDP is blocked on the way\n',
  })
  t.match(await muster(['server', 'members', '-t', '{{range .Members}}{{.Status}} {{end}}']), {
    out: 'alive alive failed \n',
    err: '',
  })
  server.leaderIsKnown = false
  t.match(await muster('server members'), { code: 0, err: /The agent knows no leader/ })
})

void t.test('the details say who doubted whom, why, how, and what came of it', async (t) => {
  const { muster } = await withPool(t)
  const { code, out } = await muster('server members -detailed')
  t.equal(code, 0)
  t.match(out, /^four\.global +127\.0\.0\.1 +4648 +alive +false +false +blocked +role=a\\nb$/m)
  t.match(out, /^two\.global +\S+ +\S+ +failed +false +false +open +region=global,dc=dc1/m)
  const at = '1970-01-01T00:00:0'
  t.match(
    out,
    '\nMember      At                        By          Path         Why               Told By  Confirmed By  Outcome\n' +
      `two.global  ${at}1.000Z  one.global  udp and tcp  no ack to a ping  -        four.global   failed at ${at}2.000Z\n`,
  )
})

void t.test('join tells whom the agent joined, or why nobody', async (t) => {
  const { muster, told } = await withPool(t)
  t.match(await muster('server join a:1 dead:2 b'), {
    code: 0,
    out: 'Joined 2 members\n',
    err: /^cannot join through dead:2: no member answered there; .*\n$/,
  })
  t.match(await muster('server join self:1'), {
    code: 1,
    err: "muster server join: nobody was joined: that is the agent's own address\n",
  })
  t.match(told[0], ['join', 'a:1', 'dead:2', 'b'])
  t.match(await muster('server join dead:1'), {
    code: 1,
    out: '',
    err: /^muster server join: nobody was joined: cannot join through dead:1: no member answered/,
  })
  t.match(await muster('server join'), { code: 2, err: /ADDRESS\.\.\. is missing/ })
})

void t.test('a failed member is given up, a living one stays', async (t) => {
  const { muster, told } = await withPool(t)
  t.match(await muster('server force-leave two'), { code: 0, out: 'Gave up two.global\n' })
  t.match(await muster('server force-leave -prune two.global'), {
    code: 0,
    out: 'Gave up two.global and took it off the list\n',
  })
  t.match(told, [
    ['force-leave', 'two.global', false],
    ['force-leave', 'two.global', true],
  ])
  t.match(await muster('server force-leave one'), {
    code: 1,
    err: /one\.global is alive and stays: stop it first/,
  })
  t.equal(told.length, 2)
  t.match(await muster('server force-leave nobody'), {
    code: 0,
    out: '',
    err: /There is no member "nobody"/,
  })
})

void t.test('the keys of gossip are listed and changed', async (t) => {
  const { muster, told } = await withPool(t)
  t.match(await muster('operator gossip keyring list'), {
    code: 0,
    out: `Key${' '.repeat(43)}Held By  Used By\n${key}  3/3      2/3\n`,
  })
  t.match(await muster(['operator', 'gossip', 'keyring', 'install', '-'], { input: `${key}\n` }), {
    code: 0,
    out: 'Installed the key on 3 members\n',
  })
  t.match(await muster(`operator gossip keyring use ${key}`), { code: 0 })
  t.match(await muster(`operator gossip keyring remove ${key}`), {
    code: 1,
    err: /primary.*\(409\)/,
  })
  const old = Buffer.alloc(32, 9).toString('base64')
  t.match(await muster(`operator gossip keyring remove ${old}`), { code: 0 })
  t.match(told, [
    { type: 'list' },
    { type: 'install', key },
    { type: 'use', key },
    { type: 'list' },
    { type: 'list' },
    { type: 'remove', key: old },
  ])
})

void t.test('a server without gossip says so', async (t) => {
  const { muster } = await serverForCli(t)
  t.match(await muster('server members'), {
    code: 1,
    err: /takes part in no gossip.*\(501\)/,
  })
})

void t.test("agent-info shows the agent's figures by section", async (t) => {
  const { muster } = await serverForCli(t, {
    agent: {
      stats: () => ({
        muster: { leader: 'true' },
        nomad: { leader: 'true' },
        serf: { members: '3', failed: '0' },
        raft: { state: 'Leader' },
      }),
    },
  })
  t.match(await muster('agent-info'), {
    code: 0,
    out: 'muster\n  leader = true\nraft\n  state = Leader\nserf\n  failed = 0\n  members = 3\n',
  })
  t.match(await muster(['agent-info', '-t', '{{.member.Name}} {{.stats.serf.members}}']), {
    out: 'one.global 3\n',
  })
})
