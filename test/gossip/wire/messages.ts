/** Random messages of every kind, within the bounds of the format. */
import fc from '../../support/fast-check.ts'
import type {
  Endpoint,
  PacketMessage,
  PushPull,
  SerfMessage,
  Source,
  StreamMessage,
  Versions,
} from '../../../src/gossip/core/message.ts'
import { addressOf } from '../../../src/gossip/wire/address.ts'
import { lamportMax, uint32Max } from '../../../src/gossip/wire/fields.ts'

/** Plain objects, as the codecs make them. */
function record<T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> {
  return fc.record<T>(model, { noNullPrototype: true })
}

const uint32 = fc.integer({ min: 0, max: uint32Max })
const lamport = fc.integer({ min: 0, max: lamportMax })
const byte = fc.integer({ min: 0, max: 255 })

function bytes(maxLength: number): fc.Arbitrary<Uint8Array> {
  return fc.uint8Array({ maxLength }).map((array) => new Uint8Array(array))
}

const name = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 30 })
  .map((text) => text.toWellFormed().replaceAll(/\p{Cc}/gu, '.'))

const endpoint: fc.Arbitrary<Endpoint> = record({
  address: fc
    .oneof(
      fc.uint8Array({ minLength: 4, maxLength: 4 }),
      fc.uint8Array({ minLength: 16, maxLength: 16 }),
    )
    .map((address) => addressOf(address) ?? new Uint8Array(4)),
  port: fc.integer({ min: 1, max: 65_535 }),
})

const versions: fc.Arbitrary<Versions | null> = fc.option(
  record({
    protocolMin: byte,
    protocolMax: byte,
    protocolCurrent: byte,
    delegateMin: byte,
    delegateMax: byte,
    delegateCurrent: byte,
  }),
)

const source: fc.Arbitrary<Source | null> = fc.option(
  record({ endpoint, node: fc.oneof(name, fc.constant('')) }),
)

const ping = record({
  type: fc.constant('ping' as const),
  sequence: uint32,
  node: fc.oneof(name, fc.constant('')),
  source,
})

const ack = record({
  type: fc.constant('ack' as const),
  sequence: uint32,
  payload: fc.option(bytes(200)),
})

const user = record({ type: fc.constant('user' as const), bytes: bytes(300) })

export const packetMessage: fc.Arbitrary<PacketMessage> = fc.oneof(
  ping,
  ack,
  user,
  record({
    type: fc.constant('indirect-ping' as const),
    sequence: uint32,
    target: endpoint,
    node: name,
    wantsNack: fc.boolean(),
    source,
  }),
  record({ type: fc.constant('nack' as const), sequence: uint32 }),
  record({
    type: fc.constantFrom('suspect' as const, 'dead' as const),
    incarnation: uint32,
    node: name,
    from: name,
  }),
  record({
    type: fc.constant('alive' as const),
    incarnation: uint32,
    node: name,
    endpoint,
    meta: bytes(512),
    versions,
  }),
)

export const pushPull: fc.Arbitrary<PushPull> = record({
  type: fc.constant('push-pull' as const),
  nodes: fc.array(
    record({
      name,
      endpoint,
      meta: bytes(60),
      incarnation: uint32,
      state: fc.constantFrom('alive', 'suspect', 'dead', 'left'),
      versions,
    }),
    { maxLength: 20 },
  ),
  userState: bytes(600),
  join: fc.boolean(),
})

export const streamMessage: fc.Arbitrary<StreamMessage> = fc.oneof(
  pushPull,
  ping,
  ack,
  user,
  record({ type: fc.constant('error' as const), text: fc.string({ maxLength: 50 }) }),
)

const query = record({
  type: fc.constant('query' as const),
  time: lamport,
  id: uint32,
  endpoint,
  sourceNode: fc.oneof(name, fc.constant('')),
  filters: fc.array(bytes(20), { maxLength: 4 }),
  wantsAck: fc.boolean(),
  noBroadcast: fc.boolean(),
  relayFactor: byte,
  timeoutNs: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
  name: fc.string({ maxLength: 20 }),
  payload: bytes(100),
})

const userEvent = record({ name: fc.string({ maxLength: 20 }), payload: bytes(40) })

export const serfMessage: fc.Arbitrary<SerfMessage> = fc.oneof(
  query,
  record({
    type: fc.constant('leave-intent' as const),
    time: lamport,
    node: name,
    prune: fc.boolean(),
  }),
  record({ type: fc.constant('join-intent' as const), time: lamport, node: name }),
  record({
    type: fc.constant('user-event' as const),
    time: lamport,
    name: fc.string({ maxLength: 20 }),
    payload: bytes(100),
    coalesce: fc.boolean(),
  }),
  record({
    type: fc.constant('query-response' as const),
    time: lamport,
    id: uint32,
    from: name,
    flags: uint32,
    payload: bytes(100),
  }),
  record({
    type: fc.constant('relay' as const),
    destination: endpoint,
    node: name,
    bytes: bytes(100),
  }),
  record({
    type: fc.constant('serf-push-pull' as const),
    time: lamport,
    statusTimes: fc
      .array(fc.tuple(name, lamport), { maxLength: 20 })
      .map((entries): ReadonlyMap<string, number> => new Map(entries)),
    leftMembers: fc.array(name, { maxLength: 5 }),
    eventTime: lamport,
    events: fc.array(
      record({
        time: lamport,
        events: fc.array(userEvent, { minLength: 1, maxLength: 3 }),
      }),
      { maxLength: 5 },
    ),
    queryTime: lamport,
  }),
)
