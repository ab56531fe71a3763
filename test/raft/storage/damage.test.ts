/** Torn tails are cut, damage stops the server, files of a newer program are left alone. */
import t from 'tap'
import { codeOf, textOf } from '../../../src/lib/errors.ts'
import { aligned, encodeSegmentHeader } from '../../../src/raft/storage/frame.ts'
import { entryOverheadBytes } from '../../../src/raft/storage/record.ts'
import { SimDisk } from '../../sim/disk.ts'
import {
  append,
  brief,
  copyOf,
  entries,
  entry,
  hardState,
  openOn,
  overwrite,
  reopened,
  snapshotMeta,
  vote,
} from './harness.ts'

const firstName = 'log-0000000000000001.muster'
const secondName = 'log-0000000000000002.muster'

/** The end of what is not zero. */
function usedBytes(content: Uint8Array): number {
  return content.findLastIndex((byte) => byte !== 0) + 1
}

/** A disk with this content in place of one file's. */
function withContent(sim: SimDisk, name: string, content: Uint8Array): SimDisk {
  const copy = copyOf(sim)
  copy.place(name, content)
  return copy
}

async function failure(sim: SimDisk): Promise<{ code: string; text: string }> {
  try {
    await reopened(sim)
  } catch (error) {
    return { code: codeOf(error), text: textOf(error) }
  }
  return { code: 'none', text: '' }
}

await t.test(
  'a last frame of any length that lacks its last sectors is cut, and the log goes on there',
  async (t) => {
    for (let dataBytes = 1; dataBytes < 1600; dataBytes += 61) {
      const sim = new SimDisk()
      const { store } = await openOn(sim)
      await store.write([append(...entries(1, 3, 1)), vote(hardState(1, 's1'))])
      const before = usedBytes(sim.content(firstName))
      await store.write([append(...entries(4, 4, 1, dataBytes)), vote(hardState(2, 's2'))])
      await store.close()
      const whole = sim.content(firstName)
      const after = usedBytes(whole)
      for (let length = before; length < after; length = length - (length % 512) + 512) {
        const torn = whole.slice().fill(0, length)
        const copy = withContent(sim, firstName, torn)
        const opened = await openOn(copy)
        const found = opened.recovered
        if (found.lastIndex !== 3 || found.hardState.term !== 1) {
          t.fail(`${dataBytes} bytes, torn at ${length}: ended at ${found.lastIndex}`)
        }
        await opened.store.write([append(...entries(4, 5, 3))])
        await opened.store.close()
        const again = await reopened(copy)
        const expected = brief([...entries(1, 3, 1), ...entries(4, 5, 3)])
        if (brief(again.tail).join() !== expected.join()) {
          t.fail(`${dataBytes} bytes, torn at ${length}, then written: ${brief(again.tail).join()}`)
        }
      }
    }
    t.pass()
  },
)

await t.test(
  'a file that ends within its last frame is a torn tail, wherever it ends',
  async (t) => {
    const sim = new SimDisk()
    const { store } = await openOn(sim)
    await store.write([append(...entries(1, 3, 1))])
    const before = usedBytes(sim.content(firstName))
    await store.write([append(...entries(4, 6, 1, 300))])
    await store.close()
    const whole = sim.content(firstName)
    for (let length = before; length < usedBytes(whole); length++) {
      const copy = withContent(sim, firstName, whole.slice(0, length))
      const { store, recovered } = await openOn(copy)
      if (recovered.lastIndex !== 3) t.fail(`cut at ${length}: ended at ${recovered.lastIndex}`)
      await store.write([append(entry(4, 2, Buffer.alloc(2000, 1)))])
      await store.close()
      const again = await reopened(copy)
      if (again.lastIndex !== 4)
        t.fail(`cut at ${length}, then written: ended at ${again.lastIndex}`)
    }
    t.pass()
  },
)

await t.test('any set of missing sectors of the last frame is a torn tail', async (t) => {
  const sim = new SimDisk()
  const { store } = await openOn(sim)
  await store.write([append(...entries(1, 2, 1))])
  const before = usedBytes(sim.content(firstName))
  await store.write([append(...entries(3, 5, 1, 700))])
  await store.close()
  const whole = sim.content(firstName)
  const after = usedBytes(whole)
  const sectors = Math.ceil(after / 512)
  t.ok(sectors >= 4)
  for (let missing = 1; missing < 2 ** sectors; missing++) {
    const torn = whole.slice()
    for (let sector = 0; sector < sectors; sector++) {
      if ((missing & (1 << sector)) === 0) continue
      const from = Math.max(before, sector * 512)
      torn.fill(0, from, Math.max(from, (sector + 1) * 512))
    }
    const { lastIndex } = await reopened(withContent(sim, firstName, torn))
    if (lastIndex !== 2) t.fail(`missing sectors ${missing.toString(2)}: ended at ${lastIndex}`)
  }
})

await t.test('a flipped byte anywhere in an acknowledged log stops the server', async (t) => {
  const sim = new SimDisk()
  const { store } = await openOn(sim)
  await store.write([vote(hardState(1, 's1'))])
  await store.write([append(...entries(1, 4, 1))])
  await store.write([overwrite(...entries(3, 5, 2))])
  await store.write([append(...entries(6, 7, 2, 600))])
  await store.write([append(entry(8, 2, '\x01'.repeat(900)))])
  await store.close()
  const content = sim.content(firstName)
  const end = usedBytes(content)
  for (let at = 0; at < end; at++) {
    const copy = copyOf(sim)
    copy.corrupt(firstName, at, 1 << (at % 8))
    const { code, text } = await failure(copy)
    // Padding between frames and reserved bytes hold nothing.
    if (code === 'none') {
      if (content[at] !== 0) t.fail(`byte ${at} was flipped and nobody noticed`)
    } else if (code !== 'corrupt' || !text.includes(firstName) || !text.includes('at byte')) {
      t.fail(`byte ${at}: ${code} ${text}`)
    }
  }
  t.pass()
})

await t.test('a flipped byte in an older file stops the server', async (t) => {
  const sim = new SimDisk()
  const { store } = await openOn(sim)
  for (let index = 1; index <= 60; index++)
    await store.write([append(entry(index, 1, '\x01'.repeat(150)))])
  await store.close()
  for (let at = 0; at < usedBytes(sim.content(firstName)); at += 37) {
    const copy = copyOf(sim)
    copy.corrupt(firstName, at)
    const { code, text } = await failure(copy)
    if (code !== 'corrupt' && copy.content(firstName)[at] !== 0xff) t.fail(`byte ${at}: ${code}`)
    if (code === 'corrupt' && !text.includes(firstName)) t.fail(`byte ${at}: ${text}`)
  }
  t.pass()
})

await t.test('an entry that rots while the log is open is refused when it is read', async (t) => {
  const sim = new SimDisk()
  const { store } = await openOn(sim)
  await store.write([append(...entries(1, 3, 1, 300))])
  sim.corrupt(firstName, usedBytes(sim.content(firstName)) - 10)
  t.equal((await store.read(1, 2, 1e6)).length, 2)
  await t.rejects(store.read(1, 3, 1e6), { code: 'corrupt', message: new RegExp(firstName) })
  await store.close()
})

await t.test('what looks like a frame in the data of a torn frame is not one', async (t) => {
  const sim = new SimDisk()
  const { store } = await openOn(sim)
  await store.write([append(entry(1, 1))])
  const other = new SimDisk()
  const forger = await openOn(other, { segmentBytes: 65_536, newSalt: () => 0xbad })
  for (let index = 1; index <= 9; index++) await forger.store.write([append(entry(index, 1))])
  const forged = other.content(firstName).subarray(64, usedBytes(other.content(firstName)))
  const at = aligned(usedBytes(sim.content(firstName)))
  // Frames lie at multiples of 32; the data lies behind the frame's header and the entry's overhead.
  const shift = 32 - (entryOverheadBytes % 32)
  await store.write([append(entry(2, 1, Buffer.concat([Buffer.alloc(shift + 448, 1), forged])))])
  await store.close()
  await forger.store.close()
  const torn = sim.content(firstName)
  torn.fill(0, at, 512)
  const { lastIndex } = await reopened(withContent(sim, firstName, torn))
  t.equal(lastIndex, 1)
})

await t.test('files of a newer program are refused and not touched', async (t) => {
  const sim = new SimDisk()
  const { store } = await openOn(sim)
  await store.write([append(entry(1, 1))])
  await store.close()
  const content = sim.content(firstName)
  content.set(encodeSegmentHeader({ version: 2, sequence: 1, salt: 7 }))
  sim.place(firstName, content)
  const { code, text } = await failure(sim)
  t.equal(code, 'incompatible')
  t.match(text, firstName)
  t.match(text, /format 2 .* up to 1/)
  t.same(sim.content(firstName), content)
})

await t.test('a missing file between others is damage', async (t) => {
  const sim = new SimDisk()
  const { store } = await openOn(sim)
  for (let index = 1; index <= 90; index++)
    await store.write([append(entry(index, 1, Buffer.alloc(150, 1)))])
  await store.close()
  t.ok(sim.names().length >= 4)
  const without = (missing: string) => {
    const copy = new SimDisk()
    for (const name of sim.names()) if (name !== missing) copy.place(name, sim.content(name))
    return copy
  }
  const middle = await failure(without(secondName))
  t.equal(middle.code, 'corrupt')
  t.match(middle.text, secondName)
  const first = await failure(without(firstName))
  t.equal(first.code, 'corrupt')
  t.match(first.text, 'entries are missing')
})

await t.test('a file that was swapped for another is damage', async (t) => {
  const sim = new SimDisk()
  const { store } = await openOn(sim)
  for (let index = 1; index <= 60; index++)
    await store.write([append(entry(index, 1, Buffer.alloc(150, 1)))])
  await store.close()
  sim.place(firstName, sim.content(secondName))
  const { code, text } = await failure(sim)
  t.equal(code, 'corrupt')
  t.match(text, firstName)
})

await t.test(
  'foreign files in the folder are left alone, unfinished ones are removed',
  async (t) => {
    const sim = new SimDisk()
    sim.place('lost+found', Buffer.from('x'))
    sim.place('log-0000000000000003.muster.preparing', Buffer.alloc(100))
    sim.place('log-3.muster', Buffer.from('x'))
    await reopened(sim)
    t.strictSame(sim.names(), [firstName, 'log-3.muster', 'lost+found'])
  },
)

await t.test('a log whose first write was torn begins anew', async (t) => {
  const sim = new SimDisk()
  const { store } = await openOn(sim)
  await store.reset(snapshotMeta(50, 2), hardState(3))
  await store.close()
  const torn = sim.content(firstName)
  torn.fill(0, 64, 128)
  const { lastIndex, hardState: state } = await reopened(withContent(sim, firstName, torn))
  t.equal(lastIndex, 0)
  t.equal(state.term, 0)
})
