/** The start of the single executable: everything is an asset in it. */
import { tmpdir } from 'node:os'
import { getAsset, getRawAsset } from 'node:sea'
import { loadBindingFrom } from './binding-file.ts'
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

/** The data folder comes last: what is written there by a process that is killed stays. */
function loadBinding(dataFolders: readonly string[]): unknown {
  return loadBindingFrom({
    program: process.execPath,
    bytes: Buffer.from(getRawAsset('binding')),
    folders: [tmpdir(), '/dev/shm', '/run', '/var/tmp', ...dataFolders],
    load,
  })
}
