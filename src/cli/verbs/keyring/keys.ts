/** Data keys as a table. */
import { objectOf, textOf, timeOf } from '../../api/answer.ts'
import type { Json } from '../../../lib/exact-json.ts'
import type { Style } from '../../print/style.ts'
import { table } from '../../print/table.ts'

export function keyTable(keys: readonly Json[], style: Style): string {
  return table(
    style,
    ['Key', 'State', 'Cluster Key', 'Create Time'],
    keys.map((value) => {
      const key = objectOf(value)
      const state = textOf(key, 'State')
      return [
        textOf(key, 'KeyID'),
        state === 'active' ? { text: state, paint: style.good } : state,
        textOf(key, 'ClusterKeyID'),
        timeOf(key, 'CreateTime'),
      ]
    }),
  )
}
