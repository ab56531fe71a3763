/**
 * The single executable: Node.js with the bundle, its source map, V8's code and LevelDB's binding as assets in it, as Node.js
 * documents it ("single executable applications").
 */
import { chmod, copyFile, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { compile, type Bundle } from './bundle.ts'
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

/** Makes `output`. */
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
      binding: join(folder, bindingName(platform)),
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
}
