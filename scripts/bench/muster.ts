/** Muster as a system under test: real servers with default settings. */
import { join } from 'node:path'
import { Cluster } from '../../test/support/cluster.ts'
import { httpRequest, keyOf, valueOf, type Member, type ReadKind, type System } from './system.ts'

export class MusterSystem implements System {
  readonly name: string
  readonly #cluster: Cluster

  private constructor(name: string, cluster: Cluster) {
    this.name = name
    this.#cluster = cluster
  }

  /** `program`: an installed release instead of this checkout. */
  static async start(parentFolder: string, program?: string): Promise<MusterSystem> {
    const own = program === undefined ? {} : { program }
    return new MusterSystem(
      'Muster',
      await Cluster.start({ parentFolder, logLevel: 'warn', ...own }),
    )
  }

  /** What another checkout holds, with its packages installed: most often the code before a change. */
  static async startOther(parentFolder: string, checkout: string): Promise<MusterSystem> {
    const program = join(checkout, 'bin', 'muster')
    return new MusterSystem(
      'before',
      await Cluster.start({ parentFolder, logLevel: 'warn', program }),
    )
  }

  get size(): number {
    return this.#cluster.size
  }

  member(at: number): Member {
    const server = this.#cluster.server(at)
    return { httpPort: server.spec.ports.http, pid: server.pid }
  }

  async leader(): Promise<number> {
    return this.#cluster.waitForLeader()
  }

  async term(): Promise<number> {
    const self = await this.#cluster.http(await this.leader()).json('GET', '/v1/agent/self')
    const { stats } = self as { readonly stats: { readonly raft: { readonly term: string } } }
    return Number(stats.raft.term)
  }

  async kill(at: number): Promise<void> {
    await this.#cluster.kill(at)
  }

  async launch(at: number): Promise<void> {
    await this.#cluster.restart(at)
  }

  async revive(at: number): Promise<void> {
    await this.launch(at)
    await this.#cluster.waitForLeader()
  }

  putRequest(key: number): string {
    const body = JSON.stringify({ Items: { v: valueOf(key) } })
    return httpRequest('PUT', `/v1/var/${keyOf(key)}`, body)
  }

  getRequest(key: number, kind: ReadKind): string {
    const query = kind === 'stale' ? 'stale' : 'consistent'
    return httpRequest('GET', `/v1/var/${keyOf(key)}?${query}`, null)
  }

  keyPutRequest(key: number): string {
    return httpRequest('PUT', `/v1/kv/${keyOf(key)}`, valueOf(key))
  }

  keyGetRequest(key: number): string {
    return httpRequest('GET', `/v1/kv/${keyOf(key)}`, null)
  }

  sessionRequest(): string {
    return httpRequest('PUT', '/v1/session/create', '{}')
  }

  async stop(): Promise<void> {
    await this.#cluster.stop()
  }
}
