/** User events of Consul's form, over those that gossip carries. */
import type { UserEventPool } from '../domains/user-events/pool.ts'
import { decodeConsulEvent, encodeConsulEvent, type GossipNode } from '../gossip/gossip.ts'

export function userEventPool(
  gossip: Pick<GossipNode, 'sendUserEvent' | 'onUserEvent'>,
): UserEventPool {
  return {
    fire(event) {
      const { name, payload } = encodeConsulEvent(event)
      gossip.sendUserEvent(name, payload, false)
    },
    onEvent: (listener) =>
      gossip.onUserEvent(({ time, name, payload }) => {
        const event = decodeConsulEvent(name, payload)
        if (event !== null) listener({ ...event, time })
      }),
  }
}
