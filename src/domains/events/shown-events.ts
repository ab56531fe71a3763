/**
 * Events made of the rows that the buffer keeps, when the first reader wants them: the others, who mostly follow close
 * behind, share them for a while. Without readers none are made.
 */
import type { KeptRow } from './buffer.ts'
import { eventOf, type AnyTopic, type EncodeJson, type TopicEvent } from './topic.ts'

/** Characters of events that are kept for other readers. */
export const shownLengthMax = 8 * 1024 * 1024

export class ShownEvents {
  readonly #encode: EncodeJson
  /** By the row's id; the oldest first. */
  readonly #shown = new Map<number, TopicEvent>()
  #length = 0

  constructor(encode: EncodeJson) {
    this.#encode = encode
  }

  of(topic: AnyTopic, changed: KeptRow, index: number): TopicEvent {
    const known = this.#shown.get(changed.id)
    if (known !== undefined) return known
    const { removed } = changed
    const event = eventOf(topic, { row: changed.row(), removed, index }, this.#encode)
    this.#shown.set(changed.id, event)
    this.#length += event.text.length
    for (const [oldest, { text }] of this.#shown) {
      if (this.#length <= shownLengthMax) break
      this.#shown.delete(oldest)
      this.#length -= text.length
    }
    return event
  }

  /** Of a row that a snapshot reads: for one reader. */
  ofRow(topic: AnyTopic, row: unknown): TopicEvent {
    return eventOf(topic, { row, removed: false, index: null }, this.#encode)
  }
}
