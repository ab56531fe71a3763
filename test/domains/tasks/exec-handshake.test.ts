/** The first message of a browser, which says whose request it is. */
import t from 'tap'
import { hearHandshake } from '../../../src/domains/tasks/exec-handshake.ts'
import { manualClock } from '../../support/manual-clock.ts'

function setting() {
  const clock = manualClock()
  const gone = new AbortController()
  const tokens: string[] = []
  const request = {
    clock,
    signal: gone.signal,
    identify: (token: string) => {
      tokens.push(token)
      return Promise.resolve()
    },
  }
  return {
    clock,
    gone,
    tokens,
    hear: (messages: AsyncIterable<string>) => hearHandshake(request, messages),
  }
}

async function* said(...messages: readonly string[]): AsyncGenerator<string> {
  yield* messages
}

/** A client that says nothing and stays. */
const silent: AsyncIterable<string> = {
  [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }),
}

t.test('the token is that of the request, and what follows is left', async (t) => {
  const { hear, tokens } = setting()
  const messages = said('{"version":1,"auth_token":"secret"}', 'next')
  t.equal(await hear(messages), true)
  t.same(tokens, ['secret'])
  t.same(await messages.next(), { done: false, value: 'next' })
  for (const anonymous of ['{"version":1}', '{"version":1,"auth_token":""}']) {
    t.equal(await hear(said(anonymous)), true)
  }
  t.same(tokens, ['secret'], 'none is a caller without one')
})

t.test('what is no handshake is refused, and not repeated', async (t) => {
  const { hear, tokens } = setting()
  const wrong = [
    ['secret', /it is no JSON/],
    ['"secret"', /it is no object/],
    ['null', /it is no object/],
    ['{"auth_token":"secret"}', /its version must be 1/],
    ['{"version":2,"auth_token":"secret"}', /its version must be 1/],
    ['{"version":1,"auth_token":["secret"]}', /its auth_token must be a text/],
    [`{"version":1,"auth_token":"secret${'x'.repeat(16_384)}"}`, /it has at most 16384 letters/],
  ] as const
  for (const [message, text] of wrong) {
    const refusal = await hear(said(message)).catch((error: unknown) => error)
    t.match(refusal, { code: 'invalid_argument', message: text })
    t.notMatch(refusal, { message: 'secret' })
  }
  t.same(tokens, [])
})

t.test('a client that says nothing is waited for for ten seconds', async (t) => {
  const { hear, clock } = setting()
  const heard = hear(silent)
  clock.advance(9_999)
  t.equal(clock.timerCount, 1)
  clock.advance(1)
  await t.rejects(heard, { code: 'invalid_argument', message: /did not come within 10 seconds/ })
})

t.test('nothing follows when the client goes away, or the agent stops', async (t) => {
  const { hear, clock, gone } = setting()
  t.equal(await hear(said()), false)
  const heard = hear(silent)
  gone.abort()
  t.equal(await heard, false)
  t.equal(clock.timerCount, 0)
})
