import t from 'tap'
import type { CoreStart } from '../../../src/raft/core/start.ts'
import { decodeConfiguration, encodeConfiguration } from '../../../src/raft/core/membership.ts'
import type { Configuration, Entry, Member, ServerId } from '../../../src/raft/core/message.ts'
import { predecessorsMax, successorOf, supersedes } from '../../../src/raft/core/succession.ts'
import { Cores } from './bench-of-cores.ts'

const utf8 = new TextEncoder()

function member(id: ServerId, role: Member['role'] = 'voter'): Member {
  return { id, name: id, address: `${id}:1`, role }
}

const five: Configuration = {
  clusterId: 'old',
  members: ['a', 'b', 'c', 'd', 'e'].map((id) => member(id)),
}
const four: Configuration = { ...five, members: five.members.slice(0, 4) }
const two = successorOf(five, 'new', [member('a'), member('b')])

/** Entry 1 is the old configuration; each later one is a term, or a term and a configuration. */
function logOf(later: readonly (number | readonly [number, Configuration])[]): Entry[] {
  return [[1, five] as const, ...later].map((item, at): Entry => {
    const [term, configuration] = typeof item === 'number' ? [item, null] : item
    const index = at + 1
    return configuration === null
      ? { index, term, kind: 'command', data: utf8.encode(`${index} of ${term}`) }
      : { index, term, kind: 'configuration', data: encodeConfiguration(configuration) }
  })
}

const emptyDisk: Partial<CoreStart> = {
  lastIndex: 0,
  termRuns: [],
  tail: [],
  hardState: { term: 0, votedFor: null, commitIndex: 0 },
  configurations: [],
}

/** As a recovered server starts: its log is what it was, under the successor's configuration. */
function startOf(tail: readonly Entry[], term: number): Partial<CoreStart> {
  if (tail.length === 0) return emptyDisk
  const termRuns = tail
    .filter((entry, at) => entry.term !== tail[at - 1]?.term)
    .map((entry) => ({ term: entry.term, firstIndex: entry.index }))
  return {
    lastIndex: tail.length,
    termRuns,
    tail,
    hardState: { term, votedFor: null, commitIndex: 1 },
    configuration: two,
    configurationIndex: 0,
    configurations: tail.filter(({ kind }) => kind === 'configuration'),
  }
}

function survivors(logs: Readonly<Record<ServerId, readonly Entry[]>>): Cores {
  return new Cores(Object.keys(logs), { startOf: (id) => startOf(logs[id] ?? [], 3) })
}

function texts(cores: Cores, id: ServerId): readonly string[] {
  const { log } = cores.core(id)
  return (log.slice(1, log.lastIndex, 1 << 20) ?? []).map(({ index, term }) => `${index}/${term}`)
}

void t.test(
  'the survivor with the most complete log leads, and the other follows it',
  async (t) => {
    const cores = survivors({ a: logOf([1, 2]), b: logOf([1, 1, 1]) })
    cores.pass(20_000)
    t.same(
      cores.leaders(),
      ['a'],
      'its last term is higher; that the other log is longer says nothing',
    )
    t.same(texts(cores, 'b'), texts(cores, 'a'))
    t.equal(cores.core('b').log.termAt(3), 2, 'what b held there could not be committed')
  },
)

void t.test('the first leader begins its term with the configuration', async (t) => {
  const cores = survivors({ a: logOf([1, 2]), b: logOf([1, 2]) })
  cores.elect('a')
  const { membership, log } = cores.core('b')
  t.equal(log.commitIndex, 4)
  t.equal(membership.index, 4)
  t.same(membership.configuration, { ...two, succession: { predecessors: ['old'], beginsAt: 4 } })
  cores.core('a').transfer('b', cores.now)
  cores.settle()
  t.same(cores.leaders(), ['b'])
  t.equal(cores.core('a').membership.index, 4, 'the next one has nothing to say about it')
})

void t.test(
  'a configuration of the old cluster counts neither in a log nor on arrival',
  async (t) => {
    const cores = survivors({ a: logOf([1, [2, four]]), b: logOf([1]) })
    t.same(cores.core('a').membership.voters, ['a', 'b'])
    cores.elect('a')
    t.same(cores.core('b').membership.voters, ['a', 'b'])
    t.equal(cores.core('b').membership.configuration.clusterId, 'new')
    const { membership, log } = cores.core('b')
    const seen = membership.inEffect(log.slice(1, log.lastIndex, 1 << 20) ?? [])
    t.same(
      seen.map(({ kind }) => kind),
      ['noop', 'command', 'noop', 'configuration'],
      'nor does the state take it for one',
    )
  },
)

void t.test('a newcomer is sent a snapshot, and never the survivors’ entries', async (t) => {
  const cores = survivors({ a: logOf([1, 2]), b: logOf([1, 2]), n: [] })
  cores.elect('a')
  const leader = cores.core('a')
  const newcomer = { id: 'n', name: 'n', address: 'n:1' }
  const add = () => leader.changeMembership({ type: 'addLearner', member: newcomer }, cores.now)
  t.match(add(), { ok: false, refusal: { code: 'notNow' } }, 'not before there is a state to send')
  leader.applied(leader.log.slice(1, 4, 1 << 20) ?? [], cores.now)
  t.match(add(), { ok: true })
  cores.settle()
  cores.pass(1_000)
  t.same(cores.seat('a').snapshots, ['n'])
  t.equal(cores.core('n').log.lastIndex, 0)
})

void t.test('a state that has not heard of the successor is sent as the successor’s', async (t) => {
  const cores = survivors({ a: logOf([1, 2]), b: logOf([1, 2]) })
  const meta = { index: 2, term: 1, configuration: five, configurationIndex: 1 }
  const { membership } = cores.core('a')
  t.match(membership.inForceAt(meta), { index: 2, configuration: two, configurationIndex: 0 })
  cores.elect('a')
  const later = membership.inForceAt(meta)
  t.equal(later.configuration.clusterId, 'new')
  t.ok(later.configurationIndex <= 2, 'a configuration is never after the state')
})

void t.test('a configuration with a succession survives its encoding', async (t) => {
  t.same(decodeConfiguration(encodeConfiguration(two)), two)
  t.same(decodeConfiguration(encodeConfiguration(five)), five)
  const json = new TextDecoder().decode(encodeConfiguration(two))
  t.match(JSON.parse(json), { version: 2 }, 'a program that knows none must not read it')
  const broken = utf8.encode(json.replace('"old"', '7'))
  t.throws(() => decodeConfiguration(broken), /bad succession/)
})

void t.test('a cluster remembers so many predecessors, the newest', async (t) => {
  let current = five
  for (let at = 0; at < predecessorsMax + 3; at += 1) {
    current = successorOf(current, `after ${at}`, five.members)
  }
  t.equal(current.succession?.predecessors.length, predecessorsMax)
  t.ok(supersedes(current, { clusterId: `after ${predecessorsMax + 1}`, members: [] }))
  t.notOk(supersedes(current, current))
})
