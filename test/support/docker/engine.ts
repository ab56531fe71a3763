/**
 * Stands in for a Docker daemon where there is none: the part of its API that the driver speaks, on a Unix socket. Containers are
 * processes of this machine, without walls, that live as long as the test; output, ends and refusals are as Docker's are.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import type { Test } from 'tap'
import { Container, type Asked, type Piece } from './container.ts'
import { ContainerExec } from './exec.ts'
import { Refusal } from './refusal.ts'

type Image = { readonly words: readonly string[]; readonly stopSignal?: string }

export type Heard = {
  readonly method: string
  /** Of the API, as `v1.41`; '': it names none. */
  readonly version: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly json: unknown
}

const shell: Image = { words: ['/bin/sh'] }

export class DockerEngine {
  readonly socketPath: string
  readonly containers = new Map<string, Container>()
  readonly images = new Map<string, Image>([['busybox:1', shell]])
  /** What a pull comes to: an image, or what is wrong. */
  readonly registry = new Map<string, Image | string>()
  readonly heard: Heard[] = []
  versions = { ApiVersion: '1.47', MinAPIVersion: '1.24' }
  /** Pulls wait for it. */
  pulls: Promise<void> = Promise.resolve()
  /** It takes requests, and answers none. */
  hangs = false
  /** Before each piece of what is told and not followed. */
  pace: (() => Promise<void>) | null = null
  readonly #execs = new Map<string, ContainerExec>()
  /** Those that commands go through: they are no connections of HTTP any more. */
  readonly #upgraded = new Set<Duplex>()
  #server: Server | null = null

  private constructor(socketPath: string) {
    this.socketPath = socketPath
  }

  /** Its containers end with the test. */
  static async start(t: Test): Promise<DockerEngine> {
    const folder = await mkdtemp(join(tmpdir(), 'muster-docker-'))
    const engine = new DockerEngine(join(folder, 'docker.sock'))
    await engine.up()
    t.teardown(async () => {
      await engine.down()
      for (const container of engine.containers.values()) container.end()
      for (const exec of engine.#execs.values()) exec.end()
      await rm(folder, { recursive: true, force: true })
    })
    return engine
  }

  async up(): Promise<void> {
    const server = createServer((request, response) => void this.#serve(request, response))
    server.on('upgrade', (request, socket, head) => void this.#upgrade(request, socket, head))
    this.#server = server
    server.listen(this.socketPath)
    await once(server, 'listening')
  }

  /** The daemon is gone, and its containers run on. */
  async down(): Promise<void> {
    const server = this.#server
    this.#server = null
    if (server === null) return
    server.close()
    server.closeAllConnections()
    for (const socket of this.#upgraded) socket.destroy()
    await once(server, 'close').catch(() => {})
  }

  /** The only one. */
  get container(): Container {
    const [only, ...more] = this.containers.values()
    if (only === undefined || more.length > 0) {
      throw new Error(`there are ${this.containers.size} containers`)
    }
    return only
  }

  /** Requests to a path, as `POST /images/create`. */
  asked(what: string): readonly Heard[] {
    return this.heard.filter(({ method, path }) => `${method} ${path}` === what)
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const heard = heardOf(request, Buffer.concat(chunks))
    this.heard.push(heard)
    if (this.hangs) return
    try {
      await this.#answer(heard, response)
    } catch (error) {
      if (response.headersSent) {
        response.destroy()
        return
      }
      const status = error instanceof Refusal ? error.status : 500
      const message = error instanceof Error ? error.message : String(error)
      send(response, status, { message })
    }
  }

  async #answer(heard: Heard, response: ServerResponse): Promise<void> {
    const { method, path, query } = heard
    const [, , first = ''] = path.split('/').map(decodeURIComponent)
    switch (
      `${method} ${path.replace(/^\/(containers|exec)\/(?!create$|json$)[^/]+/, '/$1/:id')}`
    ) {
      case 'GET /_ping':
        response.end('OK')
        return
      case 'GET /version':
        send(response, 200, { Version: '27.3.1', ...this.versions })
        return
      case 'POST /images/create':
        return this.#pull(query, response)
      case 'GET /containers/json':
        send(response, 200, this.#listed(query))
        return
      case 'POST /containers/create':
        send(response, 201, { Id: this.#create(query.get('name') ?? '', heard.json as Asked) })
        return
      case 'GET /containers/:id/json':
        send(response, 200, this.#inspected(this.#find(first)))
        return
      case 'POST /containers/:id/start':
        await this.#find(first).start()
        send(response, 204)
        return
      case 'POST /containers/:id/kill':
        this.#find(first).signal(signalOf(query.get('signal') ?? 'SIGKILL'))
        send(response, 204)
        return
      case 'POST /containers/:id/wait':
        return wait(this.#find(first), response)
      case 'GET /containers/:id/logs':
        return logs(this.#find(first), query, response, this.pace)
      case 'GET /containers/:id/stats':
        send(response, 200, stats)
        return
      case 'DELETE /containers/:id':
        this.#remove(this.#find(first), query.get('force') === 'true')
        send(response, 204)
        return
      case 'POST /containers/:id/exec':
        send(response, 201, { Id: this.#exec(this.#find(first), heard.json) })
        return
      case 'GET /exec/:id/json':
        send(response, 200, this.#execOf(first).shown)
        return
      case 'POST /exec/:id/resize':
        this.#execOf(first).size = `${query.get('h')}x${query.get('w')}`
        send(response, 200)
        return
      default:
        if (method === 'GET' && path.startsWith('/images/') && path.endsWith('/json')) {
          const name = decodeURIComponent(path.slice('/images/'.length, -'/json'.length))
          if (!this.images.has(withTag(name))) throw new Refusal(404, `No such image: ${name}`)
          send(response, 200, { Id: `sha256:${'0'.repeat(64)}` })
          return
        }
        if (method === 'DELETE' && path.startsWith('/images/')) {
          send(response, 200, this.#untag(decodeURIComponent(path.slice('/images/'.length))))
          return
        }
        throw new Refusal(404, 'page not found')
    }
  }

  #untag(name: string): unknown {
    const image = withTag(name)
    const isUsed = [...this.containers.values()].some(({ asked }) => withTag(asked.Image) === image)
    if (isUsed) throw new Refusal(409, `conflict: unable to remove ${name}: a container uses it`)
    if (!this.images.delete(image)) throw new Refusal(404, `No such image: ${name}`)
    return [{ Untagged: image }]
  }

  async #pull(query: URLSearchParams, response: ServerResponse): Promise<void> {
    const name = query.get('fromImage') ?? ''
    const image = `${name}:${query.get('tag') ?? 'latest'}`
    const found = this.registry.get(image)
    if (found === undefined) {
      throw new Refusal(404, `pull access denied for ${name}, repository does not exist`)
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write(`${JSON.stringify({ status: 'Pulling from library', id: 'x' })}\r\n`)
    await this.pulls
    if (typeof found === 'string') {
      response.end(`${JSON.stringify({ error: found, errorDetail: { message: found } })}\r\n`)
      return
    }
    this.images.set(image, found)
    response.end(`${JSON.stringify({ status: 'Download complete' })}\r\n`)
  }

  #create(name: string, asked: Asked): string {
    if ([...this.containers.values()].some((one) => one.name === name)) {
      throw new Refusal(409, `Conflict. The container name "/${name}" is already in use`)
    }
    const image = this.images.get(withTag(asked.Image))
    if (image === undefined) throw new Refusal(404, `No such image: ${asked.Image}`)
    const words = [...(asked.Entrypoint ?? []), ...(asked.Cmd ?? image.words)]
    const container = new Container(randomBytes(32).toString('hex'), name, asked, words)
    this.containers.set(container.id, container)
    return container.id
  }

  #find(key: string): Container {
    const found = [...this.containers.values()].find(({ id, name }) => id === key || name === key)
    if (found === undefined) throw new Refusal(404, `No such container: ${key}`)
    return found
  }

  #remove(container: Container, force: boolean): void {
    if (container.status === 'running') {
      if (!force) throw new Refusal(409, `container ${container.id} is running`)
      container.end()
    }
    this.containers.delete(container.id)
  }

  #listed(query: URLSearchParams): unknown {
    const { label = [] } = JSON.parse(query.get('filters') ?? '{}') as { label?: string[] }
    return [...this.containers.values()]
      .filter(({ asked }) =>
        label.every((word) => {
          const [name = '', value] = word.split('=')
          return asked.Labels[name] === value
        }),
      )
      .map(({ id, name, asked, status }) => ({
        Id: id,
        Names: [`/${name}`],
        Labels: asked.Labels,
        State: status,
      }))
  }

  #inspected({ id, name, asked, status, exitCode, oomKilled, pid }: Container): unknown {
    const { stopSignal } = this.images.get(withTag(asked.Image)) ?? shell
    return {
      Id: id,
      Name: `/${name}`,
      State: {
        Status: status,
        Running: status === 'running',
        ExitCode: exitCode,
        OOMKilled: oomKilled,
        Error: '',
        Pid: pid,
      },
      Config: {
        Labels: asked.Labels,
        Tty: asked.Tty,
        ...(stopSignal !== undefined && { StopSignal: stopSignal }),
      },
      HostConfig: asked.HostConfig,
    }
  }

  #exec(container: Container, json: unknown): string {
    if (container.status !== 'running') {
      throw new Refusal(409, `container ${container.id} is not running`)
    }
    const id = randomBytes(32).toString('hex')
    this.#execs.set(id, new ContainerExec(container, json))
    return id
  }

  #execOf(id: string): ContainerExec {
    const found = this.#execs.get(id)
    if (found === undefined) throw new Refusal(404, `No such exec instance: ${id}`)
    return found
  }

  /** `exec` takes the connection over. The body of the request comes with what follows its head. */
  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const length = Number(request.headers['content-length'] ?? 0)
    socket.on('error', () => {})
    this.#upgraded.add(socket)
    socket.once('close', () => this.#upgraded.delete(socket))
    let body = head
    while (body.length < length) {
      const [chunk] = (await once(socket, 'data')) as [Buffer]
      body = Buffer.concat([body, chunk])
    }
    const heard = heardOf(request, body.subarray(0, length))
    this.heard.push(heard)
    const [, , id = ''] = heard.path.split('/')
    this.#execOf(id).start(socket)
  }
}

function heardOf(request: IncomingMessage, body: Buffer): Heard {
  const { method = '', url = '', headers } = request
  const { pathname, searchParams } = new URL(url, 'http://docker')
  const text = body.toString('utf8')
  return {
    method,
    version: /^\/(v\d+\.\d+)\//.exec(pathname)?.[1] ?? '',
    path: pathname.replace(/^\/v\d+\.\d+/, ''),
    query: searchParams,
    headers,
    json: text === '' ? undefined : (JSON.parse(text) as unknown),
  }
}

/** By its name or its number. */
function signalOf(text: string): NodeJS.Signals {
  const names = Object.entries(constants.signals)
  const [name] = names.find(([known, number]) => known === text || String(number) === text) ?? []
  if (name === undefined) throw new Refusal(400, `Invalid signal: ${text}`)
  return name as NodeJS.Signals
}

function send(response: ServerResponse, status: number, json?: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(json === undefined ? undefined : JSON.stringify(json))
}

function wait(container: Container, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.flushHeaders()
  const end = (): void => void response.end(JSON.stringify({ StatusCode: container.exitCode }))
  if (container.status === 'running') container.once('ended', end)
  else end()
}

async function logs(
  container: Container,
  query: URLSearchParams,
  response: ServerResponse,
  pace: DockerEngine['pace'],
): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/vnd.docker.raw-stream' })
  response.flushHeaders()
  const [seconds = '0', fraction = ''] = (query.get('since') ?? '0').split('.')
  const sinceNs = BigInt(seconds) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'))
  const write = (piece: Piece): void => {
    if (piece.ns >= sinceNs) response.write(framed(piece, container.asked.Tty))
  }
  const follows = query.get('follow') === 'true'
  for (const piece of container.pieces) {
    if (!follows && pace !== null) await pace()
    write(piece)
  }
  if (!follows || container.status !== 'running') {
    response.end()
    return
  }
  container.on('piece', write)
  container.once('ended', () => response.end())
  response.once('close', () => container.off('piece', write))
}

function framed({ stream, ns, data }: Piece, tty: boolean): Buffer {
  const ms = Number(ns / 1_000_000n)
  const time = `${new Date(ms).toISOString().slice(0, 20)}${String(ns % 1_000_000_000n).padStart(9, '0')}Z `
  const payload = Buffer.concat([Buffer.from(time), data])
  if (tty) return payload
  const head = Buffer.alloc(8)
  head[0] = stream === 'stdout' ? 1 : 2
  head.writeUInt32BE(payload.length, 4)
  return Buffer.concat([head, payload])
}

const stats = {
  cpu_stats: {
    cpu_usage: {
      total_usage: 750e6,
      usage_in_kernelmode: 250e6,
      usage_in_usermode: 500e6,
    },
    system_cpu_usage: 12e9,
    online_cpus: 2,
  },
  precpu_stats: {
    cpu_usage: {
      total_usage: 250e6,
      usage_in_kernelmode: 150e6,
      usage_in_usermode: 100e6,
    },
    system_cpu_usage: 10e9,
    online_cpus: 2,
  },
  memory_stats: { usage: 12 * 1024 * 1024, stats: { inactive_file: 2 * 1024 * 1024 } },
}

function withTag(image: string): string {
  return image.lastIndexOf(':') > image.lastIndexOf('/') ? image : `${image}:latest`
}
