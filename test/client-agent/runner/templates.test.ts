/** Templates of tasks: rendered before the task starts, again when their data change, and never outside of the task's folders. */
import { mkdir, readFile, readdir, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parseEnvLines } from '../../../src/client-agent/runner/templates/env-lines.ts'
import { workFolders } from '../../../src/client-agent/runner/runner.ts'
import {
  dataFolder,
  leave,
  ServersStandIn,
  startedRunner,
  until,
  type Tasks,
} from './server-stand-in.ts'

const key = (value: string) => ({ type: 'key' as const, value })
const variable = (items: [string, string][]) => ({ type: 'variable' as const, items })

type Templates = NonNullable<Tasks[number]['Templates']>

function tasks(script: string, Templates: Templates): Tasks {
  const Config = { command: 'sh', args: ['-c', script] }
  return [{ Name: 'main', Driver: 'raw_exec', Config, Templates }]
}

const sleeps = 'exec sleep 1000'

async function setting(t: Test) {
  const folder = await dataFolder(t)
  const servers = new ServersStandIn()
  const own = (id: string, path: string) => join(workFolders(folder).allocations, id, path)
  const becomes = async (path: string, text: string) => {
    let found = ''
    await until(
      () => found === text,
      () => `${path} is ${JSON.stringify(found)}`,
      async () => {
        found = await readFile(path, 'utf8').catch(() => '')
      },
    )
  }
  return { folder, servers, own, becomes }
}

t.test('a task finds its templates rendered when it starts', async (t) => {
  const { folder, servers, own } = await setting(t)
  await startedRunner(t, servers, { folder })
  servers.tell('key app/color', key('blue'))
  servers.tell('variable nomad/jobs/job', variable([['password', 's3cret']]))
  const id = servers.place(
    1,
    'batch',
    tasks('cat local/app.conf secrets/deep/p $NOMAD_ALLOC_DIR/all; echo $COLOR ${COLOR}', [
      {
        EmbeddedTmpl: '{{ key "app/color" }} {{ env "NOMAD_ALLOC_INDEX" }}\n',
        DestPath: 'local/app.conf',
      },
      {
        EmbeddedTmpl: '{{ with nomadVar "nomad/jobs/job" }}{{ .password }}\n{{ end }}',
        DestPath: '${NOMAD_SECRETS_DIR}/deep/p',
        Perms: '0600',
      },
      { EmbeddedTmpl: 'all\n', DestPath: '../alloc/all' },
      { EmbeddedTmpl: 'COLOR={{ key "app/color" }}\n', DestPath: 'local/env', Envvars: true },
    ]),
  )
  const { tasks: states } = await servers.becomes(id, 'complete')
  t.equal(
    await readFile(own(id, 'alloc/logs/main.stdout.0'), 'utf8'),
    'blue 1\ns3cret\nall\nblue blue\n',
  )
  t.equal((await stat(own(id, 'main/secrets/deep/p'))).mode & 0o777, 0o600)
  t.equal((await stat(own(id, 'main/local/app.conf'))).mode & 0o777, 0o644)
  t.notMatch(JSON.stringify(states), /s3cret/)
})

t.test('a template waits for what is missing, and the task says for what', async (t) => {
  const { folder, servers, own } = await setting(t)
  const runner = await startedRunner(t, servers, { folder })
  const template = {
    EmbeddedTmpl: '{{ key "app/color" }}{{ with nomadVar "nomad/jobs" }}{{ .name }}{{ end }}',
    DestPath: 'local/x',
  }
  const id = servers.place(1, 'batch', tasks('cat local/x', [template]))
  const waits = (text: string) =>
    servers.reported(
      id,
      ({ tasks: [task] }) => task?.events.at(-1)?.displayMessage.includes(text) === true,
    )
  await waits('key "app/color" is not there')
  t.equal(servers.reports.get(id)?.tasks[0]?.state, 'pending')
  servers.tell('key app/color', key('blue'))
  servers.tell('variable nomad/jobs', variable([['other', 'x']]))
  await waits('line 1: there is no .name')
  servers.tell('variable nomad/jobs', variable([['name', 'bob']]))
  await servers.becomes(id, 'complete')
  t.equal(await readFile(own(id, 'alloc/logs/main.stdout.0'), 'utf8'), 'bluebob')
  const second = servers.place(
    2,
    'service',
    tasks(sleeps, [{ ...template, EmbeddedTmpl: '{{ key "no" }}' }]),
  )
  await servers.reported(second, ({ tasks: [task] }) => task?.events.at(-1)?.type === 'Template')
  servers.stop(second)
  await servers.becomes(second, 'complete')
  t.equal(runner.liveCount, 0, 'one that waits can be stopped')
})

t.test('a path that is made of a secret is in no event', async (t) => {
  const { folder, servers } = await setting(t)
  await startedRunner(t, servers, { folder })
  servers.tell('variable nomad/jobs', variable([['password', 's3cret']]))
  const EmbeddedTmpl = '{{ with nomadVar "nomad/jobs" }}{{ key .password }}{{ end }}'
  const id = servers.place(1, 'batch', tasks('true', [{ EmbeddedTmpl, DestPath: 'local/x' }]))
  const { tasks: states } = await servers.reported(id, ({ tasks: [task] }) =>
    JSON.stringify(task).includes('a key of a computed path is not there'),
  )
  t.notMatch(JSON.stringify(states), /s3cret/)
  servers.stop(id)
  await servers.becomes(id, 'complete')
})

t.test('a change restarts the task, signals it, or only writes the file', async (t) => {
  const { folder, servers, own, becomes } = await setting(t)
  await startedRunner(t, servers, { folder })
  for (const name of ['a', 'b', 'c']) servers.tell(`key ${name}`, key('1'))
  const of = (name: string, more: object) => ({
    EmbeddedTmpl: `{{ key "${name}" }}\n`,
    DestPath: `local/${name}`,
    Splay: 0,
    ...more,
  })
  const script = `trap 'cat local/b >> local/seen' HUP; cat local/a >> local/starts
    while true; do sleep 0.05; done`
  const id = servers.place(
    1,
    'service',
    tasks(script, [
      of('a', { ChangeMode: 'restart' }),
      of('b', { ChangeMode: 'signal', ChangeSignal: 'SIGHUP' }),
      of('c', { ChangeMode: 'noop' }),
    ]),
  )
  await servers.becomes(id, 'running')
  await becomes(own(id, 'main/local/starts'), '1\n')
  t.strictSame(servers.asked, ['key a', 'key b', 'key c'])
  servers.tell('key c', key('2'))
  await becomes(own(id, 'main/local/c'), '2\n')
  servers.tell('key b', key('2'))
  await becomes(own(id, 'main/local/seen'), '2\n')
  t.equal(servers.reports.get(id)?.tasks[0]?.restarts, 0)
  servers.tell('key a', key('2'))
  await becomes(own(id, 'main/local/starts'), '1\n2\n')
  const report = await servers.reported(id, ({ tasks: [task] }) => task?.restarts === 1)
  const types = report.tasks[0]?.events.map(({ type }) => type)
  t.match(types, ['Received', 'Task Setup', 'Started', 'Signaling', 'Restart Signaled'])
})

t.test('a restart of the agent changes nothing by itself', async (t) => {
  const { folder, servers, own, becomes } = await setting(t)
  servers.tell('key a', key('1'))
  const first = await startedRunner(t, servers, { folder })
  const template = { EmbeddedTmpl: '{{ key "a" }}\n', DestPath: 'local/a', Splay: 0 }
  const id = servers.place(
    1,
    'service',
    tasks(`cat local/a >> local/starts; ${sleeps}`, [template]),
  )
  await becomes(own(id, 'main/local/starts'), '1\n')
  await servers.becomes(id, 'running')
  await leave(first)
  servers.asked = []
  await startedRunner(t, servers, { folder })
  await until(
    () => servers.asked.length === 1,
    () => 'it is watched again',
  )
  servers.tell('key b', key('1'))
  servers.tell('key a', key('2'))
  await becomes(own(id, 'main/local/starts'), '1\n2\n')
  const {
    tasks: [task],
  } = await servers.reported(id, (report) => report.tasks[0]?.restarts === 1)
  t.equal(task?.restarts, 1)
})

t.test('data that several tasks need are asked for once, and no more when they end', async (t) => {
  const { folder, servers } = await setting(t)
  await startedRunner(t, servers, { folder })
  servers.tell('key a', key('1'))
  const template = { EmbeddedTmpl: '{{ key "a" }}', DestPath: 'local/a' }
  const ids = [1, 2].map((number) => servers.place(number, 'service', tasks(sleeps, [template])))
  for (const id of ids) await servers.becomes(id, 'running')
  t.strictSame(servers.asked, ['key a'])
  servers.stop(ids[0] ?? '')
  await servers.becomes(ids[0] ?? '', 'complete')
  const other = { EmbeddedTmpl: '{{ keyOrDefault "b" "" }}', DestPath: 'local/a' }
  const third = servers.place(3, 'service', tasks(sleeps, [other]))
  await servers.becomes(third, 'running')
  t.strictSame([...servers.asked].sort(), ['key a', 'key b'])
})

t.test('a task that starts later has what another one was told already', async (t) => {
  const { folder, servers, becomes, own } = await setting(t)
  await startedRunner(t, servers, { folder })
  servers.tell('key app/color', key('blue'))
  const template = {
    EmbeddedTmpl: '{{ key "app/color" }}',
    DestPath: 'local/x',
    ChangeMode: 'noop' as const,
  }
  const first = servers.place(1, 'service', tasks(sleeps, [template]))
  await servers.becomes(first, 'running')
  const second = servers.place(2, 'service', tasks(sleeps, [template]))
  await servers.becomes(second, 'running')
  servers.stop(first)
  await servers.becomes(first, 'complete')
  servers.tell('key app/color', key('red'))
  await becomes(own(second, 'main/local/x'), 'red')
})

t.test('a template may come from a file, but nothing leads out of the folders', async (t) => {
  const { folder, servers, own } = await setting(t)
  await startedRunner(t, servers, { folder })
  const outside = join(folder, 'outside')
  await mkdir(outside)
  await writeFile(join(outside, 'secret.tmpl'), 'of the agent')
  const prepared = async (number: number, template: Templates[number]) => {
    const id = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
    await mkdir(own(id, 'main/local'), { recursive: true })
    await symlink(outside, own(id, 'main/local/link'))
    await writeFile(own(id, 'main/local/in.tmpl'), '{{ "from a file" }}')
    return servers.place(number, 'batch', tasks('cat local/out', [template]))
  }
  const from = { SourcePath: 'local/in.tmpl', DestPath: 'local/out' }
  const good = await prepared(1, from)
  await servers.becomes(good, 'complete')
  t.equal(await readFile(own(good, 'alloc/logs/main.stdout.0'), 'utf8'), 'from a file')
  // Template, and what the task fails with.
  const bad: readonly (readonly [Templates[number], RegExp])[] = [
    [{ ...from, DestPath: 'local/link/x' }, /is a link|or a link/],
    [{ ...from, SourcePath: 'local/link/secret.tmpl' }, /is a link|or a link/],
    [{ ...from, SourcePath: '/etc/hostname' }, /there is no file/],
    [
      { ...from, SourcePath: '../../../outside/secret.tmpl' },
      /must be below the folder of the task/,
    ],
    [{ ...from, SourcePath: 'local/none' }, /there is no file local\/none/],
    [{ ...from, DestPath: '../other/x' }, /must be below the folder of the task/],
    [{ DestPath: 'local', EmbeddedTmpl: 'x' }, /is a folder/],
    [{ DestPath: 'local/e', EmbeddedTmpl: 'A B\n', Envvars: true }, /line 1 is not NAME=VALUE/],
  ]
  for (const [at, [template, message]] of bad.entries()) {
    const id = await prepared(10 + at, template)
    const { tasks: states } = await servers.becomes(id, 'failed')
    const failure = states[0]?.events.find(({ type }) => type === 'Setup Failure')
    t.match(failure?.displayMessage, message)
  }
  t.strictSame(await readdir(outside), ['secret.tmpl'])
})

t.test('lines of an environment', async (t) => {
  const text = [
    '# said',
    '',
    'A=1',
    'export B = two words # said',
    `C='as $it is' # said`,
    'D="a\\nb\\"c"',
    'E=a#b',
    'F=',
  ].join('\r\n')
  t.strictSame(parseEnvLines(text), [
    ['A', '1'],
    ['B', 'two words'],
    ['C', 'as $it is'],
    ['D', 'a\nb"c'],
    ['E', 'a#b'],
    ['F', ''],
  ])
  for (const line of ['A', '1=2', 'A="b', "A='b", 'A="\\x"', 'A=a\0']) {
    t.throws(() => parseEnvLines(`B=1\n${line}`), { message: 'line 2 is not NAME=VALUE' })
  }
})

t.test('a change runs a script beside the task, one at a time', async (t) => {
  const { folder, servers, own, becomes } = await setting(t)
  const first = await startedRunner(t, servers, { folder })
  servers.tell('key a', key('1'))
  const script = (line: string, more: object = {}) => ({
    ChangeScript: { Command: 'sh', Args: ['-c', line], Timeout: 10e9, FailOnError: false, ...more },
  })
  const of = (more: object) => ({
    EmbeddedTmpl: '{{ key "a" }}\n',
    DestPath: 'local/a',
    Splay: 0,
    ChangeMode: 'script',
    ...more,
  })
  const quiet = of(script('cat local/a ${NOMAD_TASK_DIR}/a >> local/seen; echo $$ >> local/pids'))
  const loud = of({ DestPath: 'local/b', ...script('echo no such host >&2; exit 3') })
  const slow = of({ DestPath: 'local/c', ...script('sleep 1000', { Timeout: 1e9 }) })
  const id = servers.place(1, 'service', tasks(sleeps, [quiet, loud, slow]))
  await servers.becomes(id, 'running')
  t.equal(await readFile(own(id, 'main/local/seen'), 'utf8').catch(() => 'none'), 'none')
  servers.tell('key a', key('2'))
  await becomes(own(id, 'main/local/seen'), '2\n2\n')
  const after = await servers.reported(
    id,
    ({ tasks: [task] }) => task?.events.some(({ message }) => message.includes('killed')) === true,
  )
  t.match(
    after.tasks[0]?.events.slice(3).map(({ type, message }) => [type, message]),
    [
      ['Task hook message', /ran sh -c cat local\/a/],
      ['Task hook failed', /failed: exit code 3$/],
      ['Task hook failed', /sleep 1000 failed: it was killed when its timeout was over$/],
    ],
  )
  t.equal(after.tasks[0]?.restarts, 0)
  servers.tell('key a', key('3'))
  await becomes(own(id, 'main/local/seen'), '2\n2\n3\n3\n')
  // The slow one of now runs while its agent goes.
  await leave(first)
  await startedRunner(t, servers, { folder })
  servers.tell('key a', key('4'))
  await becomes(own(id, 'main/local/seen'), '2\n2\n3\n3\n4\n4\n')
  t.equal(servers.reports.get(id)?.tasks[0]?.state, 'running')
})

t.test('a script that fails ends its task where it is to', async (t) => {
  const { folder, servers } = await setting(t)
  await startedRunner(t, servers, { folder })
  servers.tell('key a', key('1'))
  const ChangeScript = { Command: 'false', Args: [], Timeout: 5e9, FailOnError: true }
  const template = { EmbeddedTmpl: '{{ key "a" }}', DestPath: 'local/a', Splay: 0, ChangeScript }
  const id = servers.place(1, 'service', tasks(sleeps, [{ ...template, ChangeMode: 'script' }]))
  await servers.becomes(id, 'running')
  servers.tell('key a', key('2'))
  const { tasks: states } = await servers.becomes(id, 'failed')
  const types = states[0]?.events.map(({ type }) => type)
  t.match(types, ['Received', 'Task Setup', 'Started', 'Task hook failed', 'Killing', 'Killing'])
  t.equal(states[0]?.restarts, 0)
})

t.test('a template that is rendered once stays as it is', async (t) => {
  const { folder, servers, own, becomes } = await setting(t)
  const first = await startedRunner(t, servers, { folder })
  servers.tell('key a', key('1'))
  const template = { EmbeddedTmpl: '{{ key "a" }}\n', Splay: 0, ChangeMode: 'noop' }
  const id = servers.place(
    1,
    'service',
    tasks(sleeps, [
      { ...template, DestPath: 'local/once', Once: true },
      { ...template, DestPath: 'local/often' },
    ]),
  )
  await servers.becomes(id, 'running')
  servers.tell('key a', key('2'))
  await becomes(own(id, 'main/local/often'), '2\n')
  await leave(first)
  await startedRunner(t, servers, { folder })
  servers.tell('key a', key('3'))
  await becomes(own(id, 'main/local/often'), '3\n')
  t.equal(await readFile(own(id, 'main/local/once'), 'utf8'), '1\n')
})

t.test('a file belongs to the user and the group of its template', async (t) => {
  const { folder, servers, own } = await setting(t)
  await startedRunner(t, servers, { folder })
  const isRoot = process.getuid?.() === 0
  const Uid = isRoot ? 12_345 : (process.getuid?.() ?? 0)
  const Gid = isRoot ? 23_456 : (process.getgid?.() ?? 0)
  const template = { EmbeddedTmpl: 'x', DestPath: 'local/a' }
  const id = servers.place(
    1,
    'service',
    tasks(sleeps, [
      { ...template, Uid, Gid },
      { ...template, DestPath: 'local/b', Gid },
      { ...template, DestPath: 'local/c' },
    ]),
  )
  await servers.becomes(id, 'running')
  const ownerOf = async (path: string) => {
    const { uid, gid } = await stat(own(id, `main/local/${path}`))
    return [uid, gid]
  }
  const [uid] = await ownerOf('')
  t.strictSame(await ownerOf('a'), [Uid, Gid])
  t.strictSame(await ownerOf('b'), [uid, Gid])
  t.strictSame(await ownerOf('c'), await ownerOf(''))
})
