/** SHA256SUMS of everything that is handed out, as `sha256sum --check` reads it. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** What is handed out; the bundle is in all of it. */
const handedOut = /^(linux-[^/]+\/[^/]+|[^/]+\.cdx\.json)$/

export async function checksums(folder: string): Promise<string> {
  const names = await readdir(folder, { recursive: true })
  const lines: string[] = []
  for (const name of names.filter((name) => handedOut.test(name)).sort()) {
    lines.push(`${await sha256(join(folder, name))}  ${name}\n`)
  }
  const file = join(folder, 'SHA256SUMS')
  await writeFile(file, lines.join(''))
  return file
}

async function sha256(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file)) hash.update(chunk)
  return hash.digest('hex')
}
