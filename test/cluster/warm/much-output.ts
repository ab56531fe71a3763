/** What writes or holds much is read whole, through everyone, and holds up nothing else of its node. */
import type { Test } from 'tap'
import { run } from '../../cli/terminal.ts'
import { eventually, eventuallyTrue } from '../../support/eventually.ts'
import type { WarmCluster } from '../../support/warm-cluster.ts'

const id = 'talks'
const fileBytes = 64 * 1_024 * 1_024
const script = 'echo started; while :; do sleep 0.2; echo goes on; done'
const linesMax = 10_000
/** Each line is a write of its own. */
const lines = `i=0; while [ $i -lt ${linesMax} ]; do echo "$i"; i=$((i+1)); done`

const job = {
  ID: id,
  Name: id,
  Type: 'service',
  Datacenters: ['dc1'],
  TaskGroups: [
    {
      Name: 'g',
      EphemeralDisk: { SizeMB: 200 },
      Tasks: [
        {
          Name: 'main',
          Driver: 'raw_exec',
          Config: { command: '/bin/sh', args: ['-c', script] },
          Resources: { CPU: 20, MemoryMB: 16 },
          LogConfig: { MaxFiles: 2, MaxFileSizeMB: 1 },
        },
      ],
    },
  ],
}

export async function readsMuch(t: Test, { cluster }: WarmCluster): Promise<void> {
  const http = cluster.http(0)
  t.teardown(() => http.request('DELETE', `/v1/job/${id}?purge=true`))
  const { status } = await http.request('PUT', '/v1/jobs', { body: JSON.stringify({ Job: job }) })
  t.equal(status, 200)
  const { ID: allocation } = await eventually('it runs', async () => {
    const rows = (await http.json('GET', `/v1/job/${id}/allocations`)) as readonly {
      readonly ID: string
      readonly ClientStatus: string
    }[]
    return rows.find(({ ClientStatus }) => ClientStatus === 'running')
  })
  const [, { spec: { ports } } = { spec: { ports: { http: 0 } } }] = cluster.servers
  const url = `http://127.0.0.1:${ports.http}`
  const env = { MUSTER_ADDR: url }
  const exec = (words: string) => run(['alloc', 'exec', allocation, 'sh', '-c', words], { env })
  const made = await exec(`head -c ${fileBytes} /dev/zero > big`)
  t.match(made, { code: 0 }, made.err)
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  const path = `/v1/client/fs/logs/${allocation}?task=main&type=stdout&follow=true&plain=true`
  const followed = await fetch(`${url}${path}`, { signal: stop.signal })
  let followedBytes = 0
  let broken: unknown = null
  const following = (async () => {
    for await (const part of followed.body ?? []) followedBytes += part.length
  })().catch((error: unknown) => (broken = error))
  const file = async () => {
    const { body } = await fetch(`${url}/v1/client/fs/cat/${allocation}?path=main/big`)
    let bytes = 0
    for await (const part of body ?? []) bytes += part.length
    return bytes
  }
  const [bytes, said] = await Promise.all([file(), exec(lines)])
  t.equal(bytes, fileBytes)
  t.match(said, { code: 0, err: '' })
  t.equal(said.out, Array.from({ length: linesMax }, (_, n) => `${n}\n`).join(''))
  const before = followedBytes
  await eventuallyTrue('the log is still followed', () => followedBytes > before)
  t.equal(broken, null)
  stop.abort()
  await following
}
