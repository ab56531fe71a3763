/** What can be known of a release for a machine on which it is not tried. */
import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { assertMachine } from '../../../scripts/release/elf.ts'
import { assertInjected } from '../../../scripts/release/executable.ts'
import { bindingOf, platforms } from '../../../scripts/release/project.ts'

t.test('the binding of each platform is for its processors, and for no others', async (t) => {
  for (const platform of platforms) {
    for (const { arch } of platforms) {
      const checked = assertMachine(bindingOf(platform), { arch })
      if (arch === platform.arch) await t.resolves(checked, arch)
      else await t.rejects(checked, { message: /is of machine \d+, and \w+ is \d+$/ }, arch)
    }
  }
})

t.test('what is no ELF file is for none', async (t) => {
  const folder = t.testdir({ empty: '', short: '\x7fELF', text: '#!/bin/sh\necho a program\n' })
  for (const name of ['empty', 'short', 'text']) {
    await t.rejects(assertMachine(join(folder, name), { arch: 'arm64' }), {
      message: /is no ELF file/,
    })
  }
})

t.test('an executable holds its assets whole, and is told of them', async (t) => {
  const folder = t.testdir({ blob: 'all assets' })
  const blob = join(folder, 'blob')
  const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'
  const check = async (content: string) => {
    const output = join(folder, 'output')
    await copyFile(bindingOf({ binding: 'linux-x64/classic-level.node' }), output)
    await writeFile(output, content, { flag: 'a' })
    return assertInjected(output, blob)
  }
  await t.resolves(check(`${fuse}:1 all assets`))
  await t.rejects(check(`${fuse}:0 all assets`), { message: /was not told of its assets$/ })
  await t.rejects(check(`${fuse}:1 all asset`), { message: /does not hold/ })
})
