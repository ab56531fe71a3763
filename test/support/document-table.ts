/** A table in a document that says what the program does: compared by the test that knows, and written by it on request. */
import { readFile, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

export type DocumentTable = {
  readonly document: URL
  /** Of the table: it stands between two comments with its name. */
  readonly name: string
  /** Path of the test. */
  readonly writtenBy: string
  /** The first one is the head. */
  readonly rows: readonly (readonly string[])[]
}

/** Fails when the document has another table. `TAP_SNAPSHOT=1` writes it anew. */
export async function documentTable(
  t: Test,
  { document, name, writtenBy, rows }: DocumentTable,
): Promise<void> {
  const table = markdownTable(rows)
  const begin = `<!-- ${name}: written by ${writtenBy} -->`
  const page = await readFile(document, 'utf8')
  const from = page.indexOf(begin) + begin.length
  const to = page.indexOf(`<!-- end of ${name} -->`)
  if (process.env['TAP_SNAPSHOT'] === '1') {
    await writeFile(document, `${page.slice(0, from)}\n\n${table}\n\n${page.slice(to)}`)
    return
  }
  const file = basename(fileURLToPath(document))
  t.equal(page.slice(from, to).trim(), table, `docs/${file} says what holds`)
}

/** As the formatter would write it. */
function markdownTable(rows: readonly (readonly string[])[]): string {
  const [head = [], ...body] = rows
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const lines = [head, head.map((_, column) => '-'.repeat(widths[column] ?? 0)), ...body]
  return lines
    .map((row) => `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`)
    .join('\n')
}
