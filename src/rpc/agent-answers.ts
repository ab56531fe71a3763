/** What client agents say to what they are asked is looked at before anyone is given it. */
import type { Answered } from './method.ts'

/** Ends with the first item that cannot be one. */
export function checkedItems(
  items: AsyncIterableIterator<unknown>,
  { checkAnswer }: Answered,
): AsyncIterableIterator<unknown> {
  // No generator: its `return` would wait for an item that may never come.
  const checked: AsyncIterableIterator<unknown> = {
    [Symbol.asyncIterator]: () => checked,
    async next() {
      const result = await items.next()
      if (result.done === true) return result
      try {
        checkAnswer(result.value)
      } catch (error) {
        await items.return?.()
        throw error
      }
      return result
    },
    async return() {
      await items.return?.()
      return { value: undefined, done: true }
    },
  }
  return checked
}
