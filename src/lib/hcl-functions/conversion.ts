/** Functions between types. null stays null. */
import { numberOf, textOf } from '../hcl-value.ts'
import type { HclFunctions } from './call.ts'
import { setOf } from './equality.ts'

export const conversionFunctions: HclFunctions = {
  tobool: {
    parameters: 'value',
    run: (call) => {
      if (call.isNull(0)) return null
      const text = textOf(call.any(0))
      return text === 'true' || text === 'false'
        ? text === 'true'
        : call.fail('expected true or false', 0)
    },
  },
  tolist: {
    parameters: 'list',
    run: (call) => (call.isNull(0) ? null : call.newList(call.list(0))),
  },
  tomap: {
    parameters: 'object',
    run: (call) => (call.isNull(0) ? null : call.newObject(call.object(0))),
  },
  tonumber: {
    parameters: 'value',
    run: (call) =>
      call.isNull(0) ? null : (numberOf(call.any(0)) ?? call.fail('this is no number', 0)),
  },
  toset: { parameters: 'list', run: (call) => (call.isNull(0) ? null : setOf(call.list(0), call)) },
  tostring: { parameters: 'value', run: (call) => (call.isNull(0) ? null : call.text(0)) },
}
