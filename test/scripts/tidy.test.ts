/** The house rules, each with a text that breaks it; and that the project itself keeps what it asks. */
import t from 'tap'
import { complaintsOf, FILE_LINES_MAX, projectFiles } from '../../scripts/tidy.ts'

const header = '/** What lives here. */\n'
// Written in pieces, so that this file keeps the rules it tests.
const machinePath = ['', 'work', 'main', 'x'].join('/')
const homePath = ['', 'home', 'ada', 'x'].join('/')
const registry = ['https:/', ['registry', 'npmjs', 'org'].join('.'), 'a'].join('/')
const alone = ['t', 'only('].join('.')
const left = ['t', 'skip('].join('.')
const skipping = ['sk', 'ip'].join('')
const unfinished = ['TO', 'DO'].join('')
const unchecked = ['@ts', 'ignore'].join('-')

/** Path, text, the line and the words of the complaint; null: none. */
const cases: readonly (readonly [string, string, readonly [number, RegExp] | null])[] = [
  ['src/a.ts', `${header}export {}\n`, null],
  ['src/a.ts', 'export {}\n', [1, /no header/]],
  ['scripts/a.ts', 'export {}\n', [1, /no header/]],
  ['test/a.ts', 'export {}\n', null],
  ['src/a.ts', header + 'x\n'.repeat(FILE_LINES_MAX - 1), null],
  ['src/a.ts', header + 'x\n'.repeat(FILE_LINES_MAX), [FILE_LINES_MAX, /one idea/]],
  ['test/a.ts', 'x\n'.repeat(FILE_LINES_MAX + 1), [FILE_LINES_MAX, /one idea/]],
  ['README.md', 'x\n'.repeat(FILE_LINES_MAX + 1), null],
  ['docs/a.md', `a\nsee ${machinePath}\n`, [2, /path of one machine/]],
  ['src/a.ts', `${header}const a = '${homePath}'\n`, [2, /path of one machine/]],
  ['docs/a.md', 'docs/work/x, https://example.org/work/x, ./work/x\n', null],
  ['.npmrc.txt', `${registry}\n`, [1, /package registry/]],
  ['docs/a.md', `a\n${'<'.repeat(7)} HEAD\n`, [2, /mark of a merge/]],
  ['docs/a.md', `a\n${'>'.repeat(7)} other\n`, [2, /mark of a merge/]],
  ['package-lock.json', '{\n  "resolved": "http://x"\n}\n', [2, /download address/]],
  ['test/a.test.ts', `${alone}'x')\n`, [1, /left out or runs alone/]],
  ['test/a.test.ts', `${left}'x')\n`, [1, /left out or runs alone/]],
  ['test/a.test.ts', `t.test('x', { ${skipping}: true })\n`, [1, /left out/]],
  ['test/a.test.ts', `t.test('x', { ${skipping}: etcd ? false : 'no etcd' })\n`, null],
  ['src/a.ts', `${header}// ${unfinished}: later\n`, [2, /unfinished/]],
  ['docs/a.md', `${unfinished}\n`, null],
  ['test/a.ts', `// ${unchecked}\n`, [1, /switched off/]],
  ['src/a.ts', `${header}setTimeout(run, 5)\n`, [2, /take a Clock/]],
  ['src/a.ts', `${header}import { setTimeout as delay } from 'x'\n`, [2, /take a Clock/]],
  ['src/a.ts', `${header}const now = Date.now()\n`, [2, /take a Clock/]],
  ['src/a.ts', `${header}socket.setTimeout(5)\nconst day = new Date(0)\n`, null],
  ['src/lib/a.ts', `${header}setInterval(run, 5)\n`, null],
  ['src/utils.ts', header, [1, /says nothing/]],
  ['test/support/utils.ts', '', null],
  ['src/a/utils.ts', header, [1, /says nothing/]],
  ['src/a/index.ts', header, [1, /says nothing/]],
]

for (const [path, text, expected] of cases) {
  t.test(`${path}: ${JSON.stringify(text.slice(0, 60))}`, async (t) => {
    const complaints = complaintsOf({ path, text })
    if (expected === null) {
      t.same(complaints, [])
    } else {
      t.equal(complaints.length, 1)
      t.equal(complaints[0]?.line, expected[0])
      t.match(complaints[0]?.text, expected[1])
    }
  })
}

t.test('the files of a project are those people write', async (t) => {
  const root = t.testdir({
    '.git': { 'a.ts': '' },
    node_modules: { 'b.ts': '' },
    src: { 'c.ts': 'c', 'picture.png': '' },
    bin: { muster: '#!/bin/sh' },
    '.ci': { run: '#!/bin/sh' },
    'README.md': '',
  })
  const files = await projectFiles(root)
  t.same(
    files.map((file) => file.path),
    ['.ci/run', 'README.md', 'bin/muster', 'src/c.ts'],
  )
})
