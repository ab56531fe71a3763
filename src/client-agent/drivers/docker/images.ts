/** Images: pulled where they are missing, and once for all tasks that wait for the same. */
import { createHash } from 'node:crypto'
import { deadlineOf, orAborted } from '../../../lib/async.ts'
import type { Clock } from '../../../lib/clock.ts'
import { codeOf, MusterError, textOf } from '../../../lib/errors.ts'
import { parsed, Progress } from './answers.ts'
import type { Engine } from './engine.ts'
import type { Auth } from './task-config.ts'

const lineLengthMax = 64 * 1024
const pullsMax = 64

export type Wanted = {
  readonly image: string
  readonly auth: Auth | undefined
  /** Also where it is there. */
  readonly force: boolean
  readonly msMax: number
}

type Pull = {
  readonly done: Promise<void>
  readonly aborting: AbortController
  waiting: number
}

export class Images {
  readonly #engine: Engine
  readonly #clock: Clock
  readonly #pulls = new Map<string, Pull>()

  constructor(engine: Engine, clock: Clock) {
    this.#engine = engine
    this.#clock = clock
  }

  /**
   * Resolves once the image is there. One whose tag is `latest` is pulled, and used as it is where that fails. `onPull`: it is
   * pulled. Rejects with what Docker said, and with `cancelled` when the signal fires.
   */
  async ensure(wanted: Wanted, onPull: () => void, signal: AbortSignal): Promise<void> {
    const isThere = await this.#has(wanted.image, signal)
    const { tag } = referenceOf(wanted.image)
    if (isThere && !wanted.force && tag !== 'latest') return
    onPull()
    try {
      await this.#pull(wanted, signal)
    } catch (error) {
      if (!isThere || wanted.force || signal.aborted) throw error
    }
  }

  async #has(image: string, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#engine.ask({ method: 'GET', path: `/images/${imagePath(image)}/json`, signal })
      return true
    } catch (error) {
      if (codeOf(error) === 'not_found') return false
      throw error
    }
  }

  /** With those that pull the same, by the same rights. It goes on as long as one of them waits. */
  async #pull(wanted: Wanted, signal: AbortSignal): Promise<void> {
    const key = createHash('sha256')
      .update(JSON.stringify([wanted.image, wanted.auth ?? null]))
      .digest('hex')
    const pull = this.#pulls.get(key) ?? this.#begin(key, wanted)
    pull.waiting += 1
    try {
      await orAborted(pull.done, signal, () => {
        throw new MusterError('cancelled', 'the task is not wanted any more')
      })
    } finally {
      pull.waiting -= 1
      if (pull.waiting === 0) {
        pull.aborting.abort()
        // The next one begins anew.
        if (this.#pulls.get(key) === pull) this.#pulls.delete(key)
      }
    }
  }

  #begin(key: string, wanted: Wanted): Pull {
    if (this.#pulls.size >= pullsMax) {
      throw new MusterError('unavailable', `${pullsMax} images are pulled already: try again`)
    }
    const aborting = new AbortController()
    const deadline = deadlineOf(this.#clock, wanted.msMax, aborting.signal)
    const done = this.#run(wanted, deadline.signal).catch((error: unknown) => {
      const why = deadline.isLate ? `it took over ${wanted.msMax / 1_000}s` : textOf(error)
      // A connection that broke off, too.
      const code = error instanceof MusterError ? error.code : 'unavailable'
      throw new MusterError(code, `the image ${wanted.image} cannot be pulled: ${why}`)
    })
    const pull = { done, aborting, waiting: 0 }
    this.#pulls.set(key, pull)
    const forget = (): void => {
      deadline.cancel()
      if (this.#pulls.get(key) === pull) this.#pulls.delete(key)
    }
    void done.then(forget, forget)
    return pull
  }

  async #run({ image, auth, msMax }: Wanted, signal: AbortSignal): Promise<void> {
    const { name, tag } = referenceOf(image)
    const headers: Record<string, string> = {}
    if (auth !== undefined) headers['x-registry-auth'] = authOf(auth)
    const progress = await this.#engine.stream({
      method: 'POST',
      path: '/images/create',
      query: { fromImage: name, tag },
      headers,
      timeoutMs: msMax,
      signal,
    })
    let rest = ''
    for await (const chunk of progress.setEncoding('utf8') as AsyncIterable<string>) {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > lineLengthMax) throw unreadable()
      for (const line of lines) readProgress(line)
    }
    readProgress(rest)
  }
}

/** Throws for one that tells of an error. */
function readProgress(line: string): void {
  if (line.trim() === '') return
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    throw unreadable()
  }
  const { error, errorDetail } = parsed(Progress, value)
  const said = errorDetail?.message ?? error
  if (said !== undefined) throw new MusterError('unavailable', `Docker said: ${said.slice(0, 500)}`)
}

function unreadable(): MusterError {
  return new MusterError('unavailable', 'Docker told of a pull what cannot be read')
}

/** `name:tag` and `name@sha256:…`; a colon before a slash is that of a port. */
export function referenceOf(image: string): { readonly name: string; readonly tag: string } {
  const at = image.indexOf('@')
  if (at >= 0) return { name: image.slice(0, at), tag: image.slice(at + 1) }
  const colon = image.lastIndexOf(':')
  return colon > image.lastIndexOf('/')
    ? { name: image.slice(0, colon), tag: image.slice(colon + 1) }
    : { name: image, tag: 'latest' }
}

export function imagePath(image: string): string {
  return image.split('/').map(encodeURIComponent).join('/')
}

function authOf({ username = '', password = '', server_address = '' }: Auth): string {
  const value = { username, password, serveraddress: server_address }
  // For URLs, with padding.
  const text = Buffer.from(JSON.stringify(value)).toString('base64')
  return text.replaceAll('+', '-').replaceAll('/', '_')
}
