/**
 * Installs what is missing: all packages, or with `--production` those alone that run the program. Plain JavaScript on purpose:
 * it runs on whatever Node.js (20 or newer) the machine has, before the pinned one is there. Compares two files and does
 * nothing when node_modules is as package-lock.json says.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const NODE_MAJOR_MIN = 20

/**
 * Why `npm ci` must run in the folder `root`, or null when nothing is to be done.
 * npm writes its own copy of the lock file into node_modules as the last step of an install.
 *
 * @param {string} root
 * @param {boolean} [production] developers' packages may be missing
 * @returns {string | null}
 */
export function reasonToInstall(root, production = false) {
  const installed = join(root, 'node_modules', '.package-lock.json')
  if (!existsSync(installed)) return 'node_modules is missing'
  if (!existsSync(join(root, 'node_modules', '.bin', 'node'))) {
    return 'the pinned Node.js is missing; there is one for Linux on x64 and arm64'
  }
  const wanted = readPackages(join(root, 'package-lock.json'))
  return differs(wanted, readPackages(installed), production)
}

/**
 * @param {Record<string, { version?: string, dev?: boolean, optional?: boolean, devOptional?: boolean }>} wanted
 * @param {Record<string, { version?: string }>} found
 * @param {boolean} [production] developers' packages may be missing
 * @returns {string | null}
 */
export function differs(wanted, found, production = false) {
  for (const [path, entry] of Object.entries(wanted)) {
    if (path === '') continue
    const version = found[path]?.version
    // Optional packages of other platforms are not installed.
    if (version === undefined && (entry.optional === true || entry.devOptional === true)) continue
    if (version === undefined && production && entry.dev === true) continue
    if (version !== entry.version)
      return `${path} should be ${entry.version}, is ${version ?? 'missing'}`
  }
  for (const path of Object.keys(found)) {
    if (!(path in wanted)) return `${path} is no longer wanted`
  }
  return null
}

/** @param {string} file */
function readPackages(file) {
  return JSON.parse(readFileSync(file, 'utf8')).packages ?? {}
}

/** @param {string} output what npm printed */
export function explainFailure(output) {
  if (
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH|ECONNRESET|ENOTCACHED|network/i.test(
      output,
    )
  ) {
    return [
      'The packages could not be fetched: the registry was not reachable.',
      'Muster needs the network once, for its packages and the pinned Node.js. Then it runs without.',
      'Behind a proxy or a mirror, point npm to it (npm config set proxy …, npm config set registry …) and try again.',
    ].join('\n')
  }
  return 'npm ci failed; its own words are above. `npm ci` by hand repeats it.'
}

/**
 * Removes the headers of Node.js, two thirds of what is in its package beside the binary: nothing is compiled here.
 *
 * @param {string} root
 */
export function removeHeaders(root) {
  const modules = join(root, 'node_modules')
  for (const name of readdirSync(modules).filter((name) => name.startsWith('node-linux-'))) {
    rmSync(join(modules, name, 'include'), { recursive: true, force: true })
  }
}

/** Of a package's own folder: what its developers run. */
const developersFolders = ['test', 'tests', 'benchmark', 'benchmarks', 'examples']
/** Declarations of types and source maps. */
const developersFile = /\.(?:d\.[cm]?ts|map)$/

/**
 * Removes what never runs here from packages that run the program: 30 MB of 187. The next `npm ci` brings it back, as `npm test`
 * runs one.
 *
 * @param {string} root
 * @param {string} [platform] as prebuilt bindings are named by it
 */
export function removeUnneeded(root, platform = `${process.platform}-${process.arch}`) {
  const modules = join(root, 'node_modules')
  for (const folder of packagesIn(modules)) {
    for (const name of developersFolders) remove(join(folder, name))
    const prebuilds = join(folder, 'prebuilds')
    for (const name of existsSync(prebuilds) ? readdirSync(prebuilds) : []) {
      if (name !== platform) remove(join(prebuilds, name))
    }
  }
  const names = readdirSync(modules, { encoding: 'utf8', recursive: true })
  for (const name of names) if (developersFile.test(name)) remove(join(modules, name))
}

/**
 * @param {string} modules
 * @returns {string[]} their folders
 */
function packagesIn(modules) {
  if (!existsSync(modules)) return []
  return readdirSync(modules, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .flatMap(({ name }) => {
      const folder = join(modules, name)
      return name.startsWith('@')
        ? packagesIn(folder)
        : [folder, ...packagesIn(join(folder, 'node_modules'))]
    })
}

/** @param {string} path */
function remove(path) {
  rmSync(path, { recursive: true, force: true })
}

/**
 * @param {string} root
 * @param {boolean} production
 */
function install(root, production) {
  const reason = reasonToInstall(root, production)
  if (reason === null) return 0
  console.error(`Installing packages once (${reason}) …`)
  const npm = process.env.npm_execpath
  const [command, before] = npm?.endsWith('npm-cli.js') ? [process.execPath, [npm]] : ['npm', []]
  const result = spawnSync(
    command,
    [
      ...before,
      'ci',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
      // What runs the program has its binaries in its packages.
      ...(production ? ['--omit=dev', '--ignore-scripts'] : []),
    ],
    {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    },
  )
  const output = `${result.stdout ?? ''}${result.stderr ?? ''}${result.error?.message ?? ''}`
  const left = result.status === 0 ? reasonToInstall(root, production) : null
  if (result.status === 0 && left === null) {
    removeHeaders(root)
    if (production) removeUnneeded(root)
    return 0
  }
  console.error(output.trimEnd())
  console.error(
    left === null ? explainFailure(output) : `After npm ci something is still wrong: ${left}`,
  )
  return 1
}

/** Whether this file is what Node.js was asked to run, also through a symbolic link. */
function isMain() {
  const script = process.argv[1]
  return script !== undefined && realpathSync(script) === fileURLToPath(import.meta.url)
}

if (isMain()) {
  const major = Number(process.versions.node.split('.')[0])
  if (major < NODE_MAJOR_MIN) {
    console.error(
      `Node.js ${NODE_MAJOR_MIN} or newer is needed to install; this is ${process.version}.`,
    )
    process.exit(1)
  }
  const root = dirname(dirname(fileURLToPath(import.meta.url)))
  process.exit(install(root, process.argv.includes('--production')))
}
