/** A server that proposed a command applies what all others decode. */
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { Type } from 'typebox'
import { CommandCodec, commandVersion } from '../../src/fsm/codec.ts'
import fc from '../support/fast-check.ts'

const newCodec = () =>
  new CommandCodec([['things.put', { args: Type.Unsafe<unknown>({}) }]], commandVersion)

const args = fc.dictionary(
  fc.constantFrom('name', 'list', 'value', 'half \ud800'),
  fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.double(),
    fc.constantFrom(null, undefined, true, -0, NaN),
    fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
    fc.array(fc.record({ deep: fc.integer() }), { maxLength: 3 }),
  ),
)

void t.test('its own copy is what the bytes say', async (t) => {
  const codec = newCodec()
  fc.assert(
    fc.property(args, (args) => {
      const data = codec.encode({ type: 'things.put', args }, commandVersion)
      const elsewhere = newCodec().decode(Buffer.from(data))
      t.ok(isDeepStrictEqual(codec.decode(data).args, elsewhere.args))
    }),
    { numRuns: 500 },
  )
})

void t.test('what its proposer changes afterwards does not count', async (t) => {
  const codec = newCodec()
  const args = { list: [{ name: 'one' }], value: Buffer.from('a') }
  const data = codec.encode({ type: 'things.put', args }, commandVersion)
  args.list.push({ name: 'two' })
  args.value.fill(0)
  t.ok(isDeepStrictEqual(codec.decode(data).args, newCodec().decode(Buffer.from(data)).args))
})
