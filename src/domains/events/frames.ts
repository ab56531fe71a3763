/** Frames: what a stream consists of, a JSON object each, on a line of its own or in a message of its own. */

/** Says that the other side is there. */
export const heartbeat = '{}'

/** As above, and that all up to `index` was told, or is none of this reader's. */
export function progressFrame(index: number): string {
  return `{"Index":${index}}`
}

/** All that one entry changed, as far as it is this reader's. */
export function eventsFrame(index: number, events: readonly string[]): string {
  return `{"Index":${index},"Events":[${events.join(',')}]}`
}

/** Some of what there is in the state at `index`. */
export function snapshotFrame(index: number, events: readonly string[]): string {
  return `{"Index":${index},"Snapshot":true,"Events":[${events.join(',')}]}`
}

/** What came before is all there is at `index`; changes follow. */
export function endOfSnapshotFrame(index: number): string {
  return `{"Index":${index},"EndOfSnapshot":true,"Events":[]}`
}

/** The last one: why there is no more, and up to where all was told; 0 when nothing was. */
export function errorFrame(text: string, index: number): string {
  return JSON.stringify({ Error: text, Index: index })
}
