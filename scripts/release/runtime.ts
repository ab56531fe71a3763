/** The Node.js that a release holds: of this machine from node_modules, of another from its package, if the lock file knows its hash. */
import { createHash } from 'node:crypto'
import { access, mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { root, runTool, runtime, type Platform } from './project.ts'

/** The binary's path. `folder` keeps what had to be fetched. */
export async function runtimeOf({ arch }: Platform, folder: string): Promise<string> {
  const name = `node-linux-${arch}` as const
  const installed = join(root, 'node_modules', name, 'bin/node')
  if (await exists(installed)) return installed
  const fetched = join(folder, arch)
  const binary = join(fetched, 'package/bin/node')
  if (await exists(binary)) return binary
  await rm(fetched, { recursive: true, force: true })
  await mkdir(fetched, { recursive: true })
  const wanted = `${name}@${runtime[name]}`
  await runTool(['npm'], ['pack', wanted, '--loglevel=error', '--prefer-offline'], {
    cwd: fetched,
  })
  const [file = ''] = await readdir(fetched)
  const tarball = join(fetched, file)
  await assertIntegrity(tarball, name)
  await runTool(['tar'], ['-xzf', tarball, '-C', fetched, 'package/bin/node'])
  await rm(tarball)
  return binary
}

async function assertIntegrity(tarball: string, name: string): Promise<void> {
  const lock: unknown = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'))
  const expected = integrityIn(lock, name)
  const hash = createHash('sha512').update(await readFile(tarball))
  const found = `sha512-${hash.digest('base64')}`
  if (found !== expected) {
    throw new Error(`${name}: its hash is ${found}, the lock file says ${expected}`)
  }
}

function integrityIn(lock: unknown, name: string): string {
  const entry = property(property(lock, 'packages'), `node_modules/${name}`)
  const integrity = property(entry, 'integrity')
  if (typeof integrity !== 'string') throw new Error(`the lock file has no hash of ${name}`)
  return integrity
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
