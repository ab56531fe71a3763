/** How a container ended, written down before it is removed: an agent that is killed in between knows it afterwards. */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { Type, type Static } from 'typebox'
import { Check } from 'typebox/schema'

const Note = Type.Object({
  id: Type.String(),
  code: Type.Integer(),
  oomKilled: Type.Boolean(),
  error: Type.String(),
})
export type Note = Readonly<Static<typeof Note>>

export async function writeNote(path: string, note: Note): Promise<void> {
  const temporary = `${path}.new`
  await writeFile(temporary, JSON.stringify(note), { mode: 0o600 })
  await rename(temporary, path)
}

/** Null: there is none of this container. */
export async function readNote(path: string, id: string): Promise<Note | null> {
  try {
    const value: unknown = JSON.parse(await readFile(path, 'utf8'))
    return Check(Note, value) && value.id === id ? value : null
  } catch {
    return null
  }
}
