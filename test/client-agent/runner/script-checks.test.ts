/** Checks of type script: commands beside a task, with its folder and its environment. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CheckHolders } from '../../../src/client-agent/runner/check-holders.ts'
import { workFolders } from '../../../src/client-agent/runner/runner.ts'
import { outputBytesMax } from '../../../src/domains/catalog/model.ts'
import { leave, RegistryStandIn, startedRunner, until, type Tasks } from './server-stand-in.ts'
import { mock, runs, setting, shell } from './tasks.ts'

type Script = { readonly args: readonly string[]; readonly task?: string }

function check({ args, task = '' }: Script) {
  const every = { Interval: 1e9, Timeout: 1e9 }
  return { Name: 'look', Type: 'script', Command: 'sh', Args: [...args], TaskName: task, ...every }
}

function serviceOf(...scripts: readonly Script[]) {
  return { Name: 'web', Checks: scripts.map(check) }
}

/** A check for each line. */
function checked(tasks: Tasks, ...lines: readonly string[]): Tasks {
  const service = serviceOf(...lines.map((line) => ({ args: ['-c', line] })))
  return tasks.map((task) => ({ ...task, Services: [service] }))
}

async function started(t: Test) {
  const { folder, servers } = await setting(t)
  const agent = { folder, registry: new RegistryStandIn(), holders: new CheckHolders() }
  const runner = await startedRunner(t, servers, agent)
  const { registry, holders } = agent
  const idOf = async (at = 0) => {
    await until(
      () => registry.services().length > 0,
      () => 'no service is registered',
    )
    return `${registry.services()[0]?.id}-check-${at}`
  }
  const look = async (at = 0, signal = AbortSignal.timeout(10_000)) =>
    holders.look(await idOf(at), signal)
  const inTask = (id: string, path: string) =>
    join(workFolders(folder).allocations, id, 'main', path)
  return { agent, servers, runner, look, idOf, inTask }
}

async function pidIn(path: string): Promise<number> {
  let pid = 0
  await until(
    () => pid > 0,
    () => `there is no pid in ${path}`,
    async () => {
      const text = await readFile(path, 'utf8').catch(() => '')
      if (text.endsWith('\n')) pid = Number(text)
    },
  )
  return pid
}

t.test('the exit code decides, and the last of the output is kept', async (t) => {
  const { servers, look } = await started(t)
  const lines = [
    'echo well; echo hm >&2',
    'echo so so; exit 1',
    'exit 2',
    'yes | head -9000; echo z',
  ]
  const id = servers.place(1, 'service', checked(shell('exec sleep 1000'), ...lines))
  await servers.becomes(id, 'running')
  const first = await look(0)
  t.equal(first?.status, 'passing')
  t.strictSame(first?.output.trim().split('\n').toSorted(), ['hm', 'well'])
  t.strictSame(await look(1), { status: 'warning', output: 'so so\n' })
  t.strictSame(await look(2), { status: 'critical', output: '' })
  const long = (await look(3))?.output ?? ''
  t.equal(Buffer.byteLength(long), outputBytesMax)
  t.ok(long.endsWith('y\nz\n'))
})

t.test('it runs where its task does, and its words have the variables of the task', async (t) => {
  const { servers, look, inTask } = await started(t)
  const [main] = shell('exec sleep 1000')
  const template = { EmbeddedTmpl: 'COLOR=blue', DestPath: 'local/env', Envvars: true }
  const line = 'pwd; echo "${NOMAD_TASK_NAME} ${COLOR} ${node.class} $OWN$SECRET"'
  const task = { ...main, Env: { OWN: 'own' }, Templates: [template] }
  const id = servers.place(1, 'service', checked([task], line))
  await servers.becomes(id, 'running')
  const output = `${inTask(id, '.')}\nmain blue fast own\n`
  t.strictSame(await look(), { status: 'passing', output })
})

t.test('what takes too long is killed, with all that it started', async (t) => {
  const { servers, look, inTask } = await started(t)
  const line = 'echo begun; sleep 1000 & echo $! > pid; wait'
  const id = servers.place(1, 'service', checked(shell('exec sleep 1000'), line))
  await servers.becomes(id, 'running')
  const timeout = new AbortController()
  const looking = look(0, timeout.signal)
  const pid = await pidIn(inTask(id, 'pid'))
  t.match(await look(), { status: 'critical', output: /has not ended yet/ }, 'one run at a time')
  timeout.abort()
  t.strictSame(await looking, { status: 'critical', output: 'Timed out and was killed\nbegun\n' })
  await until(
    () => !runs(pid),
    () => 'it runs on',
  )
})

t.test('it ends with its task and says nothing then, and does not run after it', async (t) => {
  const { servers, runner, look, idOf, inTask, agent } = await started(t)
  const line = 'echo $$ > pid; while :; do sleep 0.05; done'
  const id = servers.place(1, 'service', checked(shell('exec sleep 1000'), line))
  await servers.becomes(id, 'running')
  const checkId = await idOf()
  const looking = look()
  const pid = await pidIn(inTask(id, 'pid'))
  runner.find(id)?.restart('', false)
  t.equal(await looking, null)
  t.notOk(runs(pid))
  await servers.reported(id, ({ tasks }) => tasks[0]?.restarts === 1)
  await writeFile(inTask(id, 'pid'), '')
  const next = look()
  const later = await pidIn(inTask(id, 'pid'))
  servers.stop(id)
  t.equal(await next, null)
  await servers.becomes(id, 'complete')
  t.notOk(runs(later))
  await writeFile(inTask(id, 'pid'), '')
  t.equal(await agent.holders.look(checkId, AbortSignal.timeout(10_000)), null)
  t.equal(await readFile(inTask(id, 'pid'), 'utf8'), '', 'nothing ran')
})

t.test('it ends with the agent, which goes on with it at its next start', async (t) => {
  const { agent, servers, runner, look, inTask } = await started(t)
  const line = '[ -e done ] && exit 0; echo $$ > pid; while :; do sleep 0.05; done'
  const id = servers.place(1, 'service', checked(shell('exec sleep 1000'), line))
  await servers.becomes(id, 'running')
  const looking = look()
  const pid = await pidIn(inTask(id, 'pid'))
  await leave(runner)
  t.equal(await looking, null)
  t.notOk(runs(pid))
  t.equal(await look(), null, 'no task has it')
  await startedRunner(t, servers, agent)
  await writeFile(inTask(id, 'done'), '')
  t.match(await look(), { status: 'passing' })
})

t.test('why there is nothing to run is told', async (t) => {
  const { servers, look } = await started(t)
  const own = servers.place(1, 'service', checked(mock({ run_for: '1h' }), 'true'))
  await servers.becomes(own, 'running')
  t.match(await look(), { status: 'critical', output: /mock_driver runs nothing/ })
  servers.stop(own)
  await servers.becomes(own, 'complete')

  const [main] = shell('exec sleep 1000')
  const missing = { ...check({ args: [] }), Command: 'is-not-there' }
  const tasks = [{ ...main, Services: [{ Name: 'web', Checks: [missing] }] }]
  const none = servers.place(2, 'service', tasks)
  await servers.becomes(none, 'running')
  t.match(await look(), { status: 'critical', output: /no program is-not-there/ })
  servers.stop(none)
  await servers.becomes(none, 'complete')

  const init = { ...mock({})[0], Name: 'init', Lifecycle: { Hook: 'prestart', Sidecar: false } }
  const scripts = [
    { args: ['-c', 'echo "$NOMAD_TASK_NAME"'], task: 'main' },
    { args: ['-c', 'true'], task: 'init' },
  ]
  const group = { Services: [serviceOf(...scripts)] }
  const both = servers.place(3, 'service', [{ ...main, Name: 'main' }, init], group)
  await servers.becomes(both, 'running')
  t.strictSame(await look(0), { status: 'passing', output: 'main\n' }, 'one of the group')
  t.match(await look(1), { status: 'critical', output: /The task "init" does not run/ })
})
