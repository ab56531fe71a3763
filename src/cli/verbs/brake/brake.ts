/** The storm brake as the API has it, and a line for those who look at lost nodes. */
import { codeOf } from '../../../lib/errors.ts'
import { flagOf, integerOf, objectOf } from '../../api/answer.ts'
import type { ApiClient } from '../../api/client.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'

export const brakePath = '/v1/operator/scheduler/brake'

export async function readBrake(client: ApiClient): Promise<JsonObject> {
  return objectOf(await client.get(brakePath))
}

/** '' where it is off, and for those who may not know. */
export async function brakeHint(client: ApiClient): Promise<string> {
  try {
    const brake = await readBrake(client)
    if (!flagOf(brake, 'On')) return ''
    const lost = `${integerOf(brake, 'LostNodes')} of ${integerOf(brake, 'Nodes')} nodes are lost`
    return `The storm brake is on: ${lost}, and their work is not placed elsewhere.\nSee 'muster operator scheduler brake status'.\n`
  } catch (error) {
    const code = codeOf(error)
    if (code === 'permission_denied' || code === 'not_found') return ''
    throw error
  }
}
