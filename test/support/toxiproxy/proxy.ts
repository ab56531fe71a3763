/** One proxy: a listener, and for each accepted connection a dialled one and a link in each direction. */
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Random } from '../../../src/lib/random.ts'
import { Link } from './link.ts'
import { ApiError, parseToxic, updateToxic, type Stream, type Toxic } from './toxic.ts'

type Connection = {
  readonly sockets: readonly Socket[]
  readonly links: Readonly<Record<Stream, Link>>
}

export type ProxyConfig = {
  readonly name: string
  /** `host:port`; port 0 takes a free one, which `listen` then shows. */
  readonly listen: string
  readonly upstream: string
}

export class Proxy {
  readonly name: string
  #listen: string
  #upstream: string
  readonly #random: Random
  #server: Server | null = null
  readonly #connections = new Set<Connection>()
  #toxics: Toxic[] = []

  constructor(config: ProxyConfig, random: Random) {
    this.name = config.name
    this.#listen = config.listen
    this.#upstream = config.upstream
    this.#random = random
  }

  toJSON(): unknown {
    return {
      name: this.name,
      listen: this.#listen,
      upstream: this.#upstream,
      enabled: this.#server !== null,
      toxics: this.#toxics,
    }
  }

  get toxics(): readonly Toxic[] {
    return this.#toxics
  }

  /** Moves and switches the proxy; connections stay only if nothing changes for them. */
  async update(wanted: { listen?: string; upstream?: string; enabled?: boolean }): Promise<void> {
    const enabled = wanted.enabled ?? this.#server !== null
    const { listen = this.#listen, upstream = this.#upstream } = wanted
    const moved = listen !== this.#listen || upstream !== this.#upstream
    if (moved || !enabled) await this.disable()
    this.#listen = listen
    this.#upstream = upstream
    if (enabled) await this.enable()
  }

  async enable(): Promise<void> {
    if (this.#server !== null) return
    const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true })
    server.on('connection', (client) => this.#accept(client))
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error) => reject(new ApiError(500, error.message)))
      server.listen(addressOf(this.#listen), resolve)
    })
    const address = server.address()
    if (address !== null && typeof address === 'object') {
      this.#listen = `${address.address}:${address.port}`
    }
    this.#server = server
  }

  /** Closes the listener and cuts every connection: a new one is refused. */
  async disable(): Promise<void> {
    const server = this.#server
    if (server === null) return
    this.#server = null
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    for (const connection of this.#connections) this.#reset(connection)
    await closed
  }

  addToxic(body: unknown): Toxic {
    const toxic = parseToxic(body)
    if (this.#toxics.some(({ name }) => name === toxic.name)) {
      throw new ApiError(409, 'toxic already exists')
    }
    this.#toxics.push(toxic)
    for (const { links } of this.#connections) links[toxic.stream].add(toxic)
    return toxic
  }

  toxic(name: string): Toxic {
    const found = this.#toxics.find((toxic) => toxic.name === name)
    if (found === undefined) throw new ApiError(404, 'toxic not found')
    return found
  }

  updateToxic(name: string, body: unknown): Toxic {
    const toxic = this.toxic(name)
    updateToxic(toxic, body)
    for (const { links } of this.#connections) links[toxic.stream].changed(toxic)
    return toxic
  }

  removeToxic(name: string): void {
    const toxic = this.toxic(name)
    this.#toxics = this.#toxics.filter((other) => other !== toxic)
    for (const { links } of this.#connections) links[toxic.stream].remove(toxic)
  }

  #accept(client: Socket): void {
    const server = connect({ ...addressOf(this.#upstream), allowHalfOpen: true, noDelay: true })
    const reset = (): void => this.#reset(connection)
    const link = (stream: Stream): Link => {
      const ends =
        stream === 'upstream'
          ? { source: client, destination: server }
          : { source: server, destination: client }
      const toxics = this.#toxics.filter((toxic) => toxic.stream === stream)
      return new Link(ends, toxics, this.#random, reset)
    }
    const connection: Connection = {
      sockets: [client, server],
      links: { upstream: link('upstream'), downstream: link('downstream') },
    }
    this.#connections.add(connection)
    // While the dial is under way the client's bytes wait in its own socket.
    client.pause()
    server.once('connect', () => client.resume())
    // No one answers at the upstream: that is no network fault, so no toxic hides it.
    server.once('error', () => {
      if (server.bytesRead === 0 && server.bytesWritten === 0) client.destroy()
    })
    for (const socket of connection.sockets) {
      socket.once('close', () => {
        if (connection.sockets.every(({ destroyed }) => destroyed)) this.#forget(connection)
      })
    }
  }

  #reset(connection: Connection): void {
    this.#forget(connection)
    for (const socket of connection.sockets) {
      // A reset after a FIN is refused by libuv, and the handle would then stay open for ever.
      if (socket.writableEnded) socket.destroy()
      else socket.resetAndDestroy()
    }
  }

  #forget(connection: Connection): void {
    connection.links.upstream.stop()
    connection.links.downstream.stop()
    this.#connections.delete(connection)
  }
}

function addressOf(text: string): { host: string; port: number } {
  const colon = text.lastIndexOf(':')
  const port = Number(text.slice(colon + 1))
  if (colon < 0 || !Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new ApiError(400, `address ${text} is not host:port`)
  }
  const host = text.slice(0, colon).replace(/^\[(.*)\]$/, '$1')
  return { host: host === '' ? '127.0.0.1' : host, port }
}
