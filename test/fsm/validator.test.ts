import t from 'tap'
import { Type } from 'typebox'
import { Validator } from '../../src/fsm/validator.ts'
import { heapBytes } from '../support/heap.ts'

const Row = Type.Object(
  {
    name: Type.Refine(
      Type.String({ minLength: 1 }),
      (name) => name !== 'no',
      () => 'must not be no',
    ),
    counts: Type.Optional(Type.Array(Type.Integer({ minimum: 0 }))),
  },
  { additionalProperties: false },
)

t.test('a value is accepted or refused with its first fault', async (t) => {
  const rows = [
    [{ name: 'a' }, null],
    [{ name: 'a', counts: [1, 2] }, null],
    [{}, ['', 'must have required properties name']],
    [{ name: '' }, ['/name', 'must not have fewer than 1 characters']],
    [{ name: 'no' }, ['/name', 'must not be no']],
    [{ name: 'a', counts: [-1] }, ['/counts/0', 'must be >= 0']],
    [{ name: 'a', counts: [0.5] }, ['/counts/0', 'must be integer']],
    [7, ['', 'must be object']],
  ] as const
  const validator = new Validator(Row)
  for (const [value, expected] of rows) {
    const shown = JSON.stringify(value)
    t.equal(validator.accepts(value), expected === null, shown)
    const fault = validator.faultOf(value)
    t.same(fault === null ? null : [fault.path, fault.text], expected, shown)
  }
})

t.test('the text that a check is compiled from is not kept', async (t) => {
  const schemas = Array.from({ length: 20 }, (_, n) =>
    Type.Object(
      Object.fromEntries(
        Array.from({ length: 100 }, (_, at) => [`f${n}x${at}`, Type.Array(Type.String())]),
      ),
    ),
  )
  const compile = () =>
    schemas.map((schema) => {
      const validator = new Validator(schema)
      validator.accepts({})
      return validator
    })
  const before = heapBytes()
  const validators = compile()
  const kept = (heapBytes() - before) / validators.length
  t.ok(kept < 100_000, `${kept.toFixed(0)} bytes for each`)
})
