/** What the answer to a token review must say, and how the API server is asked for it. */
import { createServer as createPlain } from 'node:http'
import { once } from 'node:events'
import { createServer as createTcp, type AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import {
  ReviewClient,
  ReviewClients,
  clientsMax,
  reviewBytesMax,
  reviewMsMax,
} from '../../../src/domains/orchestrator/review-client.ts'
import {
  checkReview,
  reviewPath,
  reviewQuestion,
} from '../../../src/domains/orchestrator/review.ts'
import { systemClock, type Clock } from '../../../src/lib/clock.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { goodReview, reviewServer, sendJson, type ReviewServer } from './review-server.ts'
import { by, account } from './tokens.ts'

const identity = { ...account, secretName: '' }
const good = goodReview(account, ['a'])

function verdict(review: unknown, audiences: readonly string[] = [], status = 201): () => void {
  const text = typeof review === 'string' ? review : JSON.stringify(review)
  return () => checkReview({ status, text }, identity, audiences)
}

void t.test('an answer that names the account and an audience is good', async (t) => {
  t.doesNotThrow(verdict(good))
  t.doesNotThrow(verdict(good, ['a']))
  t.doesNotThrow(verdict(good, ['b', 'a']))
  t.doesNotThrow(verdict({ ...good, status: { ...good.status, error: '' } }))
  t.doesNotThrow(verdict(goodReview(account)))
  for (const status of [200, 201, 202]) t.doesNotThrow(verdict(good, [], status))
})

void t.test('any other answer is refused', async (t) => {
  const { user } = good.status
  const withUser = (other: object) => ({ ...good, status: { ...good.status, user: other } })
  const named = (username: unknown) => withUser({ ...user, username })
  const cases: Readonly<Record<string, () => void>> = {
    'no JSON': verdict('<html>'),
    nothing: verdict(''),
    'a list': verdict([good]),
    'a Status': verdict({ ...good, kind: 'Status' }),
    'a failure': verdict({ kind: 'Status', apiVersion: 'v1', status: 'Failure' }),
    'another kind': verdict({ ...good, kind: 'SelfSubjectReview' }),
    'no kind': verdict({ status: good.status }),
    'no status': verdict({ kind: 'TokenReview' }),
    'not authenticated': verdict({ ...good, status: { ...good.status, authenticated: false } }),
    'authenticated as a text': verdict({
      ...good,
      status: { ...good.status, authenticated: 'true' },
    }),
    'an error beside': verdict({ ...good, status: { ...good.status, error: 'expired' } }),
    'no user': verdict({ kind: 'TokenReview', status: { authenticated: true } }),
    'another account': verdict(named('system:serviceaccount:shop:owner')),
    'another namespace': verdict(named('system:serviceaccount:other:till')),
    'no service account': verdict(named('system:node:till')),
    'a person': verdict(named('till')),
    'fewer parts': verdict(named('system:serviceaccount:till')),
    'more parts': verdict(named('system:serviceaccount:shop:till:x')),
    'other letter case': verdict(named('system:serviceaccount:shop:Till')),
    'a name that is no text': verdict(named(['system:serviceaccount:shop:till'])),
    'another uid': verdict(withUser({ ...user, uid: 'u' })),
    'no uid': verdict(withUser({ username: user.username })),
    'another audience': verdict(good, ['b']),
    'no audience that was asked for': verdict(goodReview(account), ['a']),
    'a member twice': verdict(
      JSON.stringify(good).replace('"uid":', '"uid":"d77f89bc-9055-11e7-a068-0800276d99bf","uid":'),
    ),
  }
  for (const status of [100, 300, 302, 401, 403, 500]) {
    t.throws(verdict(good, [], status), by('unreachable'), `status ${status}`)
  }
  for (const [name, run] of Object.entries(cases)) t.throws(run, by('review'), name)
})

const never = new AbortController().signal
const body = reviewQuestion('the.jwt.itself', ['a'])

function clientOf(
  t: Test,
  server: Pick<ReviewServer, 'url' | 'authority'>,
  clock: Clock = systemClock,
) {
  const target = { url: server.url + reviewPath, authorities: server.authority }
  const client = new ReviewClient(target, clock)
  t.teardown(() => client.destroy())
  return client
}

void t.test('the question is posted with the reviewer as bearer', async (t) => {
  const server = await reviewServer(t)
  const client = clientOf(t, server)
  const answer = await client.ask({ bearer: 'reviewer', body, signal: never })
  t.doesNotThrow(() => checkReview(answer, identity, ['a']))
  t.match(server.reviews, [
    {
      method: 'POST',
      url: '/apis/authentication.k8s.io/v1/tokenreviews',
      authorization: 'Bearer reviewer',
      contentType: 'application/json',
      body: {
        kind: 'TokenReview',
        apiVersion: 'authentication.k8s.io/v1',
        spec: { token: 'the.jwt.itself', audiences: ['a'] },
      },
    },
  ])
  t.notOk('audiences' in JSON.parse(reviewQuestion('x', [])).spec)
})

void t.test('connections are kept, and made anew when the other end closed them', async (t) => {
  const server = await reviewServer(t)
  const client = clientOf(t, server)
  for (let at = 0; at < 5; at += 1) await client.ask({ bearer: 'r', body, signal: never })
  t.equal(server.connections(), 1)
  server.server.closeAllConnections()
  await client.ask({ bearer: 'r', body, signal: never })
  t.equal(server.connections(), 2)
  await Promise.all(
    Array.from({ length: 200 }, () => client.ask({ bearer: 'r', body, signal: never })),
  )
  t.ok(server.connections() <= 66, `${server.connections()} connections`)
  const { connections } = server
  const before = connections()
  await Promise.all(
    Array.from({ length: 64 }, () => client.ask({ bearer: 'r', body, signal: never })),
  )
  t.equal(connections(), before, 'a second burst needs no new ones')
})

void t.test('a redirect is not followed', async (t) => {
  const other = await reviewServer(t)
  const server = await reviewServer(t)
  server.answer((_, response) => {
    response.writeHead(307, { location: `${other.url}${reviewPath}` })
    response.end(JSON.stringify(good))
  })
  const answer = await clientOf(t, server).ask({ bearer: 'r', body, signal: never })
  t.equal(answer.status, 307)
  t.throws(() => checkReview(answer, identity, []), by('unreachable'))
  t.equal(other.reviews.length, 0)
})

void t.test('a certificate of another authority or for another name is refused', async (t) => {
  const server = await reviewServer(t)
  const other = await reviewServer(t)
  const asked = { bearer: 'r', body, signal: never }
  const untrusted = clientOf(t, { url: server.url, authority: other.authority })
  await t.rejects(untrusted.ask(asked), by('unreachable'))
  const system = new ReviewClient({ url: server.url + reviewPath, authorities: null }, systemClock)
  t.teardown(() => system.destroy())
  await t.rejects(system.ask(asked), by('unreachable'), 'nor one that the system does not trust')
  const named = await reviewServer(t, { names: { dnsNames: ['o.test'], ipAddresses: [] } })
  await t.rejects(clientOf(t, named).ask(asked), by('unreachable'))
  t.same([server.reviews, named.reviews], [[], []], 'nobody was told a token')
})

void t.test('TLS is 1.2 at least, and nothing is sent in the clear', async (t) => {
  const old = await reviewServer(t, { maxVersion: 'TLSv1.1' })
  const asked = { bearer: 'r', body, signal: never }
  await t.rejects(clientOf(t, old).ask(asked), by('unreachable'))
  t.same(old.reviews, [])
  const usual = await reviewServer(t, { maxVersion: 'TLSv1.2' })
  await clientOf(t, usual).ask(asked)
  t.match(usual.reviews, [{ tls: 'TLSv1.2' }])
  const plain = createPlain((_, response) => sendJson(response, good))
  plain.listen(0, '127.0.0.1')
  await once(plain, 'listening')
  t.teardown(() => plain.close())
  const { port } = plain.address() as AddressInfo
  const client = clientOf(t, { url: `https://127.0.0.1:${port}`, authority: usual.authority })
  await t.rejects(client.ask(asked), by('unreachable'))
})

void t.test('an answer that is too long, cut off or never comes is refused', async (t) => {
  const server = await reviewServer(t)
  const clock = manualClock()
  const client = clientOf(t, server, clock)
  const asked = { bearer: 'r', body, signal: never }
  server.answer((_, response) => sendJson(response, ' '.repeat(reviewBytesMax + 1)))
  await t.rejects(client.ask(asked), by('unreachable', 'the answer is too long'))
  server.answer((_, response) => {
    response.writeHead(201, { 'content-length': 1_000 })
    response.write('{')
    setImmediate(() => response.destroy())
  })
  await t.rejects(client.ask(asked), by('unreachable'))
  server.answer((_, response) => response.destroy())
  await t.rejects(client.ask(asked), by('unreachable'))
  for (const start of ['', '{']) {
    server.answer((_, response) => {
      if (start !== '') response.writeHead(201).write(start)
    })
    const before = server.reviews.length
    const waiting = t.rejects(client.ask(asked), by('unreachable', /10 seconds/))
    await eventuallyTrue('it was asked', () => server.reviews.length > before)
    clock.advance(reviewMsMax + 1)
    await waiting
  }
})

void t.test(
  'an API server that accepts connections and says nothing holds nobody up',
  async (t) => {
    const silent = createTcp(() => {})
    silent.listen(0, '127.0.0.1')
    await once(silent, 'listening')
    t.teardown(() => silent.close())
    const { port } = silent.address() as AddressInfo
    const { authority } = await reviewServer(t)
    const clock = manualClock()
    const client = clientOf(t, { url: `https://127.0.0.1:${port}`, authority }, clock)
    const waiting = t.rejects(client.ask({ bearer: 'r', body, signal: never }), by('unreachable'))
    clock.advance(reviewMsMax + 1)
    await waiting
    const gone = new AbortController()
    const cancelled = client.ask({ bearer: 'r', body, signal: gone.signal })
    gone.abort()
    await t.rejects(cancelled, { code: 'cancelled' })
  },
)

void t.test('reviews beyond the bound are refused at once', async (t) => {
  const server = await reviewServer(t)
  const client = clientOf(t, server)
  server.answer(() => {})
  const gone = new AbortController()
  const asked = { bearer: 'r', body, signal: gone.signal }
  const all = Array.from({ length: 512 }, () => client.ask(asked).catch(() => {}))
  await t.rejects(client.ask(asked), { code: 'overloaded' })
  gone.abort()
  await Promise.all(all)
  server.answer((_, response) => sendJson(response, good))
  await t.resolves(client.ask({ ...asked, signal: never }), 'and taken again afterwards')
})

void t.test('what a header cannot hold is refused and not repeated', async (t) => {
  const server = await reviewServer(t)
  const asked = { bearer: 'secret\r\nx-other: 1', body, signal: never }
  const error = await clientOf(t, server)
    .ask(asked)
    .catch((error: unknown) => error)
  t.match(error, by('unreachable'))
  t.notOk(String(error).includes('secret'))
})

void t.test('one client for one address and its authorities, and not too many', async (t) => {
  const clients = new ReviewClients(systemClock)
  t.teardown(() => clients.stop())
  const target = { url: 'https://o.test/x', authorities: 'one' }
  const first = clients.of(target)
  t.equal(clients.of({ ...target }), first)
  t.not(clients.of({ ...target, authorities: 'two' }), first)
  for (let at = 0; at < clientsMax; at += 1) clients.of({ ...target, url: `https://o${at}.test/` })
  t.not(clients.of(target), first, 'the one that was asked least recently went')
})
