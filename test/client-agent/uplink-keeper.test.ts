/** An agent's uplink, at a server that is there in word only: when the next one is opened, and when it says that it lives. */
import t, { type Test } from 'tap'
import { WebSocketServer } from 'ws'
import { WebSocketMessages } from '../../src/api/message-socket.ts'
import { UplinkKeeper } from '../../src/client-agent/uplink-keeper.ts'
import { heartbeat, register } from '../../src/domains/nodes/agent-contracts.ts'
import type { Clock } from '../../src/lib/clock.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { MusterError } from '../../src/lib/errors.ts'
import { silentLogger } from '../../src/lib/log.ts'
import { seededRandom } from '../../src/lib/random.ts'
import { messageBytesMax } from '../../src/rpc/uplink-channels.ts'
import { Uplink, UplinkHost } from '../../src/rpc/uplink.ts'
import { secretOf } from '../domains/nodes/agent.ts'
import { specOf } from '../domains/nodes/spec.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { serverStandIn } from './server-stand-in.ts'

/** Half of it is the pause between heartbeats: no test waits for it. */
const ttlMs = 600_000
/** What comes at once comes before this. */
const soon = { timeoutMs: 10_000 }

const nothing = () => Promise.reject(new MusterError('not_found', 'nothing here'))

/** A keeper, not started yet, and what the server hears of it. */
async function keeperOf(t: Test) {
  const heard: string[] = []
  const uplinks: Uplink[] = []
  /** Pauses that the agent made, longest of all the one between heartbeats. */
  const pauses: number[] = []
  const state = { refuses: false, requests: 0, beatFails: false }
  const { server, ...place } = await serverStandIn(t, (_, response) => response.end())
  const acceptor = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: messageBytesMax,
    maxFragments: 16,
    maxBufferedChunks: 1_024,
    closeTimeout: 1_000,
    perMessageDeflate: false,
  })
  const host = new UplinkHost(systemClock, silentLogger)
  server.on('upgrade', (request, socket, head) => {
    state.requests += 1
    if (state.refuses) {
      socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno')
      return
    }
    acceptor.handleUpgrade(request, socket, head, (websocket) => {
      const at = uplinks.length
      uplinks.push(
        new Uplink(new WebSocketMessages(websocket, systemClock), {
          host,
          side: 'server',
          peer: 'the agent',
          onCall: async ({ method }) => {
            heard.push(`${at}: ${method}`)
            if (method === register.name) return { index: 1 }
            if (method === heartbeat.name && !state.beatFails) return { ttlMs }
            return nothing()
          },
          onStream: nothing,
          onClose: () => {},
        }),
      )
    })
  })
  const clock: Clock = {
    ...systemClock,
    setTimer: (ms, run) => {
      pauses.push(ms)
      return systemClock.setTimer(ms, run)
    },
  }
  let demoted = 0
  const keeper = new UplinkKeeper({
    node: {
      nodeId: '11111111-1111-4111-8111-111111111111',
      name: 'n1',
      secret: secretOf('s'),
      token: null,
    },
    spec: () => Promise.resolve(specOf('n1')),
    upstream: { tlsOf: () => undefined },
    servers: { places: [place], demote: () => (demoted += 1), onHeartbeat: () => {} },
    onCall: nothing,
    onStream: nothing,
    onRegistered: () => {},
    clock,
    random: seededRandom(1),
    log: silentLogger,
  })
  t.teardown(async () => {
    await keeper.stop()
    for (const uplink of uplinks) uplink.close('the test is over')
  })
  const beats = (at: number) => heard.filter((one) => one === `${at}: ${heartbeat.name}`).length
  /** It has said that it lives, and waits until it says so again. */
  const pausing = (at: number) =>
    eventuallyTrue('the pause', () => beats(at) > 0 && pauses.at(-1) === ttlMs / 2, soon)
  return { keeper, place, heard, uplinks, pauses, state, beats, pausing, demoted: () => demoted }
}

t.test('an uplink that closes during the pause is followed by the next at once', async (t) => {
  const { keeper, heard, uplinks, pausing, demoted } = await keeperOf(t)
  keeper.start()
  await pausing(0)
  uplinks[0]?.close('the server leaves')
  await eventuallyTrue('the next one', () => heard.length === 4, soon)
  t.same(heard, [
    `0: ${register.name}`,
    `0: ${heartbeat.name}`,
    `1: ${register.name}`,
    `1: ${heartbeat.name}`,
  ])
  t.equal(demoted(), 1, 'another server would be asked first')
})

t.test('so is one whose server is gone, as others say', async (t) => {
  const { keeper, place, uplinks, beats, pausing } = await keeperOf(t)
  keeper.start()
  await pausing(0)
  keeper.gone({ ...place })
  keeper.beatNow()
  await eventuallyTrue('another place is not that one', () => beats(0) === 2, soon)
  t.equal(uplinks[0]?.open, true)
  keeper.gone(place)
  await eventuallyTrue('the next one', () => beats(1) === 1, soon)
})

t.test('a heartbeat that is asked for ends the pause', async (t) => {
  const { keeper, heard, uplinks, pauses, beats, pausing } = await keeperOf(t)
  keeper.start()
  await pausing(0)
  const before = keeper.beat?.agoMs ?? -1
  pauses.length = 0
  keeper.beatNow()
  await eventuallyTrue('the second', () => beats(0) === 2, soon)
  await pausing(0)
  t.ok(before >= 0)
  t.match(keeper.beat, { ttlMs })
  t.equal(uplinks.length, 1, 'over the same uplink')
  t.equal(heard.filter((one) => one.endsWith(register.name)).length, 1, 'it is registered already')
})

t.test('what is told anew ends it too', async (t) => {
  const { keeper, heard, uplinks, pausing } = await keeperOf(t)
  keeper.start()
  await pausing(0)
  keeper.tellAgain()
  await eventuallyTrue('a heartbeat behind it', () => heard.length === 4, soon)
  t.same(heard.slice(2), [`0: ${register.name}`, `0: ${heartbeat.name}`])
  t.equal(uplinks.length, 1)
})

t.test('a node that is refused is not tried again sooner for a heartbeat', async (t) => {
  const { keeper, pauses, state } = await keeperOf(t)
  state.refuses = true
  keeper.start()
  const refusedMs = 15_000
  const waits = () => pauses.some((ms) => ms >= refusedMs / 2 && ms <= refusedMs)
  await eventuallyTrue('it waits', () => state.requests === 1 && waits(), soon)
  keeper.beatNow()
  // Longer than it takes to be refused.
  await new Promise((resolve) => setTimeout(resolve, 200))
  t.equal(state.requests, 1)
  await t.rejects(keeper.ask(heartbeat, {}, 1_000), { code: 'unavailable' })
  t.equal(keeper.beat, null)
})
