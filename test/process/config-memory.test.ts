/** What memory a server is to get by with, and what of it its caches have. */
import t from 'tap'
import { completeMemory } from '../../src/process/config-memory.ts'
import { load, refusal, smallest } from './config-files.ts'

const MiB = 2 ** 20
const GiB = 2 ** 30

t.test('a target of its own choice is small on a small machine', async (t) => {
  t.equal(completeMemory({}, 16 * GiB).targetBytes, 256 * MiB)
  t.equal(completeMemory({ memory_target: 'auto' }, GiB).targetBytes, 128 * MiB)
  t.equal(completeMemory({}, GiB / 8).targetBytes, 96 * MiB)
})

t.test('caches have a sixteenth each', async (t) => {
  const usual = completeMemory({}, 16 * GiB)
  t.match(usual, { rowCacheBytes: 16 * MiB, blockCacheBytes: 16 * MiB, eventBytes: 16 * MiB })
  t.equal(completeMemory({ memory_target: 128 * MiB }, 16 * GiB).rowCacheBytes, 8 * MiB)
  t.equal(completeMemory({ memory_target: 64 * GiB }, 16 * GiB).rowCacheBytes, 512 * MiB)
})

t.test('a file says it as a size or as "auto", and what it leaves out follows', async (t) => {
  const of = (target: string, more = '') =>
    load(t, {
      'a.hcl': `data_dir = "/data"\nserver {\n  enabled = true\n  memory_target = ${target}\n}\n${more}`,
    })
  const half = await of('"128MiB"')
  t.equal(half.server.memory.targetBytes, 128 * MiB)
  t.equal(half.limits.eventBytesKeptMax, 8 * MiB)
  const said = await of('"128MiB"', 'limits {\n  event_bytes_kept_max = "1MiB"\n}\n')
  t.equal(said.limits.eventBytesKeptMax, MiB)
  t.ok((await of('"auto"')).server.memory.targetBytes >= 96 * MiB)
})

t.test('what cannot be a target is refused with what can', async (t) => {
  const text = smallest.replace('}', '  memory_target = "10MiB"\n}')
  t.match(
    await refusal(t, { 'a.hcl': text }),
    /a\.hcl:4: server\.memory_target: must be "auto", or a size in bytes or text such as "512MiB", from 96MiB to 1024GiB/,
  )
})
