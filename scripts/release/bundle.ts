/**
 * The bundle: the program and all packages it uses as one CommonJS file, with LevelDB's bindings and V8's code beside it.
 * CommonJS, because what a single executable runs is that, and because V8 gives away compiled code of such a script only.
 */
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import protobuf from 'protobufjs'
import { bindingName, bindingOf, platforms, root, runTool, tool } from './project.ts'
import { train } from './training.ts'

const entry = 'src/main.ts'
const launchers = 'scripts/release/launch'
/** What the sources read from the project's folder, and the build puts into the bundle instead. */
const replaced: readonly string[] = ['src/wire/protocol.ts']
const protoFiles = ['handshake.proto', 'raft.proto', 'server.proto'] as const

export type Bundle = {
  readonly folder: string
  /** Of the bundle without its source map. */
  readonly codeBytes: number
}

/** Makes it in `folder`, which is emptied. Throws what keeps it from being whole. */
export async function makeBundle(folder: string): Promise<Bundle> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await assertNoOtherFiles()
  const file = join(folder, 'muster.cjs')
  const protocol = JSON.stringify(JSON.stringify(await parsedProtocol()))
  await compile(entry, file, [
    '--sourcemap=external',
    '--sources-content=false',
    '--minify-whitespace',
    '--minify-syntax',
    `--alias:node-gyp-build=./${launchers}/binding.cjs`,
    `--alias:msgpackr-extract=./${launchers}/no-extractor.cjs`,
    `--define:bundledProtocol=${protocol}`,
    // That is what `assertNoOtherFiles` looks after.
    '--log-override:empty-import-meta=silent',
  ])
  const code = await readFile(file, 'latin1')
  if (/[^\0-\x7f]/.test(code)) throw new Error(`${file} is not ASCII`)
  const map = await readMap(file, folder)
  const url = `//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString('base64')}`
  await writeFile(file, `${code}${url}\n`)
  await writeFile(`${file}.map`, map)
  for (const platform of platforms) {
    await copyFile(bindingOf(platform), join(folder, bindingName(platform)))
  }
  const codeBytes = code.length
  for (const [from, to] of [
    ['package.ts', 'start.cjs'],
    ['training.ts', 'training.cjs'],
  ] as const) {
    await compile(join(launchers, from), join(folder, to), [`--define:codeBytes=${codeBytes}`])
  }
  await train(folder)
  return { folder, codeBytes }
}

/** Throws esbuild's words, warnings too: in a bundle they are defects. */
export async function compile(from: string, to: string, options: readonly string[]): Promise<void> {
  await runTool(tool('esbuild'), [
    from,
    `--outfile=${to}`,
    '--bundle',
    '--platform=node',
    '--format=cjs',
    '--target=node24',
    '--charset=ascii',
    '--legal-comments=none',
    '--log-level=warning',
    ...options,
  ])
}

/** A new file that the program reads beside its sources would be missing in a bundle: it needs a thought, and a row above. */
async function assertNoOtherFiles(): Promise<void> {
  const names = await readdir(join(root, 'src'), { recursive: true })
  for (const name of names.filter((name) => name.endsWith('.ts'))) {
    const path = join('src', name)
    const text = await readFile(join(root, path), 'utf8')
    if (text.includes('import.meta') && !replaced.includes(path)) {
      throw new Error(`${path} uses import.meta: a bundle has no files beside it`)
    }
  }
}

/** As `src/wire/protocol.ts` reads it. */
async function parsedProtocol(): Promise<unknown> {
  const parsed = new protobuf.Root()
  for (const file of protoFiles) {
    protobuf.parse(await readFile(join(root, 'proto', file), 'utf8'), parsed, { keepCase: false })
  }
  return parsed.toJSON()
}

/** The source map, its files named from the project's folder. */
async function readMap(file: string, folder: string): Promise<string> {
  const map: unknown = JSON.parse(await readFile(`${file}.map`, 'utf8'))
  if (typeof map !== 'object' || map === null || !('sources' in map)) {
    throw new Error(`${file}.map is not a source map`)
  }
  const { sources } = map
  if (!Array.isArray(sources)) throw new Error(`${file}.map has no sources`)
  const named = sources.map((source) => relative(root, join(folder, String(source))))
  return JSON.stringify({ ...map, sources: named })
}
