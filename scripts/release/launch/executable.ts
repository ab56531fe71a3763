/**
 * The start of the single executable: everything is an asset in it. A shared library can be loaded from a file only, so
 * LevelDB's binding is written to one of this process's own, and removed as soon as it is loaded.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getAsset, getRawAsset } from 'node:sea'
import { cachePurpose, load, runProgram } from './program.ts'
import { sourceNamer } from './stack-traces.ts'

const file = '/muster/muster.cjs'

runProgram(
  {
    file,
    code: Buffer.from(getRawAsset('code')).toString('latin1'),
    cache: readCache(),
    loadBinding,
    nameSources: sourceNamer(file, () => getAsset('map', 'utf8')),
  },
  require,
)

function readCache(): Buffer | undefined {
  try {
    return Buffer.from(getRawAsset(`${cachePurpose()}-cache`))
  } catch {
    // Made on a machine of another kind: the start takes longer.
    return undefined
  }
}

/** Throws the last folder's error when none takes it, as where all of them are mounted with noexec. */
function loadBinding(): unknown {
  let failure: unknown
  for (const parent of new Set([tmpdir(), '/dev/shm', '/run', '/var/tmp'])) {
    try {
      return loadFrom(parent)
    } catch (error) {
      failure = error
    }
  }
  throw failure
}

/** In a new folder that is closed to others, in a new file: nobody else can put theirs in its place. */
function loadFrom(parent: string): unknown {
  const folder = mkdtempSync(join(parent, 'muster-'))
  try {
    const binding = join(folder, 'classic-level.node')
    writeFileSync(binding, Buffer.from(getRawAsset('binding')), { mode: 0o500, flag: 'wx' })
    return load(binding)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
