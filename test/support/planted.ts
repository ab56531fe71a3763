/** Planted secrets, and the places where they are looked for. */
import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readArchive } from '../../src/domains/operator/archive.ts'

/** Random, so that no compression shortens it. */
export function planted(what: string): string {
  return `${what}${randomBytes(24).toString('hex')}`
}

/** Those that the bytes hold, as they are or in a common encoding. */
export function heldBy(bytes: Buffer, secrets: readonly string[]): readonly string[] {
  return secrets.filter((text) => formsOf(text).some((form) => bytes.includes(form)))
}

/** Base64 is without its last quantum, whose letters depend on what follows. */
function formsOf(text: string): readonly Buffer[] {
  const bytes = Buffer.from(text)
  return [
    bytes,
    Buffer.from(text, 'utf16le'),
    Buffer.from(bytes.toString('hex')),
    Buffer.from(bytes.toString('base64').slice(0, -4)),
  ]
}

export async function filesUnder(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
}

/** `file: secret` of each file that holds one. */
export async function foundUnder(
  folder: string,
  secrets: readonly string[],
): Promise<readonly string[]> {
  const found: string[] = []
  for (const file of await filesUnder(folder)) {
    const content = await readFile(file).catch(() => Buffer.alloc(0))
    found.push(...heldBy(content, secrets).map((text) => `${file}: ${text}`))
  }
  return found
}

/** Of an archive of this program's own form, as it is and with its blocks unpacked. */
export async function heldByArchive(
  archive: Buffer,
  secrets: readonly string[],
): Promise<readonly string[]> {
  const found = [...heldBy(archive, secrets)]
  for await (const part of readArchive(inPieces(archive))) {
    const bytes =
      part.type === 'block' ? Buffer.from(part.block) : Buffer.from(JSON.stringify(part))
    found.push(...heldBy(bytes, secrets))
  }
  return found
}

async function* inPieces(bytes: Buffer): AsyncGenerator<Buffer> {
  const pieceBytes = 64 * 1024
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
}
