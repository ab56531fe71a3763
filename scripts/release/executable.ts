/**
 * The single executable: Node.js with the bundle, its source map, V8's code and LevelDB's binding as assets in it, as Node.js
 * documents it ("single executable applications").
 */
import { chmod, copyFile, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { compile, type Bundle } from './bundle.ts'
import { assertMachine } from './elf.ts'
import {
  bindingName,
  cacheName,
  cachePurposes,
  nodeFlags,
  runTool,
  tool,
  type Platform,
} from './project.ts'

/** By which Node.js knows that something was put into it. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'

/** Makes `output`. Throws where Node.js or the binding is of another platform, or the assets are not in it afterwards. */
export async function makeExecutable(
  bundle: Bundle,
  options: {
    readonly platform: Platform
    /** The Node.js binary. */
    readonly node: string
    readonly output: string
  },
): Promise<void> {
  const { platform, node, output } = options
  const { folder } = bundle
  const binding = join(folder, bindingName(platform))
  await assertMachine(node, platform)
  await assertMachine(binding, platform)
  const main = join(folder, 'executable.cjs')
  await compile('scripts/release/launch/executable.ts', main, [])
  const code = join(folder, 'muster.code')
  await writeFile(code, (await readFile(join(folder, 'muster.cjs'))).subarray(0, bundle.codeBytes))
  const blob = join(folder, 'executable.blob')
  const config = join(folder, 'executable.json')
  const own = platform.arch === process.arch
  const settings = {
    main,
    output: blob,
    disableExperimentalSEAWarning: true,
    useSnapshot: false,
    useCodeCache: false,
    execArgv: nodeFlags,
    execArgvExtension: 'none',
    assets: {
      code,
      map: join(folder, 'muster.cjs.map'),
      binding,
      // V8's code is of the machine that makes the release.
      ...(own &&
        Object.fromEntries(
          cachePurposes.map((purpose) => [`${purpose}-cache`, join(folder, cacheName(purpose))]),
        )),
    },
  }
  await writeFile(config, JSON.stringify(settings, null, 2))
  await runTool([process.execPath], ['--experimental-sea-config', config])
  await rm(output, { force: true })
  await copyFile(node, output)
  await chmod(output, 0o755)
  await runTool(tool('postject'), [output, 'NODE_SEA_BLOB', blob, '--sentinel-fuse', fuse])
  await assertMachine(output, platform)
  await assertInjected(output, blob)
}

/** Most executables are for machines on which they are not tried. */
export async function assertInjected(output: string, blob: string): Promise<void> {
  const program = await readFile(output)
  if (!program.includes(`${fuse}:1`)) throw new Error(`${output} was not told of its assets`)
  if (!program.includes(await readFile(blob))) throw new Error(`${output} does not hold ${blob}`)
}
