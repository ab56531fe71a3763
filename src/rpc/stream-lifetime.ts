/**
 * A sequence that has an owner besides its reader: it can be ended from outside, and its end is noticed exactly once,
 * also when nobody ever read from it (a generator that was never started would tell nobody).
 */
import { onAbort } from '../lib/async.ts'

export type EndableOptions<Item> = {
  /** Makes the source. The source must end, or fail, soon after the signal. */
  readonly open: (signal: AbortSignal) => AsyncIterable<Item> | Promise<AsyncIterable<Item>>
  /** The reader's. */
  readonly signal: AbortSignal
  /** The owner's: to the reader the sequence is then over, without an error. */
  readonly stop: AbortController
  /** Once, when the source failed to open, ended, failed, or is not wanted any more. */
  readonly onEnd: () => void
}

/** Rejects with what `open` rejects with. */
export async function endable<Item>(
  options: EndableOptions<Item>,
): Promise<AsyncIterableIterator<Item>> {
  const { signal, stop } = options
  const stopListening = onAbort(signal, () => stop.abort())
  let over = false
  const end = (): void => {
    if (over) return
    over = true
    stopListening()
    options.onEnd()
  }

  let source: AsyncIterator<Item>
  try {
    source = (await options.open(stop.signal))[Symbol.asyncIterator]()
  } catch (error) {
    end()
    throw error
  }

  const done: IteratorResult<Item> = { value: undefined, done: true }
  const iterator: AsyncIterableIterator<Item> = {
    [Symbol.asyncIterator]: () => iterator,
    async next() {
      if (over) return done
      try {
        const result = await source.next()
        if (result.done === true) end()
        return result
      } catch (error) {
        const ended = stop.signal.aborted
        end()
        if (ended) return done
        throw error
      }
    },
    async return() {
      // Before the source's own `return`, which waits for a `next` that is under way.
      stop.abort()
      end()
      await source.return?.()
      return done
    },
  }
  return iterator
}
