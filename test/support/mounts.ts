/** File systems of their own for disks that fail, where the machine lets a test have them. */
import { execFile } from 'node:child_process'
import { chmod, open } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { Test } from 'tap'

const run = promisify(execFile)

/** Mounts an empty disk in memory on a folder until the test ends. False: this machine does not allow it. */
export async function mountSmallDisk(t: Test, folder: string, MiB: number): Promise<boolean> {
  return mounted(t, folder, ['-t', 'tmpfs', '-o', `size=${MiB}m,mode=700`, 'tmpfs', folder])
}

/**
 * Takes writing away from a folder, as a kernel does with a disk that fails; resolves to the way to give it back, or null
 * when this machine does not allow it. Files that are open stay as they are.
 */
export async function makeReadOnly(t: Test, folder: string): Promise<(() => Promise<void>) | null> {
  if (process.getuid?.() !== 0) {
    await chmod(folder, 0o500)
    return () => chmod(folder, 0o700)
  }
  if (!(await mounted(t, folder, ['--bind', folder, folder]))) return null
  await run('mount', ['-o', 'remount,ro,bind', folder])
  return () => unmount(folder)
}

/** Writes more and more to a file until the disk is full. What others give free later is for a second call. */
export async function fill(path: string): Promise<void> {
  const file = await open(path, 'a')
  try {
    for (const size of [2 ** 20, 4_096]) {
      const block = Buffer.alloc(size, 1)
      for (;;) await file.write(block)
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
  } finally {
    await file.close()
  }
}

async function mounted(t: Test, folder: string, args: readonly string[]): Promise<boolean> {
  try {
    await run('mount', [...args])
  } catch {
    return false
  }
  t.teardown(() => unmount(folder).catch(() => undefined))
  return true
}

export async function unmount(folder: string): Promise<void> {
  await run('umount', ['-l', folder])
}
