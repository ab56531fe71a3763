/** In which turn of the event loop an answer leaves. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import { defaultHttpLimits } from '../../src/api/http-limits.ts'
import { Head } from '../../src/api/head.ts'
import { Departures, turnBytesMax, type Leaving } from '../../src/api/leaving.ts'
import { Outgoing } from '../../src/api/outgoing.ts'
import { systemClock } from '../../src/lib/clock.ts'

void t.test('a small answer does not wait behind large ones, which leave in parts', async (t) => {
  const large = Buffer.alloc(turnBytesMax)
  const count = 6
  const outgoing = new Outgoing({ ...defaultHttpLimits, answerBytesMax: 2 * count * turnBytesMax })
  const waiting: ServerResponse[] = []
  const server = createServer((_, response) => void waiting.push(response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const bodies = Array.from({ length: count + 1 }, async () => {
    const reply = await fetch(`http://127.0.0.1:${port}/`)
    return (await reply.arrayBuffer()).byteLength
  })
  while (waiting.length <= count) await once(server, 'request')

  const departures = new Departures()
  const order: string[] = []
  const [small, ...others] = waiting
  if (small === undefined) throw new Error('requests came')
  const head = () => new Head(200, systemClock)
  const all = others.map(async (response, at) => {
    const counted = { held: outgoing.hold(large.length), outgoing, taker: { takes: () => {} } }
    await departures.leave({ response, head: head(), body: large, counted })
    order.push(`large ${at}`)
  })
  all.push(
    departures
      .leave({ response: small, head: head(), body: 'small', counted: null })
      .then(() => void order.push('small')),
  )
  await Promise.all(all)
  t.ok(order.indexOf('small') <= 1, `${order.join()}: the first turn has one large answer at most`)
  t.same(
    order.filter((name) => name !== 'small'),
    others.map((_, at) => `large ${at}`),
    'large ones leave in their order',
  )
  t.same(
    (await Promise.all(bodies)).sort((a, b) => a - b),
    [5, ...others.map(() => large.length)],
  )
})

void t.test('the answers of one server do not stand in the line of another', async (t) => {
  const order: string[] = []
  const response = { headersSent: false, destroyed: false, writableLength: 0 }
  const answerOf = (name: string) => ({
    response: { ...response, end: () => void order.push(name) } as unknown as ServerResponse,
    head: { writeTo: () => {} } as unknown as Head,
    body: Buffer.alloc(turnBytesMax),
    counted: {
      held: { release: () => {} },
      outgoing: { watch: () => {}, unwatch: () => {} } as unknown as Outgoing,
      taker: { takes: () => {} },
    } as unknown as NonNullable<Leaving['counted']>,
  })
  const [one, another] = [new Departures(), new Departures()]
  const all = ['one: first', 'one: second'].map((name) => one.leave(answerOf(name)))
  all.push(another.leave(answerOf('another: first')))
  await Promise.all(all)
  t.same(order, ['one: first', 'another: first', 'one: second'])
})

void t.test('what is for nobody any more, or was answered otherwise, is let go', async (t) => {
  const large = Buffer.alloc(100)
  for (const change of [{ destroyed: true }, { headersSent: true }]) {
    for (const counts of [true, false]) {
      const name = `${Object.keys(change).join()}, ${counts ? 'counted' : 'not counted'}`
      const wrote: string[] = []
      let released = 0
      const response = {
        headersSent: false,
        destroyed: false,
        writableLength: 0,
        end: () => void wrote.push('body'),
      }
      const departures = new Departures()
      const counted = {
        held: { release: () => (released += 1) },
        outgoing: { watch: () => void wrote.push('watch'), unwatch: () => {} },
        taker: { takes: () => void wrote.push('taker') },
      } as unknown as NonNullable<Leaving['counted']>
      const leaving = departures.leave({
        response: response as unknown as ServerResponse,
        head: { writeTo: () => void wrote.push('head') } as unknown as Head,
        body: large,
        counted: counts ? counted : null,
      })
      // While it waits.
      Object.assign(response, change)
      await leaving
      t.same(wrote, [], `${name}: nothing is written`)
      t.equal(released, counts ? 1 : 0, `${name}: what it held is free`)
    }
  }
})
