/**
 * The npm package of a platform: the bundle, a launcher, and the Node.js that runs it. It depends on nothing, so that it can be
 * installed without a network, and leaves out the 67 MiB of headers that Node.js's own package has.
 */
import { chmod, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bundle } from './bundle.ts'
import {
  allocatorLines,
  bindingName,
  cacheName,
  cachePurposes,
  description,
  license,
  nodeFlags,
  root,
  runTool,
  type Platform,
  version,
} from './project.ts'

const launcher = 'scripts/release/forms/muster-of-package.sh'

/** Where the launcher looks for Node.js, from the package's folder. */
export const runtimePath = 'lib/node'

export const packageName = `muster-${version}.tgz`

/** Makes `muster-VERSION.tgz` in `output`; `folder` is for what it is made of. */
export async function makePackage(
  bundle: Bundle,
  options: {
    readonly platform: Platform
    /** The Node.js binary. */
    readonly node: string
    readonly folder: string
    readonly output: string
  },
): Promise<string> {
  const { platform, node, folder, output } = options
  await layOutProgram(bundle, platform, folder)
  for (const file of ['LICENSE', 'README.md']) await cp(join(root, file), join(folder, file))
  await cp(node, join(folder, runtimePath))
  await writeFile(
    join(folder, 'package.json'),
    `${JSON.stringify(packageManifest(platform), null, 2)}\n`,
  )
  await runTool(['npm'], ['pack', '--loglevel=error', `--pack-destination=${output}`], {
    cwd: folder,
  })
  return join(output, packageName)
}

/** Fills `folder` with the package's program, which runs once Node.js is at `runtimePath` in there. Returns the launcher. */
export async function layOutProgram(
  bundle: Bundle,
  platform: Platform,
  folder: string,
): Promise<string> {
  await rm(folder, { recursive: true, force: true })
  const library = join(folder, 'lib')
  await mkdir(library, { recursive: true })
  await mkdir(join(folder, 'bin'))
  const files = [
    'start.cjs',
    'muster.cjs',
    bindingName(platform),
    // V8's code is of the machine that makes the release; another's compiles at its start.
    ...(platform.arch === process.arch ? cachePurposes.map(cacheName) : []),
  ]
  for (const file of files) await cp(join(bundle.folder, file), join(library, file))
  const program = join(folder, 'bin', 'muster')
  await writeFile(program, await launcherText())
  await chmod(program, 0o755)
  return program
}

async function launcherText(): Promise<string> {
  const text = await readFile(join(root, launcher), 'utf8')
  return text
    .replace('@ALLOCATOR@', () => allocatorLines.join('\n'))
    .replace('@NODE_FLAGS@', nodeFlags.join(' '))
}

function packageManifest({ arch }: Platform): Readonly<Record<string, unknown>> {
  return {
    name: 'muster',
    version,
    description,
    license,
    bin: { muster: 'bin/muster' },
    os: ['linux'],
    cpu: [arch],
    libc: ['glibc'],
    files: ['bin', 'lib'],
  }
}
