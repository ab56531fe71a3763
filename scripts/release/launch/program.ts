/**
 * How every release form starts the bundle: compiled with the code that V8 kept of a run at build time, so that a start
 * neither parses nor compiles what it needs.
 */
import { writeSync } from 'node:fs'
import { inspect } from 'node:util'
import { constants, Script } from 'node:vm'

const stderrFd = 2

export type Program = {
  /** What stack traces call it. */
  readonly file: string
  /** The bundle without its source map. ASCII. */
  readonly code: string
  /** What V8 compiled at build time; another Node.js or other flags than there: V8 refuses it, and compiles anew. */
  readonly cache: Buffer | undefined
  /** Loads LevelDB's binding. Called once, when a state is opened; then the program has claimed these folders. */
  readonly loadBinding: (dataFolders: readonly string[]) => unknown
  /** Names source files in a stack trace. Absent: it stays as it is. */
  readonly nameSources?: (trace: string) => string
}

/** Runs the bundle. Returns the compiled script, for the build to take the code from. */
export function runProgram(program: Program, requireOwn: NodeJS.Require): Script {
  const { file, code, cache, loadBinding, nameSources } = program
  if (nameSources !== undefined) showUncaught(nameSources)
  const script = new Script(
    `(function (exports, require, module, __filename, __dirname, loadBinding, nameSources, dataFolders) {\n${code}\n})`,
    {
      filename: file,
      // The first line is ours.
      lineOffset: -1,
      ...(cache !== undefined && { cachedData: cache }),
      importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    },
  )
  const module = { exports: {} }
  const dataFolders: string[] = []
  const run: unknown = script.runInThisContext()
  if (typeof run !== 'function') throw new TypeError(`${file} is not a program`)
  const loadOwn = (): unknown => loadBinding(dataFolders)
  run(module.exports, requireOwn, module, file, '', loadOwn, nameSources, dataFolders)
  return script
}

/**
 * What no handler of the program takes, as while it is loaded: Node.js would show positions in the bundle. Only what ends the
 * process is shown here, so the source map is read by no other trace.
 */
function showUncaught(nameSources: (trace: string) => string): void {
  process.on('uncaughtException', (error) => {
    if (process.listenerCount('uncaughtException') > 1) return
    try {
      writeSync(stderrFd, `${nameSources(inspect(error))}\n\nNode.js ${process.version}\n`)
    } finally {
      process.exit(1)
    }
  })
}

/** A shared library's exports. */
export function load(file: string): unknown {
  const loaded: { exports: unknown } = { exports: {} }
  process.dlopen(loaded, file)
  return loaded.exports
}

/** Which of the caches serves this process: V8 reads one whole, and a command needs a third of what an agent does. */
export function cachePurpose(): 'agent' | 'command' {
  return process.argv[2] === 'agent' ? 'agent' : 'command'
}
