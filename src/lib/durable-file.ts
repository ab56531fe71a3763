/** Small files that a start depends on: after a crash there is the old text or the new one, never a part. */
import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Resolves once `text` is what `path` holds after any crash. The file is readable by its owner alone. */
export async function writeDurably(path: string, text: string): Promise<void> {
  const temporary = `${path}.new`
  const file = await open(temporary, 'w', 0o600)
  try {
    // A leftover of an earlier crash keeps the mode it had.
    await file.chmod(0o600)
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(temporary, path)
  await syncFolder(dirname(path))
}

/** A file's name is as much a part of it as what is in it, and lives in the folder. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
