/** `muster alloc status`, `stop`, `restart`, `signal`, `fs` and `logs`. */
import t, { type Test } from 'tap'
import { standIn, type Reply } from './api-stand-in.ts'
import { run, type Typed } from './terminal.ts'
import {
  allocation,
  done,
  evaluated,
  evaluation,
  evaluationPath,
  ids,
  job,
  nowMs,
} from './workloads.ts'

async function against(t: Test, replies: Readonly<Record<string, Reply | readonly Reply[]>>) {
  const { address, asked } = await standIn(t, replies)
  return {
    asked,
    muster: (line: string, typed: Typed = {}) =>
      run(line.split(' '), { nowMs, env: { MUSTER_ADDR: address }, ...typed }),
  }
}

const event = (Type: string, DisplayMessage: string) => ({
  Type,
  DisplayMessage,
  Time: 1_700_000_000_000_000_000,
})

const whole = {
  ...allocation({ DeploymentStatus: { Healthy: true }, PreviousAllocation: ids.older }),
  DesiredDescription: '',
  ClientDescription: 'Tasks are running',
  Job: job(),
  AllocatedResources: {
    Shared: { Ports: [{ Label: 'http', HostIP: '10.0.0.7', Value: 20_080, To: 80 }] },
  },
  TaskStates: {
    main: {
      State: 'running',
      Restarts: 2,
      StartedAt: '2023-11-14T22:13:20.000Z',
      FinishedAt: null,
      LastRestart: null,
      Events: [event('Received', 'Task received by client'), event('Started', 'Task started')],
    },
  },
}

void t.test('allocations are listed', async (t) => {
  const { muster, asked } = await against(t, { 'GET /v1/allocations': { json: [allocation()] } })
  t.match(await muster('alloc status -filter TaskGroup=="web"'), {
    code: 0,
    out: /^ID +Node ID +Group .*\na1111111 +b1111111 +web +1 +run +running +3m12s ago +2m12s ago\n$/,
  })
  t.match(asked[0], { url: '/v1/allocations?filter=TaskGroup%3D%3D%22web%22' })
  const none = await against(t, { 'GET /v1/allocations': { json: [] } })
  t.match(await none.muster('alloc status'), { code: 0, out: '', err: 'No allocations found\n' })
})

void t.test('one is shown by the front of its id, with its ports and tasks', async (t) => {
  const { muster } = await against(t, {
    'GET /v1/allocations': { json: [allocation()] },
    [`GET /v1/allocation/${ids.allocation}`]: { json: whole },
  })
  const { code, out } = await muster('alloc status a11')
  t.equal(code, 0)
  t.match(out, /^ID +=.*a1111111\n/)
  t.match(out, /\nReplaces Alloc ID +=.*a2222222\n/)
  t.match(out, /\nHealthy +=.*true\n/)
  t.match(out, /\nAllocation Addresses\nLabel +Address +To\nhttp +10\.0\.0\.7:20080 +80\n/)
  t.match(out, /\nTask "main" is running\n/)
  t.match(out, /\nTotal Restarts +=.*2\n/)
  t.match(out, /Started +Task started\n.*Received +Task received by client\n$/, 'the newest first')
  t.match(JSON.parse((await muster('alloc status -json a11')).out), { ID: ids.allocation })
  t.match(await muster('alloc status xyz'), { code: 1, err: /is no id: those of allocations have/ })
})

void t.test('one that failed says when it is placed anew', async (t) => {
  const WaitUntil = new Date(nowMs + 5_000).toISOString()
  const failed = { ...whole, ClientStatus: 'failed', FollowupEvalID: ids.evaluation }
  const shown = async (allocation: object, evaluation: Reply): Promise<string> => {
    const { muster } = await against(t, {
      'GET /v1/allocations': { json: [allocation] },
      [`GET /v1/allocation/${ids.allocation}`]: { json: allocation },
      [evaluationPath]: evaluation,
    })
    return (await muster('alloc status a11')).out
  }
  const waits = { json: evaluation({ Status: 'pending', WaitUntil }) }
  t.match(await shown(failed, waits), /\nReschedule Eligibility += 5s from now\n/)
  const unknown = { ...failed, ClientStatus: 'unknown' }
  t.match(await shown(unknown, waits), /\nLost Unless Back += 5s from now\n/)
  const over = { json: evaluation({ Status: 'complete', WaitUntil }) }
  t.notMatch(await shown(failed, over), /from now/)
  t.notMatch(await shown(failed, { status: 404, text: 'eval not found' }), /from now/)
  t.notMatch(await shown({ ...failed, NextAllocation: ids.older }, waits), /from now/)
})

void t.test('one is stopped, and the evaluation is followed', async (t) => {
  const stop = `PUT /v1/allocation/${ids.allocation}/stop`
  const { muster } = await against(t, { ...done, [stop]: evaluated })
  const followed = await muster(`alloc stop ${ids.allocation}`)
  t.equal(followed.code, 0, followed.err)
  t.match(followed.out, /^Stopping allocation "a1111111-/)
  t.match((await muster(`alloc stop -detach ${ids.allocation}`)).out, /\nEvaluation e1111111-/)
  const ended = await against(t, { [stop]: { json: { EvalID: '', Index: 7 } } })
  t.match(await ended.muster(`alloc stop ${ids.allocation}`), { code: 0, err: /had ended/ })
})

void t.test('the output of the only task is shown, whole or its end', async (t) => {
  const frame = (text: string) => JSON.stringify({ Data: Buffer.from(text).toString('base64') })
  const tasks = (...names: readonly string[]) => ({
    ...whole,
    Job: { TaskGroups: [{ Name: 'web', Tasks: names.map((Name) => ({ Name })) }] },
  })
  const path = `/v1/client/fs/logs/${ids.allocation}`
  const { muster, asked } = await against(t, {
    [`GET /v1/allocation/${ids.allocation}`]: { json: tasks('main') },
    [`GET ${path}`]: { text: `{}${frame('one\ntw')}{}${frame('o\n')}` },
  })
  t.match(await muster(`alloc logs ${ids.allocation}`), { code: 0, out: 'one\ntwo\n' })
  t.match(asked.at(-1)?.url, /task=main&type=stdout&origin=start&offset=0&follow=false/)
  await muster(`alloc logs -stderr -f -c 7 ${ids.allocation} side`)
  t.match(asked.at(-1)?.url, /task=side&type=stderr&origin=end&offset=7&follow=true/)
  const several = await against(t, {
    [`GET /v1/allocation/${ids.allocation}`]: { json: tasks('main', 'side') },
  })
  t.match(await several.muster(`alloc logs ${ids.allocation}`), {
    code: 1,
    err: /name one of its tasks: main, side/,
  })
})

void t.test('output goes into a pipe byte by byte, and cannot steer a terminal', async (t) => {
  const bytes = Buffer.from([0xff, 0x09, 0x1b, 0x5b, 0x33, 0x31, 0x6d, 0x0a])
  const frames = [bytes.subarray(0, 3), bytes.subarray(3)]
  const { muster } = await against(t, {
    [`GET /v1/allocation/${ids.allocation}`]: { json: whole },
    [`GET /v1/client/fs/logs/${ids.allocation}`]: {
      text: frames.map((part) => JSON.stringify({ Data: part.toString('base64') })).join(''),
    },
  })
  const command = `alloc logs ${ids.allocation} main`
  t.same((await muster(command)).outBytes, bytes)
  t.equal((await muster(command, { isTerminal: true })).out, '\ufffd\t\\u001b[31m\n')
})

void t.test('its tasks are restarted and signalled', async (t) => {
  const path = `/v1/client/allocation/${ids.allocation}`
  const { muster, asked } = await against(t, {
    [`PUT ${path}/restart`]: {},
    [`PUT ${path}/signal`]: {},
  })
  t.match(await muster(`alloc restart ${ids.allocation}`), { code: 0, out: /^Its tasks restart/ })
  t.same(JSON.parse(asked.at(-1)?.body ?? ''), { TaskName: '', AllTasks: false })
  await muster(`alloc restart ${ids.allocation} main`)
  t.same(JSON.parse(asked.at(-1)?.body ?? ''), { TaskName: 'main', AllTasks: false })
  t.match(await muster(`alloc restart -all-tasks ${ids.allocation} main`), { code: 2 })
  t.match(await muster(`alloc restart -all-tasks ${ids.allocation}`), { out: /^All its tasks/ })
  t.same(JSON.parse(asked.at(-1)?.body ?? ''), { TaskName: '', AllTasks: true })
  t.match(await muster(`alloc signal -s SIGHUP ${ids.allocation} main`), { code: 0 })
  t.same(JSON.parse(asked.at(-1)?.body ?? ''), { Signal: 'SIGHUP', Task: 'main' })
})

void t.test('what its tasks take is shown beside them', async (t) => {
  const usage = { CpuStats: { Percent: 12.34, TotalTicks: 247.6 }, MemoryStats: { RSS: 3_145_728 } }
  const { muster } = await against(t, {
    [`GET /v1/allocation/${ids.allocation}`]: {
      json: { ...whole, TaskResources: { main: { CPU: 500, MemoryMB: 64 } } },
    },
    [`GET /v1/client/allocation/${ids.allocation}/stats`]: {
      json: { Tasks: { main: { ResourceUsage: usage } } },
    },
  })
  const { out } = await muster(`alloc status -stats ${ids.allocation}`)
  t.match(out, /\nCPU +=.*248\/500 MHz, 12\.3% of one processor\n/)
  t.match(out, /\nMemory +=.*3\.0\/64 MiB\n/)
})

void t.test('folders are listed, and files are shown', async (t) => {
  const path = `/v1/client/fs`
  const info = { Name: 'x', IsDir: false, Size: 8, FileMode: '-rw-r--r--', ModTime: '2026-01-01Z' }
  const frame = JSON.stringify({ Data: Buffer.from('end\n').toString('base64') })
  const { muster, asked } = await against(t, {
    [`GET ${path}/stat/${ids.allocation}`]: [
      { json: { ...info, IsDir: true, FileMode: 'drwxr-xr-x' } },
      { json: info },
    ],
    [`GET ${path}/ls/${ids.allocation}`]: { json: [info, { ...info, Name: 'logs', IsDir: true }] },
    [`GET ${path}/cat/${ids.allocation}`]: { text: 'whole\n' },
    [`GET ${path}/stream/${ids.allocation}`]: { text: `${frame}{}` },
  })
  const listed = await muster(`alloc fs ${ids.allocation} alloc`)
  t.match(listed, { code: 0, out: /^Mode .*\n-rw-r--r-- +8 .* x\n.* logs\/\n$/ })
  t.match(await muster(`alloc fs ${ids.allocation} x`), { code: 0, out: 'whole\n' })
  t.match(asked.at(-1)?.url, /path=x$/)
  t.match(await muster(`alloc fs -tail ${ids.allocation} x`), { code: 0, out: 'end\n' })
  t.match(asked.at(-1)?.url, /origin=end&offset=4096&follow=false/)
  t.match((await muster(`alloc fs -stat ${ids.allocation} x`)).out, /-rw-r--r-- +8 .* x\n$/)
})
