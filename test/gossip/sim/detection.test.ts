/**
 * The dead are seen in time, whatever else goes on. `DETECTION_SEEDS` runs more of them; the distributions are comments.
 */
import t from 'tap'
import { detect, type Circumstances } from './detection.ts'
import { calm } from './world.ts'

const seeds = Number(process.env['DETECTION_SEEDS'] ?? 10)
const drizzle = { ...calm, lossRate: 0.05 }
const seldom = [1_000, 3_000] as const
const often = [100, 600] as const

// What goes on, and the longest time until all living members see the killed one failed, in seconds.
const table: readonly (readonly [string, Omit<Circumstances, 'members'>, number])[] = [
  ['nothing', {}, 11],
  ['the pool has just formed', { quietMs: 0 }, 11],
  ['two others have just left', { leavers: 2 }, 11],
  ['the whole machine is gone', { unplugged: true }, 11],
  ['one feels ill', { ill: 1 }, 11],
  ['all feel ill', { ill: 9 }, 11],
  ['one feels ill, the whole machine is gone', { ill: 1, unplugged: true }, 13],
  ['all feel ill, the whole machine is gone', { ill: 9, unplugged: true }, 14],
  ['5 % of the packets are lost', { weather: drizzle }, 14],
  ['stops of 200 to 800 ms now and then', { stalls: { ms: [200, 800], everyMs: seldom } }, 14],
  ['stops of 200 to 800 ms half of the time', { stalls: { ms: [200, 800], everyMs: often } }, 14],
  ['stops of 0.5 to 2 s most of the time', { stalls: { ms: [500, 2_000], everyMs: often } }, 24],
]

for (const [what, circumstances, limitS] of table) {
  void t.test(`a killed member is seen by all while ${what}`, (t) => {
    for (const staying of [3, 4, 5, 10]) {
      const members = staying + (circumstances.leavers ?? 0)
      const runs = Array.from({ length: seeds }, (_, seed) => {
        return detect(seed + 1, { members, ...circumstances })
      })
      const all = runs.map(({ allMs }) => allMs / 1_000).sort((a, b) => a - b)
      const at = (share: number): string => (all[Math.floor(share * (seeds - 1))] ?? 0).toFixed(1)
      t.comment(
        `of ${staying}: ${at(0.5)} s median, ${at(0.95)} s p95, ${at(1)} s most of ${seeds}`,
      )
      t.ok((all.at(-1) ?? Infinity) < limitS, `of ${staying}, within ${limitS} s`)
      t.equal(
        runs.reduce((sum, { wronged }) => sum + wronged, 0),
        0,
        'and nobody else',
      )
    }
    t.end()
  })
}
