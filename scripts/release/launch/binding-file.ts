/**
 * Where the single executable has LevelDB's binding loaded from: a shared library can be loaded from a file only. The packages
 * have that file beside the executable, for machines on which nothing can be written, or nothing that is written be executed.
 * Elsewhere the binding in the executable is written to a file of this process's own, and removed as soon as it is loaded.
 */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Beside the executable, and below the other folders. */
export const bindingFile = 'classic-level.node'

/** What others than the owner may not do to a file that is loaded. */
const writableByOthers = 0o022

export type BindingSource = {
  /** The executable. */
  readonly program: string
  /** The binding that is in it. */
  readonly bytes: Uint8Array
  /** Where a file may be written if there is none beside the executable. The first that takes it is used. */
  readonly folders: readonly string[]
  /** Throws where the system refuses the file. */
  readonly load: (file: string) => unknown
}

/** Throws an error without a system code, and without a stack: it is neither a full disk's nor a defect. It tells what was tried. */
export function loadBindingFrom({ program, bytes, folders, load }: BindingSource): unknown {
  const beside = join(dirname(program), bindingFile)
  const attempts = new Map<string, () => unknown>([
    [beside, () => load(checked(beside, program, bytes))],
  ])
  for (const folder of folders) attempts.set(folder, () => loadBelow(folder, bytes, load))
  const refusals: string[] = []
  for (const [place, attempt] of attempts) {
    try {
      return attempt()
    } catch (error) {
      refusals.push(`${place}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  const failure = new Error(
    `the shared library of LevelDB cannot be loaded from any folder: set TMPDIR to one that can be written and is not mounted with noexec, or put the release's ${bindingFile} beside the executable (${refusals.join('; ')})`,
  )
  delete failure.stack
  throw failure
}

/** The file, if it is what is in the executable, and nobody else can make something else of it. */
function checked(file: string, program: string, bytes: Uint8Array): string {
  const { uid, mode } = statSync(file)
  if ((uid !== 0 && uid !== statSync(program).uid) || (mode & writableByOthers) !== 0) {
    throw new Error('others than the owner of the executable may write to it')
  }
  if (!readFileSync(file).equals(bytes)) throw new Error('it is of another release')
  return file
}

/** In a new folder that is closed to others, in a new file: nobody else can put theirs in its place. */
function loadBelow(parent: string, bytes: Uint8Array, load: BindingSource['load']): unknown {
  const folder = mkdtempSync(join(parent, 'muster-'))
  try {
    const file = join(folder, bindingFile)
    writeFileSync(file, bytes, { mode: 0o500, flag: 'wx' })
    return load(file)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
