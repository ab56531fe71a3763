/** The C library's allocator is set in one place, `bin/muster`; every form of a release takes the values from there. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { allocator, allocatorLines, root } from '../../../scripts/release/project.ts'

const form = (name: string): string =>
  readFileSync(join(root, 'scripts/release/forms', name), 'utf8')

t.test('no form repeats a value', async (t) => {
  for (const name of ['Containerfile', 'muster-of-package.sh', 'debian/muster.service']) {
    t.notMatch(form(name), /MALLOC_\w+=\S*\d/, name)
  }
  t.match(form('muster-of-package.sh'), /^@ALLOCATOR@$/m)
  t.match(form('debian/muster.service'), /@ALLOCATOR@/)
})

t.test('the lines set the values, and leave what is set already', async (t) => {
  const [first = ''] = Object.keys(allocator)
  const shown = (env: NodeJS.ProcessEnv) =>
    Object.fromEntries(
      execFileSync('sh', ['-c', `${allocatorLines.join('\n')}\nenv`], { env, encoding: 'utf8' })
        .split('\n')
        .filter((line) => line.startsWith('MALLOC_'))
        .map((line) => line.split('=') as [string, string]),
    )
  const { PATH } = process.env
  t.same(shown({ PATH }), allocator)
  t.same(shown({ PATH, [first]: '7' }), { ...allocator, [first]: '7' })
})

t.test("the container's launcher is made of the same lines", async (t) => {
  const make = /^RUN (\{ echo .*; \}) > \/launcher/m.exec(form('Containerfile'))?.[1] ?? ''
  const launcher = execFileSync('sh', ['-c', make], { cwd: root, encoding: 'utf8' })
  const lines = ['#!/bin/sh', ...allocatorLines, 'exec /usr/lib/muster/muster "$@"', '']
  t.equal(launcher, lines.join('\n'))
})
