/**
 * Those who do nothing wrong while others are hostile: two readers of events and two of the log, each over HTTP and over
 * WebSocket. All of them have to be told every tick, in order.
 */
import type { Test } from 'tap'
import type { Logger } from '../../../src/lib/log.ts'
import type { ServerOfOne } from '../../domains/server-of-one.ts'
import { eventually, eventuallyTrue } from '../../support/eventually.ts'

const key = 'bystanders/tick'
const streams = {
  events: '/v1/event/stream?topic=KV:bystanders/*&index=now',
  log: '/v1/agent/monitor?plain=true',
} as const

type Told = { readonly name: string; ticks: number[]; ended: boolean; stands: boolean }

export class Bystanders {
  readonly #server: ServerOfOne
  readonly #logger: Logger
  readonly #token: string | null
  readonly #told: Told[] = []
  #ticks = 0
  #turn = Promise.resolve()

  private constructor(server: ServerOfOne, logger: Logger, token: string | null) {
    this.#server = server
    this.#logger = logger
    this.#token = token
  }

  static async open(t: Test, server: ServerOfOne, logger: Logger, token: string | null) {
    const all = new Bystanders(server, logger, token)
    const address = await server.address()
    const secret = token === null ? '' : `&token=${token}`
    for (const [name, path] of Object.entries(streams)) {
      await all.#overHttp(t, `${name} over HTTP`, `${path}${secret}`)
      all.#overWebSocket(t, `${name} over WebSocket`, `ws://${address}${path}${secret}`)
    }
    // A reader of the log is told nothing before there is something.
    await eventuallyTrue('the streams stand', () => {
      logger.info('hello')
      return all.#told.every(({ stands }) => stands)
    })
    return all
  }

  /** One change and one line, after those before. */
  tick(): Promise<void> {
    this.#turn = this.#turn.then(() => this.#tick())
    return this.#turn
  }

  async #tick(): Promise<void> {
    this.#ticks += 1
    const { status, body } = await this.#put(String(this.#ticks))
    if (status !== 200) throw new Error(`a plain write was answered ${status}: ${body}`)
    this.#logger.info('tick', { n: this.#ticks })
  }

  /** What they were told has no gap: null, or who missed what. Waits for those who are behind. */
  async flaw(): Promise<string | null> {
    const wanted = this.#ticks
    return eventually('all were told', () => {
      for (const { name, ticks, ended } of this.#told) {
        const wrong = ticks.findIndex((n, at) => n !== at + 1)
        if (wrong >= 0) return `${name}: ${ticks[wrong]} came as number ${wrong + 1}`
        if (ended) return `${name}: ended after ${ticks.length} of ${wanted}`
      }
      return this.#told.every(({ ticks }) => ticks.length === wanted) ? 'none' : undefined
    }).then((flaw) => (flaw === 'none' ? null : flaw))
  }

  #put(value: string) {
    return this.#server.ask('PUT', `/v1/kv/${key}`, value, this.#token ?? undefined)
  }

  async #overHttp(t: Test, name: string, url: string): Promise<void> {
    const told = this.#begin(name)
    const { status, body } = await this.#server.open(url)
    if (status !== 200) throw new Error(`${name}: ${status}`)
    t.teardown(() => body.destroy())
    let rest = ''
    body.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) take(told, line)
    })
    body.on('error', () => (told.ended = true))
    body.on('end', () => (told.ended = true))
  }

  #overWebSocket(t: Test, name: string, url: string): void {
    const told = this.#begin(name)
    const websocket = new WebSocket(url)
    websocket.binaryType = 'arraybuffer'
    t.teardown(() => websocket.close())
    websocket.addEventListener('message', (event) => {
      const { data } = event as { readonly data: unknown }
      for (const line of String(data).split('\n')) take(told, line)
    })
    websocket.addEventListener('close', () => (told.ended = true))
  }

  #begin(name: string): Told {
    const told = { name, ticks: [], ended: false, stands: false }
    this.#told.push(told)
    return told
  }
}

function take(told: Told, line: string): void {
  told.stands = true
  const logged = /: tick: n=(\d+)/.exec(line)
  const changed = /"Value":"([^"]+)"/.exec(line)
  if (logged !== null) told.ticks.push(Number(logged[1]))
  else if (changed !== null) told.ticks.push(Number(Buffer.from(changed[1] ?? '', 'base64')))
}
