/** Containers on a real client agent, by a stand-in for the daemon: they outlive the agent, and the daemon's health is the node's. */
import t from 'tap'
import { run } from '../cli/terminal.ts'
import { startClientAgent } from '../support/client-agent.ts'
import { startCluster } from '../support/cluster.ts'
import { DockerEngine } from '../support/docker/engine.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'

t.setTimeout(180_000)

type Allocation = {
  readonly ID: string
  readonly ClientStatus: string
  readonly DesiredStatus: string
  readonly TaskStates: Readonly<
    Record<
      string,
      {
        readonly Restarts: number
        readonly Events: readonly { readonly Type: string; readonly DisplayMessage: string }[]
      }
    >
  > | null
}
type Node = {
  readonly ID: string
  readonly Attributes: Readonly<Record<string, string>>
  readonly Drivers: Readonly<
    Record<string, { readonly Healthy: boolean; readonly HealthDescription: string }>
  >
}

const script = [
  'echo "started in $NOMAD_TASK_DIR"',
  'trap "echo asked; exit 0" TERM',
  'echo kept > /data/mark',
  'n=0; while :; do n=$((n+1)); echo "line $n"; sleep 0.1; done',
].join('\n')

const task = {
  Name: 'main',
  Driver: 'docker',
  Config: { image: 'web:1', command: '/bin/sh', args: ['-c', script] },
  VolumeMounts: [{ Volume: 'disk', Destination: '/data' }],
  KillTimeout: 5e9,
  Resources: { CPU: 20, MemoryMB: 16 },
  LogConfig: { MaxFiles: 2, MaxFileSizeMB: 1 },
}
const group = {
  Name: 'g',
  EphemeralDisk: { SizeMB: 10 },
  // A busy machine may take longer to start an agent than servers wait for a dead one.
  MaxClientDisconnect: 600e9,
  Volumes: { disk: { Type: 'host', Source: 'disk' } },
  Tasks: [task],
}
const job = { ID: 'web', Name: 'web', Type: 'service', Datacenters: ['dc1'], TaskGroups: [group] }

t.test('a container outlives its agent, which finds it again', async (t) => {
  const docker = await DockerEngine.start(t)
  docker.registry.set('web:1', { words: ['/bin/sh'] })
  const cluster = await startCluster(t, { gossip: true, servers: 1 })
  const disk = t.testdir()
  const agent = await startClientAgent(t, cluster, {
    client: { host_volume: { disk: { path: disk } } },
    config: {
      plugin: {
        docker: { config: { enabled: true, endpoint: `unix://${docker.socketPath}` } },
      },
    },
  })
  const http = cluster.http(0)
  const node = async (): Promise<Node | undefined> => {
    const [stub] = (await http.json('GET', '/v1/nodes')) as readonly {
      ID: string
      Status: string
    }[]
    if (stub?.Status !== 'ready') return undefined
    return (await http.json('GET', `/v1/node/${stub.ID}`)) as Node
  }
  const ready = await eventually('the node is ready', node)
  t.match(ready.Drivers['docker'], { Healthy: true })
  t.match(ready.Attributes, { 'driver.docker': '1', 'driver.docker.version': '27.3.1' })

  await docker.down()
  const away = await eventually('the daemon is away', async () => {
    const found = await node()
    return found?.Drivers['docker']?.Healthy === false ? found : undefined
  })
  t.match(away.Drivers['docker'], { HealthDescription: /cannot be reached: there is no such/ })
  t.notOk('driver.docker' in away.Attributes)
  await docker.up()
  await eventuallyTrue('it is back', async () => {
    return (await node())?.Drivers['docker']?.Healthy === true
  })

  const body = JSON.stringify({ Job: job })
  const { status } = await http.request('PUT', '/v1/jobs', { body })
  t.equal(status, 200)
  const allocation = async (): Promise<Allocation | undefined> =>
    ((await http.json('GET', '/v1/job/web/allocations')) as readonly Allocation[])[0]
  const { ID: id, TaskStates } = await eventually('it runs', async () => {
    const found = await allocation()
    return found?.ClientStatus === 'running' ? found : undefined
  })
  t.match(
    TaskStates?.['main']?.Events.find(({ Type }) => Type === 'Driver'),
    { DisplayMessage: 'Downloading image web:1' },
  )
  const output = async (): Promise<readonly string[]> => {
    const path = `/v1/client/fs/logs/${id}?task=main&type=stdout&plain=true`
    const { body: text } = await http.request('GET', path)
    return text.toString().split('\n').slice(0, -1)
  }
  await eventuallyTrue('its output is here', async () => (await output()).includes('line 3'))

  const env = { MUSTER_ADDR: `http://127.0.0.1:${cluster.servers[0]?.spec.ports.http}` }
  const muster = async (...words: readonly string[]) => {
    const { code, out, err } = await run(['alloc', ...words], { env })
    return { code, out, err }
  }
  const said = await muster(
    'exec',
    id,
    'sh',
    '-c',
    'echo "$NOMAD_SECRETS_DIR"; echo no >&2; exit 7',
  )
  t.match(said, { code: 7, out: new RegExp(`/${id}/main/secrets\n$`), err: 'no\n' })
  t.match(await muster('status', '-stats', id), { out: /\nMemory +=.*10(\.0)?\/16 MiB\n/ })

  const { pid } = docker.container
  await agent.process.kill()
  const written = docker.container.pieces.length
  await eventuallyTrue('it goes on', () =>
    Promise.resolve(docker.container.pieces.length > written + 3),
  )
  await agent.process.start()
  await eventuallyTrue('all of its output is here, once', async () => {
    const [first, ...lines] = await output()
    if (first === undefined || !first.endsWith(`/${id}/main/local`)) return false
    const strange = lines.findIndex((line, at) => line !== `line ${at + 1}`)
    if (strange >= 0) throw new Error(lines.slice(Math.max(0, strange - 3), strange + 3).join())
    return lines.length > written + 3
  })
  t.equal(docker.container.pid, pid, 'it is the same')
  t.equal((await allocation())?.TaskStates?.['main']?.Restarts, 0)
  const { status: stopped } = await http.request('DELETE', '/v1/job/web')
  t.equal(stopped, 200)
  await eventuallyTrue('it ended', async () => {
    return (await allocation())?.ClientStatus === 'complete'
  })
  t.equal((await output()).at(-1), 'asked')
  t.equal(docker.containers.size, 0)
})
