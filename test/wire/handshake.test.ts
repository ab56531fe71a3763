import t from 'tap'
import { codeOf } from '../../src/lib/errors.ts'
import { acceptHello, encodeHello } from '../../src/wire/handshake.ts'

type Side = { cluster: string; id: string; versions: string }

// One row per case: the caller and whom it means, the called, then the agreed version or a piece of the refusal.
const cases: [string, Side, string, Side, number | RegExp][] = [
  ['same cluster', side('c1', 'a', '1-2'), 'b', side('c1', 'b', '1-2'), 2],
  ['the caller is older', side('c1', 'a', '1-1'), 'b', side('c1', 'b', '1-2'), 1],
  ['the called is older', side('c1', 'a', '1-2'), 'b', side('c1', 'b', '1-1'), 1],
  ['ranges overlap in the middle', side('c1', 'a', '2-5'), 'b', side('c1', 'b', '3-9'), 5],
  ['no common version', side('c1', 'a', '1-1'), 'b', side('c1', 'b', '2-3'), /none in common/],
  ['an impossible range', side('c1', 'a', '3-2'), 'b', side('c1', 'b', '2-3'), /impossible range/],
  ['another cluster', side('c1', 'a', '1-2'), 'b', side('c2', 'b', '1-2'), /cluster c1/],
  ['the caller has no cluster', side('', 'a', '1-2'), 'b', side('c1', 'b', '1-2'), 2],
  ['the called has no cluster', side('c1', 'a', '1-2'), 'b', side('', 'b', '1-2'), 2],
  [
    'another server is meant',
    side('c1', 'a', '1-2'),
    'x',
    side('c1', 'b', '1-2'),
    /reach server x/,
  ],
  ['any server is meant', side('c1', 'a', '1-2'), '', side('c1', 'b', '1-2'), 2],
  ['the caller has no id', side('c1', '', '1-2'), 'b', side('c1', 'b', '1-2'), /name the server/],
  ['an id with a line break', side('c1', 'a\nb', '1-2'), 'b', side('c1', 'b', '1-2'), /printable/],
  ['an endless id', side('c1', 'a'.repeat(257), '1-2'), 'b', side('c1', 'b', '1-2'), /at most 256/],
]

for (const [name, caller, to, called, expected] of cases) {
  t.test(`handshake: ${name}`, async (t) => {
    const frame = encodeHello(identity(caller), range(caller), to)
    const accept = () => acceptHello(frame, identity(called), range(called), '')
    if (typeof expected === 'number') {
      t.match(accept(), { id: caller.id, clusterId: caller.cluster, version: expected })
    } else {
      t.throws(accept, { code: 'incompatible', message: expected })
    }
  })
}

t.test('the dialling side refuses an answer from a server it did not mean', async (t) => {
  const other = side('c1', 'x', '1-2')
  const own = side('c1', 'a', '1-2')
  const answer = encodeHello(identity(other), range(other), 'a')
  t.throws(() => acceptHello(answer, identity(own), range(own), 'b'), {
    message: /server b was expected at this address, but server x is here/,
  })
})

t.test('bytes that are no handshake are refused', async (t) => {
  const own = side('c1', 'a', '1-2')
  for (const bytes of [Buffer.alloc(0), Buffer.from([0xff]), Buffer.alloc(100, 7)]) {
    try {
      acceptHello(bytes, identity(own), range(own), '')
      t.fail('accepted')
    } catch (error) {
      t.equal(codeOf(error), 'incompatible')
    }
  }
})

function side(cluster: string, id: string, versions: string): Side {
  return { cluster, id, versions }
}

function identity({ cluster, id }: Side): { clusterId: string; serverId: string } {
  return { clusterId: cluster, serverId: id }
}

function range({ versions }: Side): { min: number; max: number } {
  const [min, max] = versions.split('-')
  return { min: Number(min), max: Number(max) }
}
