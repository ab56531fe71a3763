/** A stream of events as a test reads it: frame by frame, each with a deadline. */
import type { Readable } from 'node:stream'
import type { Test } from 'tap'

export type Event = {
  readonly Topic: string
  readonly Type: string
  readonly Key: string
  readonly Namespace: string
  readonly FilterKeys: readonly string[]
  readonly Index: number
  readonly Payload: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

export type Frame = {
  readonly Index?: number
  readonly Events?: readonly Event[]
  readonly Snapshot?: boolean
  readonly EndOfSnapshot?: boolean
  readonly Error?: string
}

const frameMs = 20_000

export class FrameReader {
  readonly #body: Readable
  readonly #lines: AsyncGenerator<string>

  constructor(t: Test, body: Readable) {
    this.#body = body
    this.#lines = linesOf(body)
    // Whatever is left when the test is over breaks off.
    body.on('error', () => {})
    t.teardown(() => this.close())
  }

  /** The next frame that is no heartbeat; null at the end. */
  async next(): Promise<Frame | null> {
    for (;;) {
      const frame = await this.nextOfAll()
      if (frame === null || Object.keys(frame).length > 0) return frame
    }
  }

  async nextOfAll(): Promise<Frame | null> {
    const { promise: late, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => reject(new Error(`no frame within ${frameMs} ms`)), frameMs)
    try {
      const line = await Promise.race([this.#lines.next(), late])
      return line.done === true ? null : (JSON.parse(line.value) as Frame)
    } finally {
      clearTimeout(timer)
    }
  }

  /** The next that has events. */
  async events(): Promise<readonly Event[]> {
    const frame = await this.next()
    if (frame?.Events === undefined) throw new Error(`no events: ${JSON.stringify(frame)}`)
    return frame.Events
  }

  close(): void {
    this.#body.destroy()
  }
}

async function* linesOf(body: Readable): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of body) {
    const lines = (rest + String(chunk)).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}

/** `+KV a`, `-Session 1`: what happened to what. */
export function brief({ Topic, Type, Key }: Event): string {
  return `${/Deleted|Ended|Deregistration/.test(Type) ? '-' : '+'}${Topic} ${Key}`
}
