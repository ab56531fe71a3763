/** Lists that come in pages. */

/**
 * The items of all pages, for lists that are known to be short. `most`: the pages are read until there are so many, and no more
 * are returned.
 */
export async function allOf<Item>(
  pages: AsyncIterable<readonly Item[]>,
  most = Infinity,
): Promise<readonly Item[]> {
  const items: Item[] = []
  for await (const page of pages) {
    items.push(...page)
    if (items.length >= most) return items.slice(0, most)
  }
  return items
}
