/** Templates and artifacts on a real cluster: made of its keys and variables, made anew when these change. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { Test } from 'tap'
import { eventually, eventuallyTrue } from '../../support/eventually.ts'
import type { HttpClient } from '../../support/http-client.ts'
import type { WarmCluster } from '../../support/warm-cluster.ts'

type Event = { readonly Type: string; readonly DisplayMessage: string }
type Task = { readonly State: string; readonly Restarts: number; readonly Events: readonly Event[] }
type Shown = {
  readonly ID: string
  readonly ClientStatus: string
  readonly TaskStates: Readonly<Record<string, Task>> | null
}

/** What it got is printed at each start, and what a signal brings. */
const script = [
  'trap "echo signaled; cat local/key" HUP',
  'sh local/hello.sh; cat local/variable; echo "env $COLOR"',
  'while :; do sleep 0.1; done',
].join('\n')

const templates = [
  {
    EmbeddedTmpl: 'key {{ key "templates/color" }}\n',
    DestPath: 'local/key',
    ChangeMode: 'signal',
    ChangeSignal: 'SIGHUP',
    Splay: 0,
  },
  {
    EmbeddedTmpl: 'variable {{ with nomadVar "nomad/jobs/templated" }}{{ .name }}{{ end }}\n',
    DestPath: 'local/variable',
    Splay: 0,
  },
  {
    EmbeddedTmpl: 'COLOR={{ keyOrDefault "templates/color" "none" }}\n',
    DestPath: 'secrets/env',
    Envvars: true,
    ChangeMode: 'noop',
  },
]

function jobOf(id: string, task: object) {
  const whole = {
    Name: 'main',
    Driver: 'raw_exec',
    Config: { command: '/bin/sh', args: ['-c', script] },
    Resources: { CPU: 20, MemoryMB: 16 },
    LogConfig: { MaxFiles: 2, MaxFileSizeMB: 1 },
    RestartPolicy: { Attempts: 1, Interval: 60e9, Delay: 1e9, Mode: 'fail' },
    ...task,
  }
  const group = {
    Name: 'g',
    EphemeralDisk: { SizeMB: 10 },
    Update: { MaxParallel: 0 },
    ReschedulePolicy: { Attempts: 0, Unlimited: false },
    Tasks: [whole],
  }
  return { Job: { ID: id, Name: id, Type: 'service', Datacenters: ['dc1'], TaskGroups: [group] } }
}

async function register(http: HttpClient, job: object): Promise<void> {
  const { status, body } = await http.request('PUT', '/v1/jobs', { body: JSON.stringify(job) })
  if (status !== 200) throw new Error(`${status} ${body.toString()}`)
}

async function web(t: Test, content: Buffer): Promise<string> {
  const server = createServer((_request, response) => void response.end(content))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close().closeAllConnections())
  const { port } = server.address() as AddressInfo
  return `http://127.0.0.1:${port}/hello.sh.gz`
}

function taskOf(http: HttpClient, job: string, what: string, is: (task: Task) => boolean) {
  return eventually(what, async () => {
    const rows = (await http.json('GET', `/v1/job/${job}/allocations`)) as readonly Shown[]
    for (const { ID, TaskStates } of rows) {
      const task = TaskStates?.['main']
      if (task !== undefined && is(task)) return { id: ID, task }
    }
    return undefined
  })
}

export async function makesTemplates(t: Test, { cluster }: WarmCluster): Promise<void> {
  const http = cluster.http(0)
  t.teardown(async () => {
    for (const job of ['templated', 'bad'])
      await http.request('DELETE', `/v1/job/${job}?purge=true`)
  })
  const packed = gzipSync('echo hello from an artifact\n')
  const sum = createHash('sha256').update(packed).digest('hex')
  const source = await web(t, packed)
  const artifact = (checksum: string) => ({
    GetterSource: source,
    GetterMode: 'file',
    RelativeDest: 'local/hello.sh',
    GetterOptions: { checksum: `sha256:${checksum}` },
  })

  await register(http, jobOf('bad', { Artifacts: [artifact('0'.repeat(64))] }))
  const bad = await taskOf(http, 'bad', 'a wrong checksum fails', ({ State }) => State === 'dead')
  const failures = bad.task.Events.filter(({ Type }) => Type === 'Failed Artifact Download')
  t.equal(failures.length, 2, 'it was tried again')
  t.match(failures[0]?.DisplayMessage, new RegExp(`the checksum is sha256:${sum}`))

  await http.request('PUT', '/v1/kv/templates/color', { body: 'blue' })
  await register(http, jobOf('templated', { Artifacts: [artifact(sum)], Templates: templates }))
  const isMissing = ({ State, Events }: Task) =>
    State === 'pending' && Events.some(({ Type }) => Type === 'Template')
  const pending = await taskOf(http, 'templated', 'it waits for its variable', isMissing)
  t.match(
    pending.task.Events.at(-1)?.DisplayMessage,
    /variable "nomad\/jobs\/templated" is not there/,
  )
  const { id } = pending
  const variable = (name: string) =>
    http.request('PUT', '/v1/var/nomad/jobs/templated', {
      body: JSON.stringify({ Items: { name, password: 's3cret' } }),
    })
  const output = async () => {
    const path = `/v1/client/fs/logs/${id}?task=main&type=stdout&plain=true`
    return (await http.request('GET', path)).body.toString()
  }
  const prints = (text: string) =>
    eventuallyTrue(`it prints ${JSON.stringify(text)}`, async () => (await output()).endsWith(text))
  await variable('bob')
  const first = 'hello from an artifact\nvariable bob\nenv blue\n'
  await prints(first)

  await http.request('PUT', '/v1/kv/templates/color', { body: 'red' })
  await prints(`${first}signaled\nkey red\n`)
  await variable('eve')
  const second = 'hello from an artifact\nvariable eve\nenv red\n'
  await prints(`${first}signaled\nkey red\n${second}`)
  const { task } = await taskOf(
    http,
    'templated',
    'it was restarted',
    ({ Restarts }) => Restarts === 1,
  )
  t.match(
    task.Events.map(({ Type }) => Type).filter((type) => /Signal/.test(type)),
    ['Signaling', 'Restart Signaled'],
  )
  t.notMatch(JSON.stringify(task), /s3cret/)

  for (const job of ['templated', 'bad']) await http.request('DELETE', `/v1/job/${job}`)
  await taskOf(http, 'templated', 'it ends', ({ State }) => State === 'dead')
}
