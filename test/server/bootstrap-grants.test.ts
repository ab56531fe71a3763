import t from 'tap'
import { Validator } from '../../src/fsm/validator.ts'
import {
  grantMs,
  BootstrapGrants,
  GrantAnswer,
  GrantRequest,
} from '../../src/server/bootstrap-grants.ts'

const isRequest = new Validator(GrantRequest)
const isAnswer = new Validator(GrantAnswer)
const ask = { candidate: 'a', name: 's1', region: 'r', expect: 3 }

function grants(options: { readonly expect?: number } = {}) {
  const world = { nowMs: 0, holdsData: false }
  const given = new BootstrapGrants({
    region: 'r',
    expect: options.expect ?? 3,
    holdsData: () => world.holdsData,
    clock: { monotonicMs: () => world.nowMs },
  })
  return { world, given }
}

t.test('one candidate at a time, until its grant lapses', async (t) => {
  const { world, given } = grants()
  t.same(given.ask(ask), { granted: true })
  t.same(given.ask(ask), { granted: true }, 'the same one may ask again')
  const other = { ...ask, candidate: 'b', name: 's2' }
  t.match(given.ask(other), { granted: false, reason: /agreed with s1/ })
  world.nowMs = grantMs - 1
  t.match(given.ask(other), { granted: false })
  world.nowMs = grantMs
  t.same(given.ask(other), { granted: true })
  t.match(given.ask(ask), { granted: false, reason: /agreed with s2/ })
})

t.test('nobody gets a grant from a server that holds data', async (t) => {
  const { world, given } = grants()
  t.same(given.ask(ask), { granted: true })
  world.holdsData = true
  t.match(given.ask(ask), { granted: false, reason: /holds data/ })
})

t.test('region and expected number must agree', async (t) => {
  const rows = [
    [3, ask, true],
    [0, ask, true],
    [5, ask, false],
    [3, { ...ask, region: 'far' }, false],
  ] as const
  for (const [expect, request, granted] of rows) {
    const { given } = grants({ expect })
    t.equal(given.ask(request).granted, granted, `${expect} ${request.region}`)
  }
})

t.test('what is no request or answer is none', async (t) => {
  t.ok(isRequest.accepts(ask))
  for (const value of [
    null,
    {},
    { ...ask, expect: 1.5 },
    { ...ask, candidate: '' },
    { ...ask, region: 1 },
  ]) {
    t.notOk(isRequest.accepts(value), JSON.stringify(value))
  }
  t.ok(isAnswer.accepts({ granted: true }))
  t.ok(isAnswer.accepts({ granted: false, reason: 'x' }))
  for (const value of [{ granted: 1, reason: 'x' }, { granted: false }, 'yes', null]) {
    t.notOk(isAnswer.accepts(value), JSON.stringify(value))
  }
})
