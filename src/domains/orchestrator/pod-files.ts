/**
 * What an orchestrator puts into each of its pods: the authority of its API server and a token of the pod's own service
 * account. Both are replaced while the pod runs, so they are looked at whenever they are needed and kept only while the
 * files stand as they were, and not for long.
 */
import { open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../lib/clock.ts'

/** Where pods find them. */
export const usualPodFolder = '/var/run/secrets/kubernetes.io/serviceaccount'

const tokenFile = 'token'
const authoritiesFile = 'ca.crt'

/** Kept at most so long, also where a file does not show that it changed. */
const tokenKeptMs = 60_000
const authoritiesKeptMs = 3_600_000

/** Longer files are taken for none. */
const fileBytesMax = 256 * 1024

type Kept = { readonly text: string; readonly stamp: string; readonly readMs: number }

export class PodFiles {
  readonly #folder: string
  readonly #clock: Clock
  readonly #kept = new Map<string, Kept>()

  constructor(clock: Clock, folder: string) {
    this.#folder = folder
    this.#clock = clock
  }

  /** Whether this process runs inside a pod. */
  async exist(): Promise<boolean> {
    return (await stampOf(this.#folder)) !== null
  }

  /** Null: there is none. */
  token(): Promise<string | null> {
    return this.#read(tokenFile, tokenKeptMs)
  }

  /** In PEM; null: there is none. */
  authorities(): Promise<string | null> {
    return this.#read(authoritiesFile, authoritiesKeptMs)
  }

  async #read(name: string, keptMs: number): Promise<string | null> {
    const path = join(this.#folder, name)
    const stamp = await stampOf(path)
    const nowMs = this.#clock.monotonicMs()
    const kept = this.#kept.get(name)
    if (kept !== undefined && kept.stamp === stamp && nowMs - kept.readMs < keptMs) return kept.text
    this.#kept.delete(name)
    const text = stamp === null ? null : await textIn(path)
    if (text === null || stamp === null) return null
    this.#kept.set(name, { text, stamp, readMs: nowMs })
    return text
  }
}

/** Changes when the file is replaced or written; null: there is none. */
async function stampOf(path: string): Promise<string | null> {
  try {
    const { ino, size, mtimeNs } = await stat(path, { bigint: true })
    return `${ino} ${size} ${mtimeNs}`
  } catch {
    return null
  }
}

/** Null: it cannot be read, is empty, or too long. */
async function textIn(path: string): Promise<string | null> {
  try {
    const file = await open(path)
    try {
      const buffer = Buffer.alloc(fileBytesMax + 1)
      const { bytesRead } = await file.read(buffer)
      const text = buffer.toString('utf8', 0, bytesRead).trim()
      return text === '' || bytesRead > fileBytesMax ? null : text
    } finally {
      await file.close()
    }
  } catch {
    return null
  }
}
