import { deepStrictEqual } from 'node:assert/strict'
import fc from '../support/fast-check.ts'
import t from 'tap'
import { MusterError } from '../../src/lib/errors.ts'
import {
  decodeCalls,
  decodeFailure,
  decodeRequest,
  decodeValue,
  encodeCalls,
  encodeFailure,
  encodeRequest,
  encodeValue,
} from '../../src/rpc/link-codec.ts'
import type { CallRequest } from '../../src/rpc/link.ts'

const plain = fc.jsonValue()
const request = fc
  .record({
    method: fc.string(),
    args: plain,
    token: fc.option(fc.string()),
    remote: fc.string(),
    requestId: fc.string(),
    timeoutMs: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
    write: fc.option(
      fc.record({ name: fc.string({ minLength: 1, maxLength: 64 }), term: fc.maxSafeNat() }),
    ),
  })
  .map(({ write, ...request }): CallRequest => {
    const plain = { ...request, args: normal(request.args) }
    return write === null ? plain : { ...plain, write }
  })

t.test('requests, results, errors and cancels survive the wire', async (t) => {
  fc.assert(
    fc.property(request, plain, fc.maxSafeNat(), (sent, value, id) => {
      const args = encodeValue(sent.args)
      const failure = new MusterError('conflict', 'no', { details: normal(value) })
      const frame = decodeCalls(
        encodeCalls({
          requests: [encodeRequest(id, sent, args)],
          responses: [{ id, result: encodeValue(normal(value)) }, encodeFailure(id, failure)],
          cancels: [id, 0],
        }),
      )
      const [first] = frame.requests
      const [result, error] = frame.responses
      if (first === undefined || !result?.result || !error?.error) throw new Error('missing')
      deepStrictEqual(normal(decodeRequest(first)), normal(sent))
      deepStrictEqual(normal(decodeValue(result.result)), normal(value))
      const { code, message, details } = decodeFailure(error.error)
      deepStrictEqual(
        { code, message, details: normal(details) },
        { code: 'conflict', message: 'no', details: normal(value) },
      )
      deepStrictEqual([first.id, result.id, error.id, ...frame.cancels], [id, id, id, id, 0])
    }),
    { numRuns: 300 },
  )
  t.pass('all did')
})

t.test('the name of a write is bounded, and so is its term', async (t) => {
  const sent = { method: 'm', args: 1, token: null, remote: '', requestId: '', timeoutMs: 5 }
  for (const write of [
    { name: '', term: 1 },
    { name: 'x'.repeat(65), term: 1 },
    { name: 'x', term: 2 ** 53 },
  ]) {
    const wire = encodeRequest(1, { ...sent, write }, encodeValue(1))
    const [first] = decodeCalls(encodeCalls({ requests: [wire] })).requests
    if (first === undefined) throw new Error('missing')
    t.throws(() => decodeRequest(first), { code: 'incompatible' }, JSON.stringify(write))
  }
})

t.test('an empty token is a token, an absent one is none', async (t) => {
  for (const token of ['', null]) {
    const sent = { method: 'm', args: 1, token, remote: '', requestId: '', timeoutMs: 5 }
    const frame = encodeCalls({ requests: [encodeRequest(1, sent, encodeValue(1))] })
    const [decoded] = decodeCalls(frame).requests
    t.strictSame(decoded === undefined ? undefined : decodeRequest(decoded), sent)
  }
})

t.test('values of another encoding and ids out of range are refused', async (t) => {
  t.throws(() => decodeValue(Buffer.from([2, 1])), { code: 'incompatible' })
  t.throws(() => decodeValue(Buffer.alloc(0)), { code: 'incompatible' })
  t.throws(() => decodeValue(Buffer.from([1, 0xdf, 1])), { code: 'incompatible' })
  const frame = encodeCalls({ cancels: [2 ** 53] })
  t.throws(() => decodeCalls(frame), { code: 'corrupt', message: /below 2\^53/ })
  t.equal(
    decodeFailure({ code: 'new_code', message: 'x', details: Buffer.alloc(0) }).code,
    'internal',
  )
})

t.test('damaged bytes give a frame or one kind of error, nothing else', async (t) => {
  const good = request.map((sent) =>
    encodeCalls({ requests: [encodeRequest(1, sent, encodeValue(sent.args))], cancels: [3] }),
  )
  const damage = fc.array(fc.record({ at: fc.nat(), value: fc.nat(255) }), { maxLength: 4 })
  fc.assert(
    fc.property(good, damage, (frame, damage) => {
      const bytes = Buffer.from(frame)
      for (const { at, value } of damage) bytes[at % bytes.length] = value
      try {
        for (const wire of decodeCalls(bytes).requests) decodeRequest(wire)
      } catch (error) {
        if (!(error instanceof MusterError)) throw error
      }
    }),
    { numRuns: 2000 },
  )
  t.pass('only MusterError came out')
})

/** As JSON sees it: without -0 and null prototypes, and without the key that msgpackr renames. */
function normal(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null).replaceAll('"__proto__"', '"proto"'))
}
