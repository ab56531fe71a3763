/** A job of the driver `exec` on a real agent: what its task sees, that it outlives its agent's kill, and that nothing outlives it. */
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { processesWith } from '../../src/client-agent/drivers/process-identity.ts'
import { run } from '../cli/terminal.ts'
import { countOf } from '../support/command-lines.ts'
import { startClientAgent } from '../support/client-agent.ts'
import { startCluster } from '../support/cluster.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'

t.setTimeout(180_000)

type Allocation = {
  readonly ID: string
  readonly ClientStatus: string
  readonly TaskStates: Readonly<Record<string, { readonly Restarts: number }>>
}
type Driver = { readonly Healthy: boolean; readonly HealthDescription: string }
type Shown = { readonly ID: string; readonly Drivers: Readonly<Record<string, Driver>> }

/** Of this test alone, also where it runs twice on one machine. */
const nap = String(2_000_000 + process.pid)

/** Says what it sees, leaves daemons, and counts as long as it lives. */
const script = [
  'echo "user $(id -un) pid $$ secret $(cat /secrets/key)"',
  'echo "others $(ls -d /proc/[0-9]* | wc -l) $(ls -d "$AGENT" /root /etc/shadow 2>/dev/null | wc -l)"',
  `setsid sh -c "env -i sleep ${nap} & exec sleep ${nap}" &`,
  'echo up',
  'while :; do echo more >>/alloc/data/more; sleep 0.1; done',
].join('\n')

function jobOf(agent: string) {
  const task = {
    Name: 'main',
    Driver: 'exec',
    Config: { command: 'sh', args: ['-c', script] },
    Env: { AGENT: agent },
    Templates: [
      { EmbeddedTmpl: 'from a template', DestPath: '${NOMAD_SECRETS_DIR}/key', Perms: '0600' },
    ],
    KillTimeout: 5_000_000_000,
    Resources: { CPU: 20, MemoryMB: 32 },
    LogConfig: { MaxFiles: 2, MaxFileSizeMB: 1 },
  }
  // A machine that is busy may start the agent so late that its node is down meanwhile.
  const kept = { MaxClientDisconnect: 3_600_000_000_000 }
  const group = { Name: 'g', ...kept, EphemeralDisk: { SizeMB: 10 }, Tasks: [task] }
  return {
    ID: 'walled',
    Name: 'walled',
    Type: 'service',
    Datacenters: ['dc1'],
    TaskGroups: [group],
  }
}

const sleepers = () => countOf('sleep', nap)

t.test('a task within walls outlives its agent, and nothing outlives the task', async (t) => {
  const cluster = await startCluster(t, { gossip: true })
  const { process: agent } = await startClientAgent(t, cluster, { name: 'c1' })
  const http = cluster.http(0)
  const node = await eventually('the node is ready', async () => {
    const nodes = (await http.json('GET', '/v1/nodes')) as readonly (Shown & { Status: string })[]
    return nodes.find(({ Status }) => Status === 'ready')
  })
  const muster = (...words: readonly string[]) =>
    run(words, { env: { MUSTER_ADDR: `http://127.0.0.1:${agent.spec.ports.http}` } })
  const { Drivers } = (await http.json('GET', `/v1/node/${node.ID}`)) as Shown
  const exec = Drivers['exec']
  const status = await muster('node', 'status', '-verbose', node.ID)
  t.match(status.out, exec?.HealthDescription ?? 'exec is there')
  if (exec?.Healthy !== true) {
    t.match(exec?.HealthDescription, /^exec needs /)
    t.comment(`NOTHING IS RUN: ${exec?.HealthDescription}`)
    return
  }
  t.match(status.out, /\ndriver\.exec += 1\n/)

  const body = JSON.stringify({ Job: jobOf(agent.dataFolder) })
  const registered = await http.request('PUT', '/v1/jobs', { body })
  t.equal(registered.status, 200, registered.body.toString())
  const { ID: id } = await eventually('it runs', async () => {
    const all = (await http.json('GET', '/v1/job/walled/allocations')) as readonly Allocation[]
    return all.find(({ ClientStatus }) => ClientStatus === 'running')
  })
  const allocation = async () => (await http.json('GET', `/v1/allocation/${id}`)) as Allocation
  const mine = () => processesWith([`MUSTER_ALLOC_ID=${id}`])
  t.teardown(async () => {
    for (const pid of await mine()) process.kill(pid, 'SIGKILL')
  })
  const printed = await eventually('it says what it sees', async () => {
    const { out } = await muster('alloc', 'logs', id)
    return out.endsWith('up\n') ? out : undefined
  })
  t.match(printed, /^user nobody pid \d+ secret from a template\nothers [3-6] 0\nup\n$/)
  const beside = await muster('alloc', 'exec', id, 'sh', '-c', 'id -un; echo $PWD; exit 7')
  t.match(beside, { code: 7, out: 'nobody\n/\n' })
  const stats = await muster('alloc', 'status', '-stats', id)
  t.match(stats.out, /\nMemory +=.*\d\.\d\/32 MiB\n/)

  const before = await mine()
  await agent.kill()
  const more = async () => (await readFile(file, 'utf8')).length
  const file = `${agent.dataFolder}/allocations/${id}/alloc/data/more`
  const counted = await more()
  await eventuallyTrue('it goes on without its agent', async () => (await more()) > counted + 5)
  await agent.start()
  await eventuallyTrue('the agent has it again', async () => {
    const { code, out } = await muster('alloc', 'exec', id, 'cat', '/secrets/key')
    return code === 0 && out === 'from a template'
  })
  const again = await eventually('servers have it again', async () => {
    const one = await allocation()
    return one.ClientStatus === 'running' ? one : undefined
  })
  t.equal(again.TaskStates['main']?.Restarts, 0)
  const after = await mine()
  t.ok(before[0] !== undefined && after.includes(before[0]), 'it is the same process')

  t.equal(await sleepers(), 2)
  t.match(await muster('job', 'stop', 'walled'), { code: 0 })
  await eventuallyTrue('it is complete', async () => {
    return (await allocation()).ClientStatus === 'complete'
  })
  t.equal(await sleepers(), 0, 'its daemons are gone')
  t.same(await mine(), [])
})
