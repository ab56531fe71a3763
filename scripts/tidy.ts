/**
 * House rules no linter knows. `npm test -- --only tidy` runs them; each complaint names file, line and what would be right.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

export const FILE_LINES_MAX = 450
const FILE_BYTES_MAX = 4 * 1024 * 1024

const skippedFolders: ReadonlySet<string> = new Set([
  'node_modules',
  '.git',
  '.cache',
  '.muster',
  '.tap',
  'dist',
])
const readable = /(^|\/)(bin\/[^/]+|\.ci\/[^/]+|[^/]+\.(ts|mjs|js|json|md|proto|sh|txt))$/

export type TidyFile = { readonly path: string; readonly text: string }
export type Complaint = { readonly path: string; readonly line: number; readonly text: string }

type LineRule = {
  readonly applies: RegExp
  readonly pattern: RegExp
  readonly text: string
}

/** Patterns are written so that they do not match themselves. */
const lineRules: readonly LineRule[] = [
  {
    applies: /./,
    pattern: /(?<![\w.~-])\/(work|root|home\/[a-z][\w-]*)\/[\w.@-]/,
    text: 'a path of one machine; write it relative to the project',
  },
  {
    applies: /./,
    pattern: /\b(registry|npm)\.(npmjs|yarnpkg)\.|\/\/registry\.[a-z]/,
    text: 'the host of a package registry; where packages come from is the machine’s business',
  },
  {
    applies: /./,
    pattern: /^(<{7}|>{7})( |$)/,
    text: 'a mark of a merge; keep one of both sides',
  },
  {
    applies: /^package-lock\.json$/,
    pattern: /"resolved": "http/,
    text: 'a download address; install with omit-lockfile-registry-resolved',
  },
  {
    applies: /\.test\.ts$/,
    pattern: /\bt\w*\.(only|skip|todo)\(|\b(only|skip|todo): *(true\b|['"`])/,
    text: 'a test that is left out or runs alone; mend it or delete it',
  },
  {
    applies: /^(src|scripts|bin)\//,
    pattern: /\b(TO[D]O|FIX[M]E|XX[X])\b/,
    text: 'an unfinished mark; finish it, or say in the documents what is missing',
  },
  {
    applies: /^(src|scripts|test)\//,
    pattern: /@ts-(ignore|nocheck)\b|\b(eslint|oxlint)-disable\b/,
    text: 'a check switched off; make the code say it',
  },
  {
    applies: /^src\/(?!lib\/)/,
    pattern: /(?<!\.)\bset(Timeout|Interval)\b|\bnew Date\(\)|\bDate\.now\b/,
    text: 'a timer or a clock of the system; take a Clock, and wait by lib/async.ts',
  },
]

/** `snapshot.json` and the like are data, and so is the lock file: only code has to be short. */
const code = /\.(ts|mjs)$/
const vagueName = /\/(utils?|helpers?|types|common|misc|index)\.ts$/

export function complaintsOf(file: TidyFile): readonly Complaint[] {
  const complaints: Complaint[] = []
  const add = (line: number, text: string): void => {
    complaints.push({ path: file.path, line, text })
  }
  const lines = file.text.split('\n')
  for (const rule of lineRules) {
    if (!rule.applies.test(file.path)) continue
    lines.forEach((line, index) => {
      if (rule.pattern.test(line)) add(index + 1, rule.text)
    })
  }
  if (code.test(file.path)) {
    const count = file.text.endsWith('\n') ? lines.length - 1 : lines.length
    if (count > FILE_LINES_MAX) {
      add(FILE_LINES_MAX, `${count} lines; a file is one idea of at most ${FILE_LINES_MAX}`)
    }
    if (/^(src|scripts)\//.test(file.path) && !/^\/(\*|\/)/.test(file.text)) {
      add(1, 'no header; begin with a comment that says what lives here')
    }
  }
  if (file.path.startsWith('src/') && vagueName.test(file.path)) {
    add(1, 'a name that says nothing; name the file after its one idea')
  }
  return complaints
}

/** Everything of the project that people write, in a fixed order. */
export async function projectFiles(root: string): Promise<readonly TidyFile[]> {
  const files: TidyFile[] = []
  const visit = async (folder: string): Promise<void> => {
    const entries = await readdir(folder, { withFileTypes: true })
    entries.sort((left, right) => (left.name < right.name ? -1 : 1))
    for (const entry of entries) {
      const path = join(folder, entry.name)
      const name = relative(root, path).split(sep).join('/')
      if (entry.isDirectory()) {
        if (!skippedFolders.has(entry.name)) await visit(path)
      } else if (entry.isFile() && readable.test(name)) {
        const text = await readFile(path, 'utf8')
        if (text.length <= FILE_BYTES_MAX) files.push({ path: name, text })
      }
    }
  }
  await visit(root)
  return files
}

if (import.meta.main) {
  const files = await projectFiles(fileURLToPath(new URL('..', import.meta.url)))
  const complaints = files.flatMap(complaintsOf)
  for (const { path, line, text } of complaints) console.log(`${path}:${line}: ${text}`)
  console.log(`${files.length} files, ${complaints.length} complaints`)
  if (complaints.length > 0 || files.length === 0) process.exitCode = 1
}
