/** The Debian package: the single executable with units, user, configuration, completion and manual page. */
import {
  chmod,
  copyFile,
  lstat,
  mkdir,
  readdir,
  readFile,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { completionScripts } from '../../src/cli/verbs/completion.ts'
import { bindingFile } from './launch/binding-file.ts'
import { manPage } from './man-page.ts'
import { allocator, root, runTool, version, type Platform } from './project.ts'

const forms = join(root, 'scripts/release/forms/debian')
const scripts = ['postinst', 'prerm', 'postrm'] as const
const units = ['muster.service', 'muster-client.service'] as const
const configuration = 'etc/muster.d/muster.hcl'

export const debianName = ({ debian }: Platform): string => `muster_${version}_${debian}.deb`

/** Makes the package in `output`; `folder` is for what it is made of. */
export async function makeDebian(options: {
  readonly platform: Platform
  readonly executable: string
  readonly binding: string
  readonly folder: string
  readonly output: string
}): Promise<string> {
  const { platform, executable, binding, folder, output } = options
  await rm(folder, { recursive: true, force: true })
  const put = async (path: string, content: string | Uint8Array, mode = 0o644): Promise<void> => {
    const file = join(folder, path)
    await mkdir(dirname(file), { recursive: true, mode: 0o755 })
    await writeFile(file, content)
    await chmod(file, mode)
  }
  const form = (name: string): Promise<string> => readFile(join(forms, name), 'utf8')

  await mkdir(join(folder, 'usr/bin'), { recursive: true })
  await mkdir(join(folder, 'usr/lib/muster'), { recursive: true })
  await copyFile(executable, join(folder, 'usr/lib/muster/muster'))
  await symlink('../lib/muster/muster', join(folder, 'usr/bin/muster'))
  // On a machine where nothing can be written it is loaded from there.
  await put(`usr/lib/muster/${bindingFile}`, await readFile(binding))
  const settings = Object.entries(allocator).map(([name, value]) => `${name}=${value}`)
  for (const name of units) {
    const unit = (await form(name)).replace('@ALLOCATOR@', settings.join(' '))
    await put(`lib/systemd/system/${name}`, unit)
  }
  await put(configuration, await form('muster.hcl'))
  await put('usr/share/bash-completion/completions/muster', completionScripts['bash'] ?? '')
  await put('usr/share/man/man1/muster.1.gz', gzipSync(await manPage(), { level: 9 }))
  await put('usr/share/doc/muster/copyright', await readFile(join(root, 'LICENSE'), 'utf8'))

  await put('DEBIAN/conffiles', `/${configuration}\n`)
  for (const script of scripts) await put(`DEBIAN/${script}`, await form(script), 0o755)
  const control = (await form('control'))
    .replace('@VERSION@', version)
    .replace('@ARCHITECTURE@', platform.debian)
    .replace('@KILOBYTES@', String(await kilobytes(folder)))
  await put('DEBIAN/control', control)
  const file = join(output, debianName(platform))
  await rm(file, { force: true })
  // Most of it is Node.js: xz takes a minute, and saves a quarter.
  const compression = ['-Zgzip', '-z6']
  await runTool(['dpkg-deb'], [...compression, '--root-owner-group', '--build', folder, file])
  return file
}

async function kilobytes(folder: string): Promise<number> {
  let bytes = 0
  for (const name of await readdir(folder, { recursive: true })) {
    const { size, isFile } = await sizeOf(join(folder, name))
    if (isFile) bytes += size
  }
  return Math.ceil(bytes / 1024)
}

async function sizeOf(path: string): Promise<{ readonly size: number; readonly isFile: boolean }> {
  const found = await lstat(path)
  return { size: found.size, isFile: found.isFile() }
}
