/** What the routes of tasks share: which allocation they are about, and which agent is asked. */
import type { ApiRequest, PlaceOptions } from '../../api/route.ts'
import { text } from '../../api/shape.ts'
import { taskMethods } from './methods.ts'
import type { TaskRight } from './rights.ts'
import { agentTasks } from './services.ts'

/** That an agent serves of its own allocations. */
export const agentPaths = ['/v1/client/fs/', '/v1/client/allocation/']

export const exampleId = '5456bd7a-9fc0-c0dd-6131-cbee77f57577'
export const named = { alloc_id: text('The whole ID of the allocation') }

export function allocationOf(request: ApiRequest): string {
  return request.parameter('alloc_id').toLowerCase()
}

/**
 * A server asks the agent of the node; an agent has the allocation itself. Neither goes on where the caller has not the right: this comes
 * before all else that a request says is looked at.
 */
export async function placeOf(request: ApiRequest, access: TaskRight): Promise<PlaceOptions> {
  const args = { allocation: allocationOf(request), access }
  if (request.service(agentTasks) !== null) {
    await request.call(taskMethods.check, args)
    return {}
  }
  const { value } = await request.query(taskMethods.place, args)
  return { node: value }
}
