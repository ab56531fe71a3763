/** The configuration of autopilot: where the API has it, and as people read it. */
import type { JsonObject } from '../../../lib/exact-json.ts'
import { pairs } from '../../print/table.ts'

export const configurationPath = '/v1/operator/autopilot/configuration'

export function settingLines(settings: JsonObject): string {
  return pairs(
    Object.entries(settings).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  )
}
