/** Stack traces of a release name source files: positions are found as Node.js' own reader of source maps finds them. */
import { SourceMap } from 'node:module'
import t from 'tap'
import { sourcesOf } from '../../../scripts/release/launch/source-map.ts'
import { PLACES_MAX, sourceNamer } from '../../../scripts/release/launch/stack-traces.ts'

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

function encode(value: number): string {
  let rest = value < 0 ? (-value << 1) | 1 : value << 1
  let text = ''
  do {
    const digit = rest & 31
    rest >>>= 5
    text += letters[rest > 0 ? digit | 32 : digit] ?? ''
  } while (rest > 0)
  return text
}

/** Lines of segments: column, source, line and column there, or the column alone. All from 0. */
type Segment = readonly [number] | readonly [number, number, number, number]

function encodeAll(lines: readonly (readonly Segment[])[]): string {
  const last = [0, 0, 0, 0]
  return lines
    .map((segments) => {
      last[0] = 0
      return segments
        .map((segment) =>
          segment
            .map((value, at) => {
              const text = encode(value - (last[at] ?? 0))
              last[at] = value
              return text
            })
            .join(''),
        )
        .join(',')
    })
    .join(';')
}

t.test('every position of a random map is found as Node.js finds it', async (t) => {
  const random = (below: number) => Math.floor(Math.random() * below)
  const sources = ['a.ts', 'b.ts', 'node_modules/c/c.js']
  const lines = Array.from({ length: 30 }, () => {
    let column = 0
    return Array.from({ length: random(20) }, (): Segment => {
      column += 1 + random(40)
      return [column, random(3), random(5_000), random(300)]
    })
  })
  const mappings = encodeAll(lines)
  const payload = { version: 3, sources, names: [], mappings }
  const known = new SourceMap({ ...payload, file: '', sourcesContent: [], sourceRoot: '' })
  const positions = lines.flatMap((segments, line) =>
    segments.flatMap(([column]) => [
      { line: line + 1, column: column + 1 },
      { line: line + 1, column: column + 1 + random(20) },
    ]),
  )
  const expected = positions.map(({ line, column }) => {
    const entry = known.findEntry(line - 1, column - 1)
    if (!('originalSource' in entry)) throw new Error('no entry')
    const { originalSource: source, originalLine, originalColumn } = entry
    return { source, line: originalLine + 1, column: originalColumn + 1 }
  })
  t.same(sourcesOf(payload, positions), expected, 'as Node.js says', { mappings })
})

t.test('what the map does not know is left as it is', async (t) => {
  const mappings = encodeAll([[[5, 0, 7, 3], [9]], [[0, 0, 8, 0]]])
  const at = (line: number, column: number) =>
    sourcesOf({ sources: ['a.ts'], mappings }, [{ line, column }])[0]
  t.equal(at(1, 2), null, 'before the first mapping')
  t.same(at(1, 6), { source: 'a.ts', line: 8, column: 4 })
  t.equal(at(1, 12), null, 'a mapping to nothing')
  t.same(at(2, 40), { source: 'a.ts', line: 9, column: 1 })
  t.equal(at(3, 1), null, 'after the last line')
  t.equal(sourcesOf({ sources: [], mappings: '' }, [{ line: 1, column: 1 }])[0], null)
})

const file = '/somewhere/muster.cjs'

t.test('a trace names sources in frames of the bundle alone', async (t) => {
  let reads = 0
  const mappings = encodeAll([[], [[0, 0, 41, 6]]])
  const name = sourceNamer(file, () => {
    reads += 1
    return JSON.stringify({ sources: ['src/a.ts'], mappings })
  })
  const trace = [
    'RangeError: no',
    `    at run (${file}:2:30)`,
    '    at run (node:fs:7:1)',
    `    at async ${file}:2:31`,
    `    at run (${file}:9:9)`,
  ].join('\n')
  const expected = [
    'RangeError: no',
    '    at run (src/a.ts:42:7)',
    '    at run (node:fs:7:1)',
    '    at async src/a.ts:42:7',
    `    at run (${file}:9:9)`,
  ].join('\n')
  t.equal(name('Error: no\n    at run (node:fs:7:1)'), 'Error: no\n    at run (node:fs:7:1)')
  t.equal(reads, 0, 'a trace without a frame of the bundle needs no map')
  t.equal(name(trace), expected)
  for (let column = 1; column <= 2 * PLACES_MAX; column += 1) name(`at ${file}:3:${column}`)
  t.equal(name(trace), expected, 'also of a place that was looked up long ago')
  t.equal(reads, 1, 'the map is read once')
})

t.test('a broken map takes nothing but the names', async (t) => {
  for (const map of ['', 'null', '{}', '{"sources": 1}', '{"sources": [], "mappings": 1}']) {
    const trace = `Error: no\n    at run (${file}:1:1)`
    t.equal(sourceNamer(file, () => map)(trace), trace)
  }
})
