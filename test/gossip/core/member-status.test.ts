/** Join and leave intents in Lamport time, leaving, giving up, and taking off the lists. */
import t from 'tap'
import type { SerfMessage } from '../../../src/gossip/core/message.ts'
import { serfDefaults } from '../../../src/gossip/core/serf.ts'
import { endpointOf } from '../sim/world.ts'
import { addressOf, alive, dead, entry, exchange, Lab, stateOf } from './lab.ts'

function leave(node: string, time: number, prune = false): SerfMessage {
  return { type: 'leave-intent', node, time, prune }
}

function join(node: string, time: number): SerfMessage {
  return { type: 'join-intent', node, time }
}

/** Brings member a, with status time 10, into a status. */
function knowing(status: string): Lab {
  const lab = Lab.with(['a', 'b'])
  lab.hearSerf(join('a', 10))
  if (status === 'leaving' || status === 'left') {
    lab.hearSerf(leave('a', 11))
    lab.hearSerf(join('a', 10))
  }
  if (status === 'left' || status === 'failed') lab.hear(dead('a', 'b'))
  t.equal(lab.status('a'), status)
  lab.pass(10_000, ['a', 'b'])
  lab.forget()
  return lab
}

void t.test('what an intent makes of a status', (t) => {
  // status, intent, its time, status afterwards, passed on
  const table = [
    ['alive', leave, 10, 'alive', false],
    ['alive', leave, 11, 'leaving', true],
    ['alive', join, 10, 'alive', false],
    ['alive', join, 11, 'alive', true],
    ['leaving', join, 11, 'leaving', false],
    ['leaving', join, 12, 'alive', true],
    ['leaving', leave, 12, 'leaving', true],
    ['failed', leave, 10, 'failed', false],
    ['failed', leave, 11, 'left', true],
    ['failed', join, 11, 'failed', true],
    ['left', leave, 11, 'left', false],
    ['left', leave, 12, 'left', true],
    ['left', join, 12, 'left', true],
  ] as const
  for (const [before, intent, time, after, passedOn] of table) {
    const lab = knowing(before)
    const message = intent('a', time)
    lab.hearSerf(message)
    t.equal(lab.status('a'), after, `${before}, then ${message.type} ${time}`)
    t.equal(lab.core.sizes.intents, passedOn ? 1 : 0)
    lab.hearSerf(message)
    lab.pass(20_000, ['a', 'b'])
    lab.hearSerf(message)
    t.equal(lab.core.sizes.intents, 0, 'the same again is never passed on')
  }
  t.end()
})

void t.test(
  'gone after a leave intent is left, gone without is failed, by its own word it left',
  (t) => {
    const table = [
      ['alive', dead('a', 'b'), 'member-failed', 'failed'],
      ['alive', dead('a', 'a'), 'member-left', 'left'],
      ['leaving', dead('a', 'b'), 'member-left', 'left'],
      ['failed', dead('a', 'a'), 'member-left', 'left'],
    ] as const
    for (const [before, message, event, after] of table) {
      const lab = knowing(before)
      lab.hear(message)
      t.equal(lab.status('a'), after)
      t.equal(lab.happened(event).length, 1)
    }
    t.end()
  },
)

void t.test('intents that come before their member wait for it', (t) => {
  const lab = Lab.with(['b'])
  lab.hearSerf(leave('a', 9))
  lab.hearSerf(join('c', 9))
  t.equal(lab.core.sizes.intents, 2, 'they are passed on')
  lab.hear(alive('a'))
  lab.hear(alive('c'))
  t.equal(lab.status('a'), 'leaving')
  t.match(lab.core.member('c'), { status: 'alive', statusTime: 9 })
  t.end()
})

void t.test('a member said to leave that does not mean to says so, later than that', (t) => {
  const told: readonly ((lab: Lab) => void)[] = [
    (lab) => lab.hearSerf(leave('me', 40)),
    // A leave intent overtaken by an exchange, which tells its time alone.
    (lab) => exchange(lab, stateOf([], { time: 41, statusTimes: new Map([['me', 40]]) })),
    // At the very time at which it had announced itself.
    (lab) => {
      lab.hearSerf(join('me', 40))
      lab.hearSerf(leave('me', 40))
    },
  ]
  for (const tell of told) {
    const lab = Lab.with(['a'])
    tell(lab)
    t.equal(lab.status('me'), 'alive')
    lab.pass(500)
    t.same(lab.sentSerf('leave-intent'), [])
    const answer = lab.sentSerf('join-intent').at(-1)
    t.ok(answer !== undefined && answer.time > 40)
    t.equal(lab.core.member('me')?.statusTime, answer?.time)
    lab.pass(20_000, ['a'])
    tell(lab)
    t.equal(lab.core.sizes.intents, 0, 'once said it is enough')
  }
  t.end()
})

void t.test('an exchange brings who left and everybody’s times, without an echo', (t) => {
  const lab = knowing('alive')
  const statusTimes = new Map([
    ['a', 20],
    ['b', 21],
    ['ghost', 5],
  ])
  const told = stateOf([entry('b', 'alive')], {
    time: 30,
    statusTimes,
    leftMembers: ['a', 'ghost2'],
  })
  exchange(lab, told)
  t.match(
    lab.core.member('a'),
    { status: 'leaving', statusTime: 21 },
    'one later than the time told',
  )
  t.match(lab.core.member('b'), { status: 'alive', statusTime: 21 })
  t.equal(lab.core.lamportTimes.members, 30)
  t.equal(lab.core.sizes.intents, 0)
  lab.hear(dead('a', 'b'))
  exchange(lab, { ...told })
  t.match(lab.core.member('a'), { status: 'left', statusTime: 21 }, 'known to have left: no later')
  exchange(lab, stateOf([], { leftMembers: ['me'] }))
  lab.pass(500, ['b'])
  t.equal(lab.sentSerf('join-intent').at(-1)?.node, 'me', 'oneself did not')
  t.end()
})

void t.test('what is told in an exchange is what was heard', (t) => {
  const lab = knowing('left')
  lab.command((core, now) => core.userEvent({ name: 'x', payload: Uint8Array.of(1) }, false, now))
  const other = new Lab({ name: 'other' })
  exchange(other, exchange(lab, stateOf([])))
  t.equal(other.status('b'), 'alive')
  t.equal(other.core.lamportTimes.members, lab.core.lamportTimes.members)
  t.match(other.happened('user-event'), [{ name: 'x', time: 2 }])
  t.end()
})

void t.test(
  'force-leave makes a failed member left, everywhere; a new one of that name joins at once',
  (t) => {
    const lab = knowing('failed')
    lab.command((core, now) => core.forceLeave('a', false, now))
    t.equal(lab.status('a'), 'left')
    t.match(lab.happened('member-left'), [{ forced: true }])
    lab.pass(300, ['b'])
    t.match(lab.sentSerf('leave-intent')[0], { node: 'a', prune: false })
    lab.hear(alive('a'))
    t.equal(lab.status('a'), 'left', 'final for that incarnation')
    lab.hear(alive('a', { incarnation: 2, endpoint: endpointOf(777) }))
    t.equal(lab.status('a'), 'alive')
    t.end()
  },
)

void t.test('force-leave needs somebody to give up', (t) => {
  const lab = knowing('alive')
  t.throws(() => lab.core.forceLeave('nobody', false, lab.now), { code: 'not_found' })
  t.throws(() => lab.core.forceLeave('me', false, lab.now), { code: 'invalid_argument' })
  t.end()
})

void t.test('an intent from before a prune does not take its place', (t) => {
  const lab = knowing('left')
  lab.core.forceLeave('a', true, lab.now)
  t.equal(lab.status('a'), 'unknown')
  // What led to `left` may arrive late: this member had learned it by an exchange.
  lab.hearSerf(leave('a', 11))
  lab.pass(300, ['b'])
  t.match(lab.sentSerf('leave-intent')[0], { node: 'a', prune: true })
  t.end()
})

void t.test('pruning takes the gone off the list at once, the leaving when they are gone', (t) => {
  for (const status of ['failed', 'left', 'leaving'] as const) {
    const lab = knowing(status)
    lab.hearSerf(leave('a', 12, true))
    if (status === 'leaving') {
      t.equal(lab.status('a'), 'leaving')
      lab.hear(dead('a', 'a'))
    }
    t.equal(lab.status('a'), 'unknown')
    t.equal(lab.happened('member-reaped').length, 1)
    lab.hear(alive('a'))
    t.equal(lab.status('a'), 'unknown', 'an old claim does not bring it back')
    lab.hear(alive('a', { incarnation: 2 }))
    t.equal(lab.status('a'), 'alive', 'a new life does, at once and not as leaving')
  }
  t.end()
})

void t.test('a graceful leave says so, waits until it is told, and answers meanwhile', (t) => {
  const lab = Lab.with(['a', 'b'])
  lab.pass(10_000, ['a', 'b'])
  lab.forget()
  lab.command((core, now) => core.leave(now))
  t.equal(lab.status('me'), 'leaving')
  t.equal(lab.core.leaving, 'intent')
  lab.pass(1_200, ['a', 'b'])
  t.equal(lab.core.leaving, 'drain')
  t.match(lab.sentSerf('leave-intent')[0], { node: 'me' })
  t.match(lab.sent('dead')[0], { node: 'me', from: 'me' })
  t.equal(lab.status('me'), 'left')
  lab.hear(dead('me', 'a', 50))
  lab.hear(alive('me', { incarnation: 60 }))
  t.equal(lab.status('me'), 'left', 'it objects to nothing any more')
  lab.forget()
  lab.hear({ type: 'ping', sequence: 1, node: 'me', source: null })
  t.match(lab.packets[0]?.messages, [{ type: 'ack' }])
  lab.pass(3_000)
  t.equal(lab.happened('left-pool').length, 1)
  t.equal(lab.core.nextDeadline, Infinity)
  t.end()
})

void t.test('leaving alone takes no time, leaving the silent not for ever', (t) => {
  const alone = new Lab()
  alone.command((core, now) => core.leave(now))
  t.equal(alone.happened('left-pool').length, 1)
  const lab = Lab.with(['a'], { serf: { broadcastTimeoutMs: 50, leaveDrainMs: 20 } })
  lab.command((core, now) => core.leave(now))
  lab.pass(121)
  t.equal(lab.happened('left-pool').length, 1)
  t.end()
})

void t.test('those gone for a day are taken off the list, and then forgotten', (t) => {
  const dayMs = serfDefaults.tombstoneMs
  for (const status of ['failed', 'left'] as const) {
    const lab = Lab.with(['a', 'b'], { serf: { reconnectIntervalMs: 1e9 } })
    if (status === 'left') lab.hearSerf(leave('a', 5))
    lab.hear(dead('a', 'b'))
    lab.hear(dead('b', 'b'))
    lab.pass(60_000)
    lab.now += dayMs - 200_000
    lab.pass(100_000)
    t.equal(lab.status('a'), status)
    lab.pass(80_000)
    t.equal(lab.status('a'), 'unknown')
    lab.pass(120_000)
    t.equal(lab.core.sizes.members, 1)
  }
  t.end()
})

void t.test('failed members are tried again, at random and without ever giving up soon', (t) => {
  const lab = knowing('failed')
  lab.pass(600_000, ['b'])
  const tries = lab.exchanges.filter(({ to }) => to.port === addressOf('a').port).length
  t.ok(tries >= 5 && tries <= 20, `${tries} in twenty intervals, with one failed and two living`)
  t.end()
})
