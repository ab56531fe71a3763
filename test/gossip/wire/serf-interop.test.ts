/** Byte for byte with a real agent of serf, plain and encrypted, over UDP and TCP. Left out aloud where serf is missing. */
import t, { type Test } from 'tap'
import { systemClock } from '../../../src/lib/clock.ts'
import { codeOf } from '../../../src/lib/errors.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import type {
  Endpoint,
  PacketMessage,
  PushPull,
  PushPullNode,
  SerfMessage,
} from '../../../src/gossip/core/message.ts'
import { bindSockets, type SocketTransport } from '../../../src/gossip/sockets.ts'
import { encodeFilter } from '../../../src/gossip/wire/filters.ts'
import {
  decodeKeyResponse,
  encodeKeyRequest,
  internalQuery,
  type KeyResponse,
} from '../../../src/gossip/wire/internal-queries.ts'
import { Keyring } from '../../../src/gossip/wire/keyring.ts'
import { decodeSerfMessage, encodeSerfMessage } from '../../../src/gossip/wire/serf-codec.ts'
import { decodeTags, encodeTags } from '../../../src/gossip/wire/tags.ts'
import { eventually } from '../../support/eventually.ts'
import { serfMissing, startSerf } from './serf-agent.ts'
import { refusals, wires, type Wires } from './wires.ts'

const patience = { timeoutMs: 10_000 }
const versions = {
  protocolMin: 1,
  protocolMax: 5,
  protocolCurrent: 2,
  delegateMin: 2,
  delegateMax: 5,
  delegateCurrent: 5,
}

type Talk = {
  readonly wire: Wires
  readonly ring: Keyring | null
  readonly transport: SocketTransport
  readonly serf: Endpoint
  /** What came in packets, in order. */
  readonly heard: PacketMessage[]
  readonly send: (...messages: readonly PacketMessage[]) => void
  /** The serf agent's members and the layer above. */
  readonly state: () => Promise<{
    readonly members: readonly PushPullNode[]
    readonly above: SerfMessage
  }>
}

function pushPull(nodes: readonly PushPullNode[]): PushPull {
  const userState = encodeSerfMessage({
    type: 'serf-push-pull',
    time: 1,
    statusTimes: new Map(),
    leftMembers: [],
    eventTime: 1,
    events: [],
    queryTime: 1,
  })
  return { type: 'push-pull', nodes, userState, join: false }
}

/** An agent named `x`, and us beside it; it is there when this resolves. */
async function talk(t: Test, key: Uint8Array | null, ourKey = key): Promise<Talk> {
  const agent = await startSerf('x', { ...(key === null ? {} : { key }), tags: ['role=web'] })
  const ring = ourKey === null ? null : new Keyring(ourKey)
  const wire = wires({ keyring: ring })
  const transport = await bindSockets({
    host: '127.0.0.1',
    port: 0,
    wire: wire.streams,
    clock: systemClock,
    logger: silentLogger,
  })
  t.teardown(async () => {
    await Promise.all([agent.stop(), transport.close()])
  })
  const heard: PacketMessage[] = []
  transport.start({
    onPacket: (packet) => heard.push(...wire.packets.decode(packet)),
    onStream: () => null,
  })
  const serf = { address: Uint8Array.of(127, 0, 0, 1), port: agent.port }
  const state = async (): ReturnType<Talk['state']> => {
    const { nodes, userState } = await transport.pushPull(serf, pushPull([]))
    const above = decodeSerfMessage(userState)
    if (above === null) throw new Error('the state of the layer above is not read')
    return { members: nodes, above }
  }
  const send = (...messages: readonly PacketMessage[]): void => {
    for (const packet of wire.packets.encode(messages, { checksum: true })) {
      transport.sendPacket(serf, packet)
    }
  }
  if (key === ourKey) await eventually('the serf agent', state, patience)
  return { wire, ring, transport, serf, heard, send, state }
}

function user(message: SerfMessage): PacketMessage {
  return { type: 'user', bytes: encodeSerfMessage(message) }
}

const rows = [
  ['plain', null],
  ['with a key of 16 bytes', new Uint8Array(16).fill(1)],
  ['with a key of 32 bytes', new Uint8Array(32).fill(2)],
] as const

for (const [what, key] of rows) {
  const options = { skip: serfMissing }
  await t.test(`a serf agent ${what} answers pings and push/pulls`, options, async (t) => {
    const { wire, transport, serf, heard, send, state } = await talk(t, key)

    const { members, above } = await state()
    t.match(members, [{ name: 'x', endpoint: serf, state: 'alive', versions }])
    t.same(decodeTags(members[0]?.meta ?? new Uint8Array()), new Map([['role', 'web']]))
    t.match(above, { type: 'serf-push-pull', time: 1, statusTimes: new Map([['x', 0]]) })

    const ping = { type: 'ping', sequence: 70_000, node: 'x', source: null } as const
    t.match(await transport.ping(serf, ping), { type: 'ack', sequence: 70_000 })

    send(ping, { ...ping, sequence: 1, source: { endpoint: transport.endpoint, node: 'us' } })
    const acks = await eventually('both acks', () => {
      const found = heard.filter(({ type }) => type === 'ack')
      return found.length === 2 ? found : undefined
    })
    t.match(acks, [{ sequence: 70_000 }, { sequence: 1 }])

    // An indirect ping of a member that is not there, at our own endpoint, which stays silent.
    send({
      type: 'indirect-ping',
      sequence: 5,
      target: transport.endpoint,
      node: 'ghost',
      wantsNack: true,
      source: null,
    })
    const nack = await eventually('the nack', () => heard.find(({ type }) => type === 'nack'))
    t.same(nack, { type: 'nack', sequence: 5 })
    t.match(
      heard.find(({ type }) => type === 'ping'),
      { node: 'ghost' },
    )

    t.equal(refusals(wire.counters.packets.refused), '')
    t.equal(refusals(wire.counters.streams.refused), '')
    t.equal(wire.counters.messages.refused, 0)
  })
}

await t.test(
  'a serf agent takes 300 members and gives them back, events, queries and relays too',
  { skip: serfMissing },
  async (t) => {
    const { wire, transport, serf, heard, send, state } = await talk(t, null)
    const ours = Array.from({ length: 300 }, (_, index): PushPullNode => ({
      name: `member-${index}`,
      endpoint: transport.endpoint,
      meta: encodeTags(new Map([['number', String(index)]])),
      incarnation: index,
      state: 'alive',
      versions,
    }))
    await transport.pushPull(serf, pushPull(ours))
    const members = await eventually('all members', async () => {
      const found = (await state()).members.filter(({ name }) => name !== 'x')
      return found.length === ours.length ? found : undefined
    })
    const byName = new Map(members.map((member) => [member.name, member]))
    t.same(
      ours.filter(({ name, meta }) => {
        const back = byName.get(name)?.meta
        return back === undefined || Buffer.compare(back, meta) !== 0
      }),
      [],
      'with their tags',
    )

    send(
      user({
        type: 'user-event',
        time: 10,
        name: 'deploy',
        payload: Buffer.from('v1'),
        coalesce: false,
      }),
      user({
        type: 'query',
        time: 5,
        id: 77,
        endpoint: transport.endpoint,
        sourceNode: 'us',
        filters: [],
        wantsAck: true,
        noBroadcast: true,
        relayFactor: 1,
        timeoutNs: 5e9,
        name: 'load',
        payload: new Uint8Array(),
      }),
    )
    const response = { type: 'query-response', time: 5, id: 77, from: 'x', flags: 1 }
    const above = (): readonly SerfMessage[] =>
      heard.flatMap((message) => {
        const read = message.type === 'user' ? decodeSerfMessage(message.bytes) : null
        return read === null ? [] : [read]
      })
    t.match(
      await eventually('the ack of the query', () =>
        above().find(({ type }) => type === 'query-response'),
      ),
      response,
    )
    const relay = await eventually('the same by a relay', () =>
      above().find((message) => message.type === 'relay'),
    )
    t.match(relay, { destination: transport.endpoint, node: 'us' })
    t.match(decodeSerfMessage(relay.bytes), response)
    const event = await eventually('the event in the state', async () => {
      const { above: read } = await state()
      return read.type === 'serf-push-pull' ? read.events[0] : undefined
    })
    t.match(event, { time: 10, events: [{ name: 'deploy', payload: Buffer.from('v1') }] })
    t.equal(refusals(wire.counters.packets.refused), '')
    t.equal(wire.counters.messages.refused, 0)
  },
)

await t.test(
  'a serf agent installs, uses, lists and removes keys as it is told',
  { skip: serfMissing },
  async (t) => {
    const [old, next] = [new Uint8Array(32).fill(1), new Uint8Array(16).fill(2)]
    const { transport, heard, ring, send, state } = await talk(t, old)
    if (ring === null) throw new Error('there is no keyring')
    let time = 0
    const ask = async (name: string, key: Uint8Array): Promise<KeyResponse> => {
      time += 1
      const id = time
      send(
        user({
          type: 'query',
          time,
          id,
          endpoint: transport.endpoint,
          sourceNode: 'us',
          filters: [encodeFilter({ type: 'nodes', names: ['x'] })],
          wantsAck: false,
          noBroadcast: true,
          relayFactor: 0,
          timeoutNs: 5e9,
          name,
          payload: encodeKeyRequest(key),
        }),
      )
      return eventually(`the answer to ${name}`, () => {
        for (const message of heard) {
          const read = message.type === 'user' ? decodeSerfMessage(message.bytes) : null
          if (read?.type !== 'query-response' || read.id !== id) continue
          return decodeKeyResponse(read.payload) ?? undefined
        }
        return undefined
      })
    }
    const base64 = (key: Uint8Array): string => Buffer.from(key).toString('base64')
    ring.install(next)
    t.match(await ask(internalQuery.installKey, next), { ok: true })
    t.match(await ask(internalQuery.useKey, next), { ok: true })
    ring.use(next)
    t.match(await ask(internalQuery.listKeys, new Uint8Array()), {
      ok: true,
      keys: [base64(next), base64(old)],
      primaryKey: base64(next),
    })
    t.match(await ask(internalQuery.removeKey, next), { ok: false, message: /primary/ })
    t.match(await ask(internalQuery.removeKey, old), { ok: true })
    ring.remove(old)
    t.match((await state()).members, [{ name: 'x' }])
  },
)

await t.test(
  'a serf agent of another key refuses, and is refused, with a reason',
  { skip: serfMissing },
  async (t) => {
    const { wire, transport, serf } = await talk(
      t,
      new Uint8Array(32).fill(1),
      new Uint8Array(32).fill(2),
    )
    const code = await eventually('the refusal', async () => {
      try {
        await transport.pushPull(serf, pushPull([]))
        return 'none'
      } catch (error) {
        return codeOf(error) === 'unavailable' ? undefined : codeOf(error)
      }
    })
    t.equal(code, 'incompatible')
    t.equal(refusals(wire.counters.streams.refused), 'wrong-key 1')
  },
)
