/**
 * The program that cluster tests start: a bundle of these sources, laid out as the npm package is. A server of it is there with half
 * the work of one that loads 600 sources, and what the tests break is what users install.
 */
import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { makeBundle } from '../release/bundle.ts'
import { layOutProgram, runtimePath } from '../release/package.ts'
import { platforms } from '../release/project.ts'

let made: Promise<string> | null = null

/** Makes it once a run, below `.tap`. Resolves with what to start. */
export function bundledProgram(root: string): Promise<string> {
  return (made ??= make(root))
}

async function make(root: string): Promise<string> {
  const platform = platforms.find(({ arch }) => arch === process.arch)
  if (platform === undefined) throw new Error(`there is no release for ${process.arch}`)
  const bundle = await makeBundle(join(root, '.tap/bundle'))
  const folder = join(root, '.tap/program')
  const program = await layOutProgram(bundle, platform, folder)
  await symlink(process.execPath, join(folder, runtimePath))
  return program
}
