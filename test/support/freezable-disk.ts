/**
 * A disk that can be frozen: an image with a file system of its own, mounted where a server keeps its data. While it
 * is frozen, writes to it wait in the kernel. A guard process thaws and unmounts it even when this process is killed.
 */
import { execFile, type ChildProcess } from 'node:child_process'
import { mkdir, rm, truncate, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { startGuard } from './guard.ts'

const run = promisify(execFile)

export class FreezableDisk {
  readonly folder: string
  readonly #image: string
  readonly #guard: ChildProcess

  private constructor(folder: string, image: string, guard: ChildProcess) {
    this.folder = folder
    this.#image = image
    this.#guard = guard
  }

  /** Null: this machine does not allow it. */
  static async mount(folder: string, MiB: number): Promise<FreezableDisk | null> {
    const image = `${folder}.image`
    await mkdir(folder, { recursive: true, mode: 0o700 })
    try {
      await writeFile(image, '')
      await truncate(image, MiB * 2 ** 20)
      await run('mkfs.ext4', ['-q', '-E', 'lazy_itable_init=0', image])
      await run('mount', ['-o', 'loop', image, folder])
      // A trial: where freezing is not allowed, this is no such disk.
      await run('fsfreeze', ['--freeze', folder])
      await run('fsfreeze', ['--unfreeze', folder])
    } catch {
      await run('umount', ['-l', folder]).catch(() => undefined)
      await rm(image, { force: true })
      return null
    }
    return new FreezableDisk(folder, image, guardOf(folder, image))
  }

  async freeze(): Promise<void> {
    await run('fsfreeze', ['--freeze', this.folder])
  }

  /** Does nothing for a disk that is not frozen. */
  async thaw(): Promise<void> {
    await run('fsfreeze', ['--unfreeze', this.folder]).catch(() => undefined)
  }

  async unmount(): Promise<void> {
    await this.thaw()
    await run('umount', ['-l', this.folder]).catch(() => undefined)
    this.#guard.kill('SIGKILL')
    await rm(this.#image, { force: true })
  }
}

function guardOf(folder: string, image: string): ChildProcess {
  const script = 'fsfreeze --unfreeze "$1"; umount -l "$1"; rm -f "$2"'
  return startGuard(script, folder, image)
}
