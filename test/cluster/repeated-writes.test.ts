/**
 * Leaders are killed and paused while clients of the other servers write what must not happen twice: they are answered, later
 * than usual, as if nothing had been, and each write took effect once.
 */
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { equalReplicas } from '../support/replicas.ts'

const kills = 4
const pauses = 3
/** Far longer than the others take to elect another one. */
const pauseMs = 1_500
const requestMs = 30_000
/** Of each kind, per server. */
const clientsPerServer = 3

type Entry = { readonly Value: string; readonly ModifyIndex: number; readonly LockIndex: number }

/** On a machine that is busy with others an election may take longer than a request waits. It surely did nothing then. */
const noLeader = /500 no cluster leader/

/** Clients of one server. A client that is not answered with 200 notes the answer. */
class Clients {
  readonly failures: string[] = []
  increments = 0
  /** Session ids by name. */
  readonly sessions = new Map<string, string>()
  readonly #cluster: Cluster
  readonly #at: number
  #wanted = true
  #running: Promise<unknown> = Promise.resolve()

  constructor(cluster: Cluster, at: number) {
    this.#cluster = cluster
    this.#at = at
  }

  begin(): void {
    this.#wanted = true
    const clients = Array.from({ length: clientsPerServer }, (_, client) => [
      this.#repeat(() => this.#increment()),
      this.#repeat((turn) => this.#createSession(`s${this.#at}-${client}-${turn}`)),
    ])
    this.#running = Promise.all(clients.flat())
  }

  async stop(): Promise<void> {
    this.#wanted = false
    await this.#running
  }

  async #repeat(act: (turn: string) => Promise<void>): Promise<void> {
    let turn = 0
    while (this.#wanted) {
      turn += 1
      await act(`${performance.now()}-${turn}`).catch((error: unknown) => {
        if (!noLeader.test(String(error)))
          this.failures.push(`server ${this.#at}: ${String(error)}`)
      })
      await delay(5)
    }
  }

  async #increment(): Promise<void> {
    const { value, index } = await counterAt(this.#cluster, this.#at)
    const body = String(value + 1)
    const written = await this.#ask('PUT', `/v1/kv/counter?cas=${index}`, body)
    if (written === 'true') this.increments += 1
  }

  async #createSession(name: string): Promise<void> {
    // Without checks: a session that ends with the health of a server that is killed could not be counted.
    const body = JSON.stringify({ Name: name, NodeChecks: [] })
    const { ID } = JSON.parse(await this.#ask('PUT', '/v1/session/create', body)) as { ID: string }
    this.sessions.set(name, ID)
  }

  #ask(method: string, path: string, body: string): Promise<string> {
    return ask(this.#cluster, this.#at, method, path, body)
  }
}

async function ask(
  cluster: Cluster,
  at: number,
  method: string,
  path: string,
  body?: string,
): Promise<string> {
  const options = { timeoutMs: requestMs, ...(body !== undefined && { body }) }
  const reply = await cluster.http(at).request(method, path, options)
  if (reply.status === 200) return reply.body.toString()
  throw new Error(`${method} ${path} is answered with ${reply.status} ${reply.body.toString()}`)
}

async function counterAt(cluster: Cluster, at: number) {
  const [row] = JSON.parse(await ask(cluster, at, 'GET', '/v1/kv/counter')) as Entry[]
  if (row === undefined) throw new Error('there is no counter')
  return { value: Number(Buffer.from(row.Value, 'base64')), index: row.ModifyIndex }
}

void t.test('writes on their way to a leader that is lost are answered all the same', async (t) => {
  const cluster = await startCluster(t)
  const clients = cluster.all.map((at) => new Clients(cluster, at))
  const clientsOf = (at: number) => clients[at] ?? new Clients(cluster, at)
  await ask(cluster, 0, 'PUT', '/v1/kv/counter', '0')
  for (const one of clients) one.begin()

  const takesWrites = (at: number) => async () =>
    (await cluster.variables(at).put(`back/${at}`, 'yes')).type === 'ok'
  for (let kill = 0; kill < kills; kill += 1) {
    const leader = await cluster.waitForLeader()
    // Whoever talks to a server that dies is not answered by it.
    await clientsOf(leader).stop()
    await cluster.kill(leader)
    await cluster.waitForLeader({ except: leader })
    await delay(200)
    await cluster.restart(leader)
    await eventuallyTrue('it is back', takesWrites(leader))
    clientsOf(leader).begin()
  }
  for (let pause = 0; pause < pauses; pause += 1) {
    const leader = await cluster.waitForLeader()
    cluster.pause(leader)
    await delay(pauseMs)
    cluster.resume(leader)
    // Else the next leader is paused, while this one waits to hear from it what became of its writes.
    await eventuallyTrue('it is back', takesWrites(leader))
  }
  await cluster.waitForLeader()
  for (const one of clients) await one.stop()

  const increments = clients.reduce((sum, one) => sum + one.increments, 0)
  const sessions = new Map(clients.flatMap((one) => [...one.sessions]))
  t.same(
    clients.flatMap(({ failures }) => failures),
    [],
    'all are answered',
  )
  t.equal((await counterAt(cluster, 0)).value, increments, 'each increment happened once')
  const listed = JSON.parse(await ask(cluster, 0, 'GET', '/v1/session/list?consistent')) as {
    readonly Name: string
    readonly ID: string
  }[]
  const pairs = (all: Iterable<readonly [string, string]>) =>
    [...all].map(([name, id]) => `${name} ${id}`).sort()
  t.same(
    pairs(listed.map(({ Name, ID }) => [Name, ID])),
    pairs(sessions),
    'each session was created once, and its client has its id',
  )
  t.ok((await equalReplicas(cluster, 'ready/')).length > 0, 'all servers have the same')
  const metrics = await Promise.all(
    cluster.all.map((at) => ask(cluster, at, 'GET', '/v1/metrics?format=prometheus')),
  )
  const lines = metrics.flatMap((text) => text.split('\n'))
  const settled = lines.filter((line) => line.includes('unanswered_writes'))
  t.comment(`${increments} increments, ${sessions.size} sessions\n${settled.join('\n')}`)
})
