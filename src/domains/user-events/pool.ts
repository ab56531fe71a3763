/** What user events need of gossip and of this agent, declared here; `gossip-pool/user-event-pool.ts` has gossip's form. */
import type { UserEvent, UserEventMessage } from './model.ts'

export interface UserEventPool {
  /** Tells every agent once, this one included. Throws `too_large`. */
  fire(event: UserEventMessage): void
  /** Called for each event that is news here. Returns the way to stop listening. */
  onEvent(listener: (event: UserEvent) => void): () => void
}

/** What the filters of an event are held against. */
export type EventAgent = {
  readonly node: string
  services(): readonly { readonly name: string; readonly tags: readonly string[] }[]
}
