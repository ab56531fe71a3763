import t from 'tap'
import { gather } from '../../src/lib/gather.ts'

async function* pieces(texts: readonly string[], ended: () => void) {
  try {
    for (const text of texts) yield Buffer.from(text)
  } finally {
    ended()
  }
}

t.test('pieces up to the bound are one', async (t) => {
  let ends = 0
  const found = await gather(
    pieces(['ab', '', 'cd'], () => (ends += 1)),
    4,
  )
  t.equal(found?.toString(), 'abcd')
  t.equal(ends, 1)
})

t.test('what is longer is null, and its source is ended', async (t) => {
  let ends = 0
  const found = await gather(
    pieces(['ab', 'cde', 'never asked for'], () => (ends += 1)),
    4,
  )
  t.equal(found, null)
  t.equal(ends, 1)
})
