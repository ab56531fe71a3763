/**
 * The packages of many modules that tests import, each as one file. To find, read and link the two hundred modules of tap
 * is a quarter of a second of work for every test process, and typebox has three hundred more. Of the project's own files the name is
 * all there is to know: what Node.js asks the file system about each is another quarter.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { runTool, tool } from '../release/project.ts'

/** ES modules all: of CommonJS, a bundle would lose the names that it exports. */
const packages = ['tap', 'fast-check', 'typebox', 'typebox/schema']

/** The folder's name is for tap's stack traces, which leave out what is below it. */
const folder = '.tap/node_modules/@tapjs/bundle'

let made: Promise<readonly string[]> | null = null

/** Makes the files once a run. Resolves with what Node.js needs on its command line so that the packages are these files. */
export function bundledPackages(root: string): Promise<readonly string[]> {
  return (made ??= make(root))
}

async function make(root: string): Promise<readonly string[]> {
  const to = join(root, folder)
  await rm(to, { recursive: true, force: true })
  const names = packages.map((name) => [name, name.replace('/', '-')] as const)
  await runTool(tool('esbuild'), [
    ...names.map(([name, file]) => `${file}=${fileURLToPath(import.meta.resolve(name))}`),
    `--outdir=${to}`,
    '--out-extension:.js=.mjs',
    '--bundle',
    `--alias:async-hook-domain=${fileURLToPath(new URL('error-domain.ts', import.meta.url))}`,
    '--splitting',
    '--platform=node',
    '--format=esm',
    '--target=node24',
    '--log-level=warning',
    // Parts of tap are CommonJS, and ask for modules of Node.js by it.
    '--banner:js=import * as nodeModule from "node:module";const require=nodeModule.createRequire(import.meta.url);',
  ])
  const urls = names.map(([name, file]) => [name, pathToFileURL(join(to, `${file}.mjs`)).href])
  const hook = `import { registerHooks } from 'node:module'
const urls = new Map(${JSON.stringify(urls)})
registerHooks({
  resolve(name, context, next) {
    const url = urls.get(name)
    if (url !== undefined) return { url, format: 'module', shortCircuit: true }
    if (name[0] !== '.' || !name.endsWith('.ts')) return next(name, context)
    return { url: new URL(name, context.parentURL).href, format: 'module-typescript', shortCircuit: true }
  },
})`
  return ['--import', `data:text/javascript,${encodeURIComponent(hook)}`]
}
