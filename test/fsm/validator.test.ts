import t from 'tap'
import { Type } from 'typebox'
import { Validator } from '../../src/fsm/validator.ts'

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
