/** Jobs on real client agents: placed, replaced when a machine dies, moved by a drain, kept over restarts; nothing runs twice. */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startClientAgent, type ClientAgent } from '../support/client-agent.ts'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'
import type { HttpClient } from '../support/http-client.ts'

t.setTimeout(300_000)

type Shown = {
  readonly ID: string
  readonly Name: string
  readonly NodeID: string
  readonly JobVersion: number
  readonly ClientStatus: string
  readonly DesiredStatus: string
}

/** Writes its process id under the id of its allocation, and takes a moment to end. */
const script = [
  'echo $$ > "$MARKS/$NOMAD_ALLOC_ID"',
  'trap "exit 0" INT TERM',
  'echo "$GREETING from $NOMAD_ALLOC_INDEX"',
  'while :; do sleep 0.1; done',
].join('\n')

function jobOf(id: string, count: number, marks: string, greeting = 'hello') {
  const task = {
    Name: 'main',
    Driver: 'raw_exec',
    Config: { command: '/bin/sh', args: ['-c', script] },
    Env: { MARKS: marks, GREETING: greeting },
    KillTimeout: 5_000_000_000,
    Resources: { CPU: 20, MemoryMB: 16 },
  }
  const group = {
    Name: 'g',
    Count: count,
    EphemeralDisk: { SizeMB: 10 },
    Update: { MaxParallel: 0 },
    Migrate: { MaxParallel: 2, MinHealthyTime: 1_000_000_000, HealthyDeadline: 60_000_000_000 },
    Tasks: [{ ...task, LogConfig: { MaxFiles: 2, MaxFileSizeMB: 1 } }],
  }
  return JSON.stringify({
    Job: { ID: id, Name: id, Type: 'service', Datacenters: ['dc1'], TaskGroups: [group] },
  })
}

/** It is well as long as a file is there that its start makes. */
function checkedJobOf(id: string, marks: string, file: string) {
  const check = {
    Type: 'script',
    Command: '/bin/sh',
    Args: ['-c', 'test -e "$FILE" && echo "${NOMAD_TASK_NAME} is well"'],
    Interval: 1_000_000_000,
    Timeout: 1_000_000_000,
    CheckRestart: { Limit: 2, Grace: 0 },
  }
  const task = {
    Name: 'main',
    Driver: 'raw_exec',
    Config: { command: '/bin/sh', args: ['-c', `touch "$FILE"\n${script}`] },
    Env: { MARKS: marks, FILE: file },
    RestartPolicy: { Attempts: 1, Interval: 600_000_000_000, Delay: 1_000_000, Mode: 'fail' },
    Services: [{ Name: id, Checks: [check] }],
    Resources: { CPU: 20, MemoryMB: 16 },
    LogConfig: { MaxFiles: 2, MaxFileSizeMB: 1 },
  }
  const group = { Name: 'g', EphemeralDisk: { SizeMB: 10 }, Tasks: [task] }
  return JSON.stringify({
    Job: { ID: id, Name: id, Type: 'service', Datacenters: ['dc1'], TaskGroups: [group] },
  })
}

/** The script of its check finds a file gone, and the task makes it anew. */
async function isRestartedByItsCheck(http: HttpClient, job: string, file: string) {
  const isWell = async () => {
    const path = `/v1/health/service/${job}?passing`
    const found = (await http.json('GET', path)) as readonly {
      readonly Checks: readonly { readonly Type: string; readonly Output: string }[]
    }[]
    return (
      found[0]?.Checks.some(
        (check) => check.Output === 'main is well\n' && check.Type === 'script',
      ) === true
    )
  }
  await eventuallyTrue('its check passes', isWell)
  rmSync(file)
  await eventuallyTrue('it was restarted, and is well', async () => {
    const [shown] = (await http.json('GET', `/v1/job/${job}/allocations`)) as readonly {
      readonly TaskStates: Readonly<Record<string, { readonly Restarts: number }>>
    }[]
    return shown?.TaskStates['main']?.Restarts === 1 && (await isWell())
  })
}

const clientConfig = {
  plugin: { raw_exec: { config: { enabled: true } } },
}

async function workers(
  t: Test,
  cluster: Cluster,
  count: number,
  client: Readonly<Record<string, unknown>> = {},
): Promise<readonly ClientAgent[]> {
  const agents: ClientAgent[] = []
  for (let at = 1; at <= count; at += 1) {
    const options = { name: `c${at}`, config: clientConfig, client }
    agents.push(await startClientAgent(t, cluster, options))
  }
  await eventuallyTrue('all nodes are ready', async () => {
    const nodes = (await cluster.http(0).json('GET', '/v1/nodes')) as readonly { Status: string }[]
    return nodes.length === count && nodes.every(({ Status }) => Status === 'ready')
  })
  return agents
}

async function register(http: HttpClient, body: string): Promise<{ EvalID: string }> {
  const { status, body: answer } = await http.request('PUT', '/v1/jobs', { body })
  if (status !== 200) throw new Error(`${status} ${answer.toString()}`)
  return JSON.parse(answer.toString()) as { EvalID: string }
}

async function allocationsOf(http: HttpClient, job: string): Promise<readonly Shown[]> {
  return (await http.json('GET', `/v1/job/${job}/allocations`)) as readonly Shown[]
}

function isLive({ DesiredStatus, ClientStatus }: Shown): boolean {
  return DesiredStatus === 'run' && ClientStatus === 'running'
}

/** A folder for the marks of tasks; those that are left when the test fails are killed with it. */
function marksOf(t: Test): string {
  const marks = t.testdir()
  t.teardown(() => {
    for (const id of aliveIn(marks)) process.kill(-groupOf(marks, id), 'SIGKILL')
  })
  return marks
}

/** The process that leads the task's group is the one above it. */
function groupOf(marks: string, id: string): number {
  const pid = readFileSync(join(marks, id), 'utf8').trim()
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2])
}

function isAlive(pid: number): boolean {
  try {
    const [, state = 'Z'] =
      /^State:\s+(\S)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return state !== 'Z'
  } catch {
    return false
  }
}

/** Ids of the allocations whose processes live. */
function aliveIn(marks: string): readonly string[] {
  return readdirSync(marks).filter((id) => {
    const pid = Number(readFileSync(join(marks, id), 'utf8').trim())
    return pid > 0 && isAlive(pid)
  })
}

/** A machine that dies takes its agent and what ran on it along. */
async function machineDies(agent: ClientAgent, marks: string, ids: readonly string[]) {
  await agent.process.kill()
  for (const id of ids) {
    const pid = Number(readFileSync(join(marks, id), 'utf8').trim())
    if (pid > 0 && isAlive(pid)) process.kill(pid, 'SIGKILL')
  }
}

async function nodeNamed(http: HttpClient, name: string): Promise<string> {
  const nodes = (await http.json('GET', '/v1/nodes')) as readonly { ID: string; Name: string }[]
  return nodes.find(({ Name }) => Name === name)?.ID ?? ''
}

/** Exactly these processes, and each once. What the servers say may be older than what the machines run. */
async function runsJust(t: Test, http: HttpClient, job: string, marks: string, count: number) {
  const live = await eventually(
    `the processes are those of ${count} live allocations of ${job}`,
    async () => {
      const found = (await allocationsOf(http, job)).filter(isLive)
      const ids = found.map(({ ID }) => ID)
      const isSame = aliveIn(marks).toSorted().join() === ids.toSorted().join()
      return isSame && found.length === count ? found : undefined
    },
    { timeoutMs: 60_000 },
  )
  const names = new Set(live.map(({ Name }) => Name))
  t.equal(names.size, count, 'of each name there is one')
  return live
}

void t.test(
  'a job is placed, replaced when a machine dies, drained, changed and stopped',
  async (t) => {
    const cluster = await startCluster(t, { gossip: true })
    const agents = await workers(t, cluster, 3)
    const marks = marksOf(t)
    const http = cluster.http(0)
    await register(http, jobOf('web', 12, marks))
    const first = await runsJust(t, http, 'web', marks, 12)
    t.equal(new Set(first.map(({ NodeID }) => NodeID)).size, 3, 'on all nodes')

    // A machine dies.
    const c1 = await nodeNamed(http, 'c1')
    const onC1 = first.filter(({ NodeID }) => NodeID === c1).map(({ ID }) => ID)
    const [agent] = agents
    if (agent === undefined) throw new Error('no agent')
    const beganMs = performance.now()
    await machineDies(agent, marks, onC1)
    await eventuallyTrue('its allocations are lost', async () => {
      const all = await allocationsOf(http, 'web')
      return all.filter(({ ClientStatus }) => ClientStatus === 'lost').length === onC1.length
    })
    await runsJust(t, http, 'web', marks, 12)
    t.comment(`replaced after ${Math.round(performance.now() - beganMs)} ms`)

    // The leader dies while another machine is drained.
    const c2 = await nodeNamed(http, 'c2')
    const leader = await cluster.waitForLeader()
    const other = cluster.http((leader + 1) % cluster.size)
    await agent.process.start()
    await eventuallyTrue('the machine is back', async () => {
      const { Status } = (await other.json('GET', `/v1/node/${c1}`)) as { Status: string }
      return Status === 'ready'
    })
    const body = JSON.stringify({ DrainSpec: { Deadline: 120_000_000_000 } })
    const { status } = await other.request('PUT', `/v1/node/${c2}/drain`, { body })
    t.equal(status, 200)
    await cluster.kill(leader)
    await eventuallyTrue(
      'the drain is complete',
      async () => {
        const { DrainStrategy } = (await other.json('GET', `/v1/node/${c2}`)) as {
          DrainStrategy: object | null
        }
        return DrainStrategy === null
      },
      { timeoutMs: 120_000 },
    )
    const left = (await allocationsOf(other, 'web')).filter(
      ({ NodeID, DesiredStatus }) => NodeID === c2 && DesiredStatus === 'run',
    )
    t.same(left, [], 'nothing is left on the drained node')
    await runsJust(t, other, 'web', marks, 12)
    await cluster.server(leader).start()

    // Another version, and the end.
    await register(other, jobOf('web', 8, marks, 'good day'))
    await eventuallyTrue('all are of the new version', async () => {
      const live = (await allocationsOf(other, 'web')).filter(isLive)
      return live.length === 8 && live.every(({ JobVersion }) => JobVersion === 1)
    })
    await runsJust(t, other, 'web', marks, 8)
    const stopped = await other.request('DELETE', '/v1/job/web')
    t.equal(stopped.status, 200)
    await eventuallyTrue('nothing runs', () => Promise.resolve(aliveIn(marks).length === 0))
    await eventuallyTrue('the job is dead', async () => {
      const { Status } = (await other.json('GET', '/v1/job/web')) as { Status: string }
      return Status === 'dead'
    })
  },
)

void t.test('tasks go on while their agent is killed, and are found again', async (t) => {
  const cluster = await startCluster(t, { gossip: true, servers: 1 })
  const [agent] = await workers(t, cluster, 1)
  if (agent === undefined) throw new Error('no agent')
  const marks = marksOf(t)
  const http = cluster.http(0)
  await register(http, jobOf('web', 3, marks))
  const before = await runsJust(t, http, 'web', marks, 3)
  const pids = before.map(({ ID }) => readFileSync(join(marks, ID), 'utf8'))
  await agent.process.kill()
  t.equal(aliveIn(marks).length, 3, 'tasks outlive their agent')
  await agent.process.start()
  await eventuallyTrue('the node is ready again', async () => {
    const nodes = (await http.json('GET', '/v1/nodes')) as readonly { Status: string }[]
    return nodes.every(({ Status }) => Status === 'ready')
  })
  const after = await runsJust(t, http, 'web', marks, 3)
  t.same(after.map(({ ID }) => ID).toSorted(), before.map(({ ID }) => ID).toSorted())
  t.same(
    before.map(({ ID }) => readFileSync(join(marks, ID), 'utf8')),
    pids,
    'the same processes',
  )
  const file = join(cluster.folder, 'well')
  await register(http, checkedJobOf('checked', marks, file))
  await isRestartedByItsCheck(http, 'checked', file)
  await http.request('DELETE', '/v1/job/checked?purge=true')
  await http.request('DELETE', '/v1/job/web?purge=true')
  await eventuallyTrue('all have ended', () => Promise.resolve(aliveIn(marks).length === 0))
  t.ok(existsSync(marks))
})

void t.test('what an agent ends with itself is begun again when it is back', async (t) => {
  const cluster = await startCluster(t, { gossip: true, servers: 1 })
  const [agent] = await workers(t, cluster, 1, { stop_tasks_on_shutdown: true })
  if (agent === undefined) throw new Error('no agent')
  const marks = marksOf(t)
  const http = cluster.http(0)
  await register(http, jobOf('web', 3, marks))
  await runsJust(t, http, 'web', marks, 3)
  await agent.process.terminate()
  t.equal(aliveIn(marks).length, 0, 'tasks end with their agent')
  await agent.process.start()
  await runsJust(t, http, 'web', marks, 3)
  t.comment('the server is gone when the agent ends: it tells of that when both are back')
  await cluster.kill(0)
  await agent.process.terminate()
  await cluster.restart(0)
  await agent.process.start()
  await runsJust(t, http, 'web', marks, 3)
  await http.request('DELETE', '/v1/job/web?purge=true')
  await eventuallyTrue('all have ended', () => Promise.resolve(aliveIn(marks).length === 0))
})
