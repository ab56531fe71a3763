/** The start of the npm package: the bundle and what belongs to it are files in this one's folder. */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { cachePurpose, load, runProgram } from './program.ts'
import { sourceNamer } from './stack-traces.ts'

/** How much of the bundle is code; its source map follows. The build puts the number here. */
declare const codeBytes: number

const platform = `${process.platform}-${process.arch}`
const file = join(__dirname, 'muster.cjs')

runProgram(
  {
    file,
    code: readCode(),
    cache: readCache(),
    loadBinding: () => load(join(__dirname, `classic-level-${platform}.node`)),
    nameSources: sourceNamer(file, readMap),
  },
  require,
)

/** Without the source map, which is the larger half. */
function readCode(): string {
  const bytes = Buffer.allocUnsafe(codeBytes)
  const descriptor = openSync(file, 'r')
  const length = readSync(descriptor, bytes, 0, codeBytes, 0)
  closeSync(descriptor)
  if (length !== codeBytes) throw new Error(`${file} is cut short; install it again`)
  return bytes.toString('latin1')
}

/** What follows the code, behind the last comma. */
function readMap(): string {
  const bundle = readFileSync(file, 'latin1')
  return Buffer.from(bundle.slice(bundle.lastIndexOf(',') + 1), 'base64').toString()
}

function readCache(): Buffer | undefined {
  try {
    const name = `${cachePurpose()}-${platform}-${process.version}.cache`
    return readFileSync(join(__dirname, name))
  } catch {
    // Another Node.js, or another machine: the start takes longer.
    return undefined
  }
}
