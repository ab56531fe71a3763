/** What is done with tasks by hand, on real processes: through the leader, a follower, the agent that runs them and another one. */
import type { Test } from 'tap'
import { run } from '../../cli/terminal.ts'
import { eventually, eventuallyTrue } from '../../support/eventually.ts'
import type { WarmCluster } from '../../support/warm-cluster.ts'

type Shown = { readonly ID: string; readonly NodeName: string; readonly ClientStatus: string }

const script = 'trap "echo hup" HUP; echo started; while :; do sleep 0.1; done'

const job = {
  ID: 'handled',
  Name: 'handled',
  Type: 'service',
  Datacenters: ['dc1'],
  TaskGroups: [
    {
      Name: 'g',
      EphemeralDisk: { SizeMB: 10 },
      Tasks: [
        {
          Name: 'main',
          Driver: 'raw_exec',
          Config: { command: '/bin/sh', args: ['-c', script] },
          Resources: { CPU: 20, MemoryMB: 16 },
          LogConfig: { MaxFiles: 2, MaxFileSizeMB: 1 },
        },
        {
          Name: 'init',
          Driver: 'raw_exec',
          Lifecycle: { Hook: 'prestart' },
          Config: { command: '/bin/sh', args: ['-c', 'echo prepared'] },
          Resources: { CPU: 20, MemoryMB: 16 },
          LogConfig: { MaxFiles: 2, MaxFileSizeMB: 1 },
        },
      ],
    },
  ],
}

export async function handlesTasks(t: Test, { cluster, agents }: WarmCluster): Promise<void> {
  const http = cluster.http(0)
  t.teardown(() => http.request('DELETE', `/v1/job/${job.ID}?purge=true`))
  const { status } = await http.request('PUT', '/v1/jobs', { body: JSON.stringify({ Job: job }) })
  t.equal(status, 200)
  const { ID: id } = await eventually('it runs', async () => {
    const rows = (await http.json('GET', '/v1/job/handled/allocations')) as readonly Shown[]
    return rows.find(({ ClientStatus }) => ClientStatus === 'running')
  })
  const ways = [...cluster.servers, ...agents.map((agent) => agent.process)].map(
    ({ spec }) => spec.ports.http,
  )
  const muster = async (through: number, ...words: readonly string[]) => {
    const env = { MUSTER_ADDR: `http://127.0.0.1:${through}` }
    const { code, out, err } = await run(['alloc', ...words], { env })
    return { code, out, err }
  }
  // The allocation already runs while its prestart task does.
  await eventuallyTrue('the main task has its trap', async () => {
    const { out } = await muster(ways[0] ?? 0, 'fs', id, 'alloc/logs/main.stdout.0')
    return out === 'started\n'
  })
  for (const [at, through] of ways.entries()) {
    t.match(await muster(through, 'signal', '-s', 'SIGHUP', id, 'main'), { code: 0 })
    await eventuallyTrue('the task heard it', async () => {
      const { out } = await muster(through, 'fs', id, 'alloc/logs/main.stdout.0')
      return out === `started\n${'hup\n'.repeat(at + 1)}`
    })
    const said = await muster(
      through,
      'exec',
      '-task',
      'main',
      id,
      'sh',
      '-c',
      'pwd; echo wrong >&2; exit 7',
    )
    t.match(said, { code: 7, out: new RegExp(`/${id}/main\n$`), err: 'wrong\n' })
    t.match(await muster(through, 'fs', id, 'main/secrets'), { code: 1, err: /prohibited/ })
    const { out } = await muster(through, 'status', '-stats', id)
    t.match(out, /\nMemory +=.*\d\.\d\/16 MiB\n/)
  }
  const [, follower = 0] = ways
  t.match(await muster(follower, 'restart', id), { code: 0 })
  await eventuallyTrue('it was started again', async () => {
    const { out } = await muster(follower, 'status', id)
    return /\nTotal Restarts += 1\n/.test(out) && /Task "main" is running/.test(out)
  })
  t.match(await muster(follower, 'restart', '-all-tasks', id), { code: 0, out: /^All its tasks/ })
  await eventuallyTrue('what had ended ran once more', async () => {
    const [prepared, { out }] = await Promise.all([
      muster(follower, 'fs', id, 'alloc/logs/init.stdout.0'),
      muster(follower, 'status', id),
    ])
    return (
      prepared.out === 'prepared\nprepared\n' &&
      /\nTotal Restarts += 2\n/.test(out) &&
      /Task "main" is running/.test(out)
    )
  })
  t.match(await muster(follower, 'exec', '-task', 'main', id, '/none'), {
    code: 1,
    err: /no program/,
  })
  t.match(await muster(follower, 'restart', id, 'other'), { code: 1, err: /unknown task name/ })
}
