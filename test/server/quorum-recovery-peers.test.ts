import t from 'tap'
import type { Configuration } from '../../src/raft/core/message.ts'
import {
  membersNamed,
  parsePeersFile,
  successorId,
} from '../../src/server/quorum-recovery-peers.ts'

const a = 'aaaaaaaa-0000-4000-8000-000000000001'
const b = 'bbbbbbbb-0000-4000-8000-000000000002'
const stranger = 'cccccccc-0000-4000-8000-000000000003'

const before: Configuration = {
  clusterId: 'old',
  members: [
    { id: a, name: 's1', address: '10.0.0.1:4647', role: 'voter' },
    { id: b, name: 's2', address: '10.0.0.2:4647', role: 'voter' },
  ],
}

const named = (value: unknown) =>
  membersNamed(parsePeersFile(JSON.stringify(value), 'p.json'), before, a, 'p.json')

void t.test('what the file leaves out is as it was', async (t) => {
  t.same(named([{ id: a }, { id: b, address: '[::1]:1', non_voter: true }]), [
    { id: a, name: 's1', address: '10.0.0.1:4647', role: 'voter' },
    { id: b, name: 's2', address: '[::1]:1', role: 'learner' },
  ])
})

void t.test('a file that cannot be meant is refused with what is wrong', async (t) => {
  const rows: readonly (readonly [unknown, RegExp])[] = [
    [[], /a list of 1 to 32 servers/],
    [{ id: a }, /a list of 1 to 32 servers/],
    [[7], /server 1 is no object/],
    [[{ id: 's1' }], /server 1 needs an id, as server.json/],
    [['10.0.0.1:4647'], /server 1 is no object/],
    [[{ id: a, adress: 'x:1' }], /server 1 has "adress"/],
    [[{ id: a, address: '10.0.0.1' }], /host:port/],
    [[{ id: a, non_voter: 'no' }], /true or false/],
    [[{ id: a, name: '-' }], /name of server 1/],
    [[{ id: a }, { id: a }], /in it twice/],
    [[{ id: b }], /this server, aaaaaaaa\S+, is not in it/],
    [[{ id: a, non_voter: true }], /names no voter/],
    [[{ id: a }, { id: stranger }], /not among the members/],
    [[{ id: a }, { id: b, address: '10.0.0.1:4647' }], /two servers in it have the address/],
    [[{ id: a }, { id: b, name: 's1' }], /two servers in it have the name s1/],
  ]
  for (const [value, expected] of rows) {
    t.throws(() => named(value), { code: 'invalid_argument', message: expected })
  }
  t.throws(() => parsePeersFile('id: x', 'p.json'), /^.*p\.json: it is not JSON$/)
})

void t.test('survivors told the same arrive at the same cluster, and others do not', async (t) => {
  const both = named([{ id: a }, { id: b }])
  const turned = named([{ id: b }, { id: a, address: '10.0.0.9:4647' }])
  const id = successorId(before, both)
  t.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  t.equal(successorId(before, turned), id, 'order and addresses do not matter')
  t.not(successorId(before, named([{ id: a }])), id)
  t.not(successorId(before, named([{ id: a }, { id: b, non_voter: true }])), id)
  t.not(successorId({ ...before, clusterId: 'other' }, both), id)
})
