/**
 * Runs the bundle as the launchers do, at build time, and writes the code that V8 compiled to the file that CODE_CACHE names:
 * that of an agent on SIGUSR2, that of a command at its end. With TRIED_CACHE instead, it fails where V8 refuses that file.
 * Not part of a release.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { cachePurpose, load, runProgram } from './program.ts'

/** As in package.ts. */
declare const codeBytes: number

const file = join(__dirname, 'muster.cjs')
const { CODE_CACHE: cacheFile, TRIED_CACHE: triedFile } = process.env
const script = runProgram(
  {
    file,
    code: readFileSync(file).toString('latin1', 0, codeBytes),
    cache: triedFile === undefined ? undefined : readFileSync(triedFile),
    loadBinding: () =>
      load(join(__dirname, `classic-level-${process.platform}-${process.arch}.node`)),
  },
  require,
)

if (script.cachedDataRejected === true) throw new Error(`V8 refuses ${triedFile}`)
if (cacheFile !== undefined) {
  process.on('SIGUSR2', () => keep(cacheFile))
  if (cachePurpose() === 'command') process.on('exit', () => keep(cacheFile))
}

/** Flags that Node.js knows and V8 does not. */
const ofNode = ['--max-old-space-size-percentage']

function keep(file: string): void {
  // An agent sets flags of V8. V8 takes the code only where all of them are as they were when it was kept.
  for (const flag of process.execArgv) {
    if (!ofNode.some((name) => flag.startsWith(`${name}=`))) setFlagsFromString(flag)
  }
  writeFileSync(`${file}.new`, script.createCachedData())
  renameSync(`${file}.new`, file)
}
