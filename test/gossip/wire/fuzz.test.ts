/**
 * Hostile input: random and mutated packets, streams and messages. Nothing throws, every packet is counted once, what is
 * accepted is within its bounds, and memory does not grow. 50,000 inputs, or as many as FUZZ_PACKETS says; FUZZ_SEED
 * repeats a run.
 */
import assert from 'node:assert/strict'
import fc from '../../support/fast-check.ts'
import t from 'tap'
import { decodeMessage, encodeMessage } from '../../../src/gossip/wire/codec.ts'
import { refusalReasons, type Tally } from '../../../src/gossip/wire/counters.ts'
import { decodeSerfMessage, encodeSerfMessage } from '../../../src/gossip/wire/serf-codec.ts'
import { decodeTags } from '../../../src/gossip/wire/tags.ts'
import { amount, seed } from '../../support/randomness.ts'
import { integer, mutated, noise, pick } from '../../support/fuzz.ts'
import { heapBytes } from '../../support/heap.ts'
import { packetMessage, serfMessage, streamMessage } from './messages.ts'
import { keyring, wires } from './wires.ts'

const inputsWanted = amount('FUZZ_PACKETS', { gate: 20_000, long: 50_000 })
/** Samples of good messages that mutations start from. */
const samplesOfEach = 400
const heapGrowthBytesMax = 16 * 1024 * 1024

function total({ accepted, refused }: Tally): number {
  return refusalReasons.reduce((sum, reason) => sum + refused[reason], accepted)
}

/** One round per input; memory is looked at after a tenth and at the end. */
function repeat(share: number, round: (index: number) => void): number {
  const rounds = Math.ceil(inputsWanted * share)
  let before = 0
  for (let index = 0; index < rounds; index++) {
    if (index === Math.ceil(rounds / 10)) before = heapBytes()
    try {
      round(index)
    } catch (cause) {
      throw new Error(`seed ${seed}, round ${index} of ${rounds}`, { cause })
    }
  }
  const growth = heapBytes() - before
  assert.ok(growth < heapGrowthBytesMax, `memory grew by ${growth} bytes; seed ${seed}`)
  return rounds
}

const key = keyring(1)
const options: readonly { compress?: boolean; label?: string; keyring?: typeof key }[] = [
  { compress: false },
  { compress: true },
  { label: 'blue' },
  { keyring: key },
  { keyring: key, label: 'blue' },
]
const settings = options.map((one) => ({ options: one, ...wires(one) }))

const packetSamples = fc.sample(fc.array(packetMessage, { minLength: 1, maxLength: 8 }), {
  numRuns: samplesOfEach,
  seed,
})

await t.test(`packets of any bytes, seed ${seed}`, (t) => {
  const samples = settings.map(({ packets }) =>
    packetSamples.flatMap((messages) => packets.encode(messages, { checksum: false })),
  )
  const plain = samples.flatMap((packets) => packets.slice(0, 100))
  const fed = settings.map(() => 0)
  let messagesOut = 0
  const rounds = repeat(0.6, (index) => {
    const which = index % settings.length
    const setting = settings[which]
    const own = samples[which]
    if (setting === undefined || own === undefined) throw new Error('no setting')
    const broken = index % 10 === 0 ? noise(200) : mutated(pick(own), plain)
    const { keyring: ring, label = '' } = setting.options
    // Behind the seal only what is sealed arrives, so half the inputs are sealed after they were broken.
    const packet =
      ring !== undefined && index % 4 < 2
        ? Buffer.concat([
            Buffer.from(label === '' ? '' : `\u00f4\u0004${label}`, 'latin1'),
            ring.seal(mutated(pick(plain), plain), Buffer.from(label)),
          ])
        : broken
    const messages = setting.packets.decode(packet)
    fed[which] = (fed[which] ?? 0) + 1
    messagesOut += messages.length
    for (const message of messages) {
      if (message.type !== 'user') {
        assert.deepEqual(decodeMessage(encodeMessage(message)), message)
      }
    }
  })
  settings.forEach(({ counters }, which) => {
    t.equal(total(counters.packets), fed[which], 'every packet is counted once')
  })
  const counted = settings.reduce((sum, { counters }) => sum + counters.messages.accepted, 0)
  t.equal(counted, messagesOut, 'every message is counted once')
  t.ok(messagesOut > rounds / 10, `${messagesOut} messages of ${rounds} packets got through`)
  t.end()
})

await t.test(`streams of any bytes, seed ${seed}`, (t) => {
  const messages = fc.sample(streamMessage, { numRuns: samplesOfEach, seed })
  const samples = settings.map(({ streams }) =>
    messages.map((message) => streams.encode(message, 'request')),
  )
  const plain = samples.flatMap((streams) => streams.slice(0, 100))
  const fed = settings.map(() => 0)
  repeat(0.25, (index) => {
    const which = index % settings.length
    const setting = settings[which]
    const own = samples[which]
    if (setting === undefined || own === undefined) throw new Error('no setting')
    const bytes = index % 10 === 0 ? noise(200) : mutated(pick(own), plain)
    const decoder = setting.streams.decoder(index % 3 === 0 ? 'answer' : 'request')
    const chunkBytes = integer(1, 300)
    for (let at = 0; at < bytes.length; at += chunkBytes) {
      decoder.feed(bytes.subarray(at, at + chunkBytes))
    }
    assert.notEqual(decoder.end().type, bytes.length === 0 ? 'message' : 'incomplete')
    assert.equal(decoder.heldBytes, 0)
    if (bytes.length > 0) fed[which] = (fed[which] ?? 0) + 1
  })
  settings.forEach(({ counters }, which) => {
    t.equal(total(counters.streams), fed[which], 'every stream is counted once')
  })
  t.end()
})

await t.test(`messages of the layer above and tags of any bytes, seed ${seed}`, (t) => {
  const samples = fc
    .sample(serfMessage, { numRuns: samplesOfEach, seed })
    .map((message) => encodeSerfMessage(message))
  let accepted = 0
  const rounds = repeat(0.15, (index) => {
    const bytes = index % 10 === 0 ? noise(200) : mutated(pick(samples), samples)
    const message = decodeSerfMessage(bytes)
    if (message !== null) {
      accepted += 1
      assert.deepEqual(decodeSerfMessage(encodeSerfMessage(message)), message)
    }
    decodeTags(bytes)
    decodeTags(Buffer.concat([Uint8Array.of(255), bytes.subarray(1)]))
  })
  t.ok(accepted > rounds / 10, `${accepted} messages of ${rounds} got through`)
  t.end()
})
