/**
 * `npm run release`: everything that can be installed, into `dist`. Needs the developers' packages, tar and dpkg-deb.
 */
import { randomUUID } from 'node:crypto'
import { chmod, copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { makeBundle } from './release/bundle.ts'
import { checksums } from './release/checksums.ts'
import { makeDebian } from './release/debian.ts'
import { makeExecutable } from './release/executable.ts'
import { bindingFile } from './release/launch/binding-file.ts'
import { makePackage } from './release/package.ts'
import { bindingName, platforms, root, version } from './release/project.ts'
import { runtimeOf } from './release/runtime.ts'
import { softwareBill } from './release/sbom.ts'

const usage = `Usage: npm run release -- [options]

  --arch x64|arm64   only this platform; repeatable (default: both)
  --form NAME        only package, executable or debian; repeatable (default: all)
  --output DIR       where to (default: dist)
  --help             this text
`

const forms = ['package', 'executable', 'debian'] as const
type Form = (typeof forms)[number]

try {
  const { values } = parseArgs({
    options: {
      arch: { type: 'string', multiple: true, default: [] },
      form: { type: 'string', multiple: true, default: [] },
      output: { type: 'string', default: 'dist' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) process.stdout.write(usage)
  else {
    await release({
      output: resolve(values.output),
      arches: chosen(
        values.arch,
        platforms.map(({ arch }) => arch),
      ),
      forms: chosen(values.form, forms),
    })
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}

async function release(options: {
  readonly output: string
  readonly arches: readonly string[]
  readonly forms: readonly Form[]
}): Promise<void> {
  const { output, arches } = options
  const made = (path: string): void => console.log(relative(process.cwd(), path))
  const bundle = await makeBundle(join(output, 'bundle'))
  made(join(bundle.folder, 'muster.cjs'))
  for (const platform of platforms.filter(({ arch }) => arches.includes(arch))) {
    const folder = join(output, `linux-${platform.arch}`)
    await rm(folder, { recursive: true, force: true })
    await mkdir(folder, { recursive: true })
    const node = await runtimeOf(platform, join(root, '.cache/runtime'))
    const work = join(output, 'work')
    if (options.forms.includes('package')) {
      made(await makePackage(bundle, { platform, node, folder: work, output: folder }))
    }
    const executable = join(folder, 'muster')
    const binding = join(folder, bindingFile)
    if (options.forms.includes('executable') || options.forms.includes('debian')) {
      await makeExecutable(bundle, { platform, node, output: executable })
      made(executable)
      await copyFile(join(bundle.folder, bindingName(platform)), binding)
      await chmod(binding, 0o644)
      made(binding)
    }
    if (options.forms.includes('debian')) {
      made(await makeDebian({ platform, executable, binding, folder: work, output: folder }))
    }
    await rm(work, { recursive: true, force: true })
  }
  const bill = join(output, `muster-${version}.cdx.json`)
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'))
  const identity = { serial: randomUUID(), time: new Date().toISOString() }
  await writeFile(bill, `${JSON.stringify(softwareBill(lock, identity), null, 2)}\n`)
  made(bill)
  made(await checksums(output))
}

/** Those named, or all. */
function chosen<Name extends string>(
  named: readonly string[],
  all: readonly Name[],
): readonly Name[] {
  const unknown = named.find((name) => !all.some((known) => known === name))
  if (unknown !== undefined) {
    throw new Error(`there is no ${JSON.stringify(unknown)}; there are ${all.join(', ')}\n${usage}`)
  }
  return named.length === 0 ? all : all.filter((name) => named.includes(name))
}
