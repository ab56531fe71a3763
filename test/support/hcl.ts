/** Values of HCL as tests show them, and what stands for names where a file runs. */
import type { HclValue } from '../../src/lib/hcl.ts'
import type { HclScope } from '../../src/lib/hcl-evaluate.ts'

/** Without positions. */
export function plainValue(value: HclValue): unknown {
  switch (value.type) {
    case 'list':
      return value.items.map(plainValue)
    case 'object':
      return Object.fromEntries([...value.entries].map(([key, item]) => [key, plainValue(item)]))
    case 'null':
      return null
    default:
      return value.value
  }
}

/** `attr.…`, `env[…]` and `NOMAD_…` stay as they are written. */
export const runtimeScope: HclScope = ({ root, steps, source, position }) => {
  if (!['attr', 'env'].includes(root) && !root.startsWith('NOMAD_')) return null
  return { value: { type: 'string', value: `\${${source}}`, position }, stepsTaken: steps.length }
}
