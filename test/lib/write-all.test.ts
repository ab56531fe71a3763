/** Bytes that a disk takes in parts: all of them are written, or it is said that they are not. */
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { receive } from '../../src/client-agent/runner/artifacts/download.ts'
import { writeAll, writeAllSync } from '../../src/lib/write-all.ts'

const bytes = Buffer.from('0123456789')

/** Takes three bytes at once, and so many in all. */
class SmallDisk {
  text = ''
  readonly #bytesMax: number

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  async write(given: Uint8Array, offset = 0): Promise<{ bytesWritten: number }> {
    const room = this.#bytesMax - this.text.length
    if (room === 0) throw new Error('no space left on device')
    const part = given.subarray(offset, offset + Math.min(3, room))
    this.text += Buffer.from(part).toString()
    return { bytesWritten: part.length }
  }
}

t.test('what the disk takes in parts is written whole', async (t) => {
  const disk = new SmallDisk(10)
  await writeAll(disk, bytes)
  t.equal(disk.text, '0123456789')
  await writeAll(disk, new Uint8Array(0))
  await t.rejects(writeAll(new SmallDisk(7), bytes), { message: 'no space left on device' })
  const path = join(t.testdir(), 'file')
  const fd = openSync(path, 'w')
  writeAllSync(fd, bytes)
  writeAllSync(fd, bytes)
  closeSync(fd)
  t.equal(await readFile(path, 'utf8'), '01234567890123456789')
})

t.test('an artifact is never cut off on a disk that gets full', async (t) => {
  const chunks = async function* () {
    yield bytes
  }
  const { signal } = new AbortController()
  const how = { checksum: null, bytesMax: 100, signal }
  const disk = new SmallDisk(10)
  await receive(disk, chunks(), how)
  t.equal(disk.text, '0123456789')
  await t.rejects(receive(new SmallDisk(7), chunks(), how), { message: 'no space left on device' })
})
