/**
 * Runs the bundle as the launchers do, at build time, and writes the code that V8 compiled to the file that CODE_CACHE names:
 * that of an agent on SIGUSR2, that of a command at its end. Not part of a release.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cachePurpose, load, runProgram } from './program.ts'

/** As in package.ts. */
declare const codeBytes: number

const file = join(__dirname, 'muster.cjs')
const cacheFile = process.env['CODE_CACHE'] ?? ''
const script = runProgram(
  {
    file,
    code: readFileSync(file).toString('latin1', 0, codeBytes),
    cache: undefined,
    loadBinding: () =>
      load(join(__dirname, `classic-level-${process.platform}-${process.arch}.node`)),
  },
  require,
)

process.on('SIGUSR2', keep)
if (cachePurpose() === 'command') process.on('exit', keep)

function keep(): void {
  writeFileSync(`${cacheFile}.new`, script.createCachedData())
  renameSync(`${cacheFile}.new`, cacheFile)
}
