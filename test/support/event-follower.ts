/**
 * A reader of events that goes on whatever happens: when its stream ends it opens the next one at another server, from the
 * index after the last it was told. Anything that no stream may do is kept as `fault`.
 */
import { get, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Cluster } from './cluster.ts'

export type ToldEvent = {
  readonly Topic: string
  readonly Type: string
  readonly Key: string
  readonly Index: number
  readonly Payload: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

export type ToldFrame = {
  readonly Index?: number
  readonly Events?: readonly ToldEvent[]
  readonly Snapshot?: boolean
  readonly EndOfSnapshot?: boolean
  readonly Error?: string
}

export type FollowerOptions = {
  readonly cluster: Cluster
  /** The server to begin with. */
  readonly at: number
  /** Of the query: the topics. */
  readonly query: string
  /** Begins with a snapshot, and wherever its index is not kept any more. Else it looks for a server that keeps it. */
  readonly snapshots: boolean
}

/** A server that neither answers nor ends is given up: more than two heartbeats. */
const silenceMs = 25_000
const againMs = 100

export class EventFollower {
  readonly #options: FollowerOptions
  readonly #over = new AbortController()
  readonly #done: Promise<void>
  /** Since the last snapshot. */
  #events: ToldEvent[] = []
  #told = 0
  #staged: ToldEvent[] = []
  #snapshots = 0
  #ended: string[] = []
  fault: string | null = null

  constructor(options: FollowerOptions) {
    this.#options = options
    this.#done = this.#follow()
  }

  get events(): readonly ToldEvent[] {
    return this.#events
  }

  get told(): number {
    return this.#told
  }

  get snapshots(): number {
    return this.#snapshots
  }

  /** The reasons that streams gave for their end. */
  get ended(): readonly string[] {
    return this.#ended
  }

  async stop(): Promise<void> {
    this.#over.abort()
    await this.#done
  }

  /** What stands under each key, by what was told: the index of its last change. */
  state(): ReadonlyMap<string, number> {
    const state = new Map<string, number>()
    for (const { Type, Key, Index } of this.#events) {
      if (Type.endsWith('Deleted')) state.delete(Key)
      else state.set(Key, Index)
    }
    return state
  }

  async #follow(): Promise<void> {
    const { cluster } = this.#options
    for (let at = this.#options.at; !this.#over.signal.aborted; at = (at + 1) % cluster.size) {
      await this.#read(cluster.server(at).spec.ports.http).catch(() => {
        // Broken off: the next one goes on.
      })
      await delay(againMs)
    }
  }

  async #read(port: number): Promise<void> {
    const { query, snapshots } = this.#options
    const index = this.#told === 0 ? '' : `&index=${this.#told + 1}`
    const snapshot = snapshots ? '&snapshot=true' : ''
    const path = `/v1/event/stream?${query}${index}${snapshot}`
    const request = get({ host: '127.0.0.1', port, path, agent: false, signal: this.#over.signal })
    request.setTimeout(silenceMs, () => request.destroy(new Error('silence')))
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    if (response.statusCode !== 200) {
      response.resume()
      return
    }
    this.#staged = []
    let rest = ''
    for await (const chunk of response.setEncoding('utf8')) {
      const lines = (rest + String(chunk)).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) this.#take(JSON.parse(line) as ToldFrame)
    }
  }

  #take(frame: ToldFrame): void {
    const { Index = 0, Events = [] } = frame
    if (frame.Error !== undefined) {
      this.#ended.push(frame.Error)
      if (Index !== 0 && Index < this.#told) this.#fail(`all up to ${Index}, after ${this.#told}`)
    } else if (frame.Snapshot === true) {
      this.#staged.push(...Events)
    } else if (frame.EndOfSnapshot === true) {
      if (Index < this.#told) this.#fail(`a snapshot of ${Index} after ${this.#told}`)
      this.#events = this.#staged
      this.#staged = []
      this.#told = Index
      this.#snapshots += 1
    } else if (Events.length > 0) {
      if (Index <= this.#told) this.#fail(`${Index} came after ${this.#told}`)
      if (Events.some((event) => event.Index !== Index)) this.#fail(`a frame of more than ${Index}`)
      this.#events.push(...Events)
      this.#told = Index
    }
  }

  #fail(text: string): void {
    this.fault ??= text
  }
}
