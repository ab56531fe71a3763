/** etcd as a system under test: Debian's build with default settings, through its HTTP gateway. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { appendFile, mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { guardProcesses } from '../../test/support/cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { freePorts } from '../../test/support/free-ports.ts'
import { HttpClient } from '../../test/support/http-client.ts'
import { httpRequest, keyOf, valueOf, type Member, type ReadKind, type System } from './system.ts'

const binary = '/usr/bin/etcd'
const members = 3

export const etcdIsInstalled = existsSync(binary)

type Process = {
  readonly name: string
  readonly clientPort: number
  readonly peerPort: number
  readonly http: HttpClient
  child: ChildProcess | null
}

export class EtcdSystem implements System {
  readonly name = 'etcd'
  readonly size = members
  readonly #folder: string
  readonly #processes: readonly Process[]
  readonly #guard: ChildProcess

  private constructor(folder: string, processes: readonly Process[], guard: ChildProcess) {
    this.#folder = folder
    this.#processes = processes
    this.#guard = guard
  }

  static async start(parentFolder: string): Promise<EtcdSystem> {
    const folder = await mkdtemp(join(parentFolder, 'etcd-'))
    const pidFile = join(folder, 'pids')
    await writeFile(pidFile, '')
    const processes: Process[] = []
    for (let at = 0; at < members; at += 1) {
      const [clientPort = 0, peerPort = 0] = await freePorts(2)
      const http = new HttpClient(clientPort)
      processes.push({ name: `e${at + 1}`, clientPort, peerPort, http, child: null })
    }
    const system = new EtcdSystem(folder, processes, guardProcesses(folder, pidFile))
    for (const process of processes) await system.#start(process)
    await system.leader()
    return system
  }

  member(at: number): Member {
    const process = this.#process(at)
    return { httpPort: process.clientPort, pid: process.child?.pid ?? null }
  }

  async leader(): Promise<number> {
    return eventually('etcd has a leader that all members know', async () => {
      const statuses = await Promise.all(this.#processes.map((process) => statusOf(process)))
      const leaders = new Set(statuses.map(({ leader }) => leader))
      const [leader] = leaders
      if (leaders.size !== 1 || leader === undefined || leader === '0') return undefined
      const at = statuses.findIndex(({ id }) => id === leader)
      return at < 0 ? undefined : at
    })
  }

  async term(): Promise<number> {
    return (await statusOf(this.#process(await this.leader()))).term
  }

  async kill(at: number): Promise<void> {
    const { child } = this.#process(at)
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }

  async launch(at: number): Promise<void> {
    await this.#start(this.#process(at))
  }

  async revive(at: number): Promise<void> {
    await this.launch(at)
    await this.leader()
  }

  putRequest(key: number): string {
    const body = { key: base64(keyOf(key)), value: base64(valueOf(key)) }
    return httpRequest('POST', '/v3/kv/put', JSON.stringify(body))
  }

  getRequest(key: number, kind: ReadKind): string {
    const body = { key: base64(keyOf(key)), serializable: kind === 'stale' }
    return httpRequest('POST', '/v3/kv/range', JSON.stringify(body))
  }

  keyPutRequest(key: number): string {
    return this.putRequest(key)
  }

  keyGetRequest(key: number): string {
    return this.getRequest(key, 'linearizable')
  }

  sessionRequest(key: number): string {
    return this.putRequest(key)
  }

  async stop(): Promise<void> {
    for (const [at, { http }] of this.#processes.entries()) {
      await this.kill(at)
      http.close()
    }
    this.#guard.kill('SIGKILL')
    await rm(this.#folder, { recursive: true, force: true })
  }

  async #start(process: Process): Promise<void> {
    const client = `http://127.0.0.1:${process.clientPort}`
    const peer = `http://127.0.0.1:${process.peerPort}`
    const cluster = this.#processes.map(
      ({ name, peerPort }) => `${name}=http://127.0.0.1:${peerPort}`,
    )
    const options = {
      name: process.name,
      'data-dir': join(this.#folder, process.name),
      'listen-client-urls': client,
      'advertise-client-urls': client,
      'listen-peer-urls': peer,
      'initial-advertise-peer-urls': peer,
      'initial-cluster': cluster.join(','),
      'initial-cluster-state': 'new',
      'log-level': 'error',
    }
    const log = await open(join(this.#folder, `${process.name}.log`), 'a')
    const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`)
    process.child = spawn(binary, args, { stdio: ['ignore', log.fd, log.fd] })
    await log.close()
    await appendFile(join(this.#folder, 'pids'), `${process.child.pid}\n`)
  }

  #process(at: number): Process {
    const process = this.#processes[at]
    if (process === undefined) throw new RangeError(`no member ${at}`)
    return process
  }
}

async function statusOf({ http }: Process): Promise<{ id: string; leader: string; term: number }> {
  const options = { body: '{}', timeoutMs: 1_000 }
  const status = (await http.json('POST', '/v3/maintenance/status', options)) as {
    header: { member_id: string }
    leader?: string
    raftTerm?: string
  }
  const { leader = '0', raftTerm = '0' } = status
  return { id: status.header.member_id, leader, term: Number(raftTerm) }
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
