/** `muster lock` as scripts use it, against a server of one. How it fares under faults: `test/cluster/lock-command.test.ts`. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { eventually } from '../support/eventually.ts'
import { serverForCli, type ServerForCli } from './server-for-cli.ts'
import { run } from './terminal.ts'

/** The node that its sessions are of is in the catalog, as that of a real server. */
async function lockServer(t: Test): Promise<ServerForCli> {
  const cli = await serverForCli(t)
  await cli.server.ask('PUT', '/v1/catalog/register', { Node: 'one', Address: '127.0.0.1' })
  return cli
}

async function sessionOf({ server }: ServerForCli): Promise<string> {
  const answer = await server.ask('PUT', '/v1/session/create', { NodeChecks: [] })
  return (answer.json() as { ID: string }).ID
}

async function keysOf({ server }: ServerForCli, prefix: string): Promise<readonly string[]> {
  const answer = await server.ask('GET', `/v1/kv/${prefix}?keys`)
  return answer.status === 404 ? [] : (JSON.parse(answer.body) as string[])
}

async function sessionsOf({ server }: ServerForCli): Promise<readonly unknown[]> {
  return (await server.ask('GET', '/v1/session/list')).json() as unknown[]
}

void t.test('what could leave two holders, or none, is misuse', async (t) => {
  const cases: readonly (readonly [line: string, reason: RegExp])[] = [
    ['lock', /PREFIX COMMAND\.\.\. is missing/],
    ['lock app', /PREFIX COMMAND\.\.\. is missing/],
    ['lock / true', /PREFIX is empty/],
    ['lock -n 0 app true', /-n must be a whole number from 1/],
    ['lock -n 5000 app true', /-n must be at most 4096/],
    ['lock -timeout soon app true', /-timeout must be a duration/],
    ['lock -try 0s app true', /-try must be a duration/],
    ['lock -monitor-retry -1 app true', /-monitor-retry must be a whole number from 0/],
    ['lock -session-ttl 9s app true', /TTL must be from 10s to 1m0s, not 9s/],
    ['lock -session-ttl 61s app true', /TTL must be from 10s to 1m0s/],
    ['lock -session-ttl 20s -lock-delay 15s app true', /lock delay must be from .* 20s, to 1m0s/],
    ['lock -lock-delay 61s app true', /lock delay must be/],
  ]
  for (const [line, reason] of cases) {
    t.match(await run(line.split(' ')), { code: 2, err: reason }, line)
  }
})

void t.test('without a server it says so at once', async (t) => {
  const { code, err } = await run(['lock', '-address', '127.0.0.1:1,127.0.0.1:2', 'app', 'true'])
  t.equal(code, 1)
  t.match(err, /^muster lock: no answer from http:\/\/127\.0\.0\.1:2: nothing listens there/)
})

void t.test('a command is run under the lock, and leaves its key for the next', async (t) => {
  const cli = await lockServer(t)
  const file = join(t.testdir(), 'out')
  const script = `env | grep _LOCK_ | sort >${file}; cat >>${file}`
  const ran = await cli.muster(['lock', '-verbose', '/app/', script])
  t.match(ran, { code: 0, err: /holding app\/\.lock, LockIndex 1\n$/ })
  t.match(
    await readFile(file, 'utf8'),
    /^CONSUL_LOCK_HELD=true\nMUSTER_LOCK_HELD=true\nMUSTER_LOCK_INDEX=1\nMUSTER_LOCK_KEY=app\/\.lock\nMUSTER_LOCK_SESSION=[0-9a-f-]{36}\n$/,
  )
  t.same(await keysOf(cli, 'app/'), ['app/.lock'])
  t.same(await sessionsOf(cli), [])
  const again = await cli.muster(['lock', '-verbose', 'app', 'true'])
  t.match(again, { code: 0, err: /LockIndex 2\n$/ }, 'without a lock delay')
})

void t.test('how the command ends is told, and is the exit code if asked for', async (t) => {
  const cli = await lockServer(t)
  t.match(await cli.muster(['lock', 'app', 'exit 3']), {
    code: 0,
    err: 'muster lock: the command ended with exit code 3\n',
  })
  t.match(await cli.muster(['lock', '-child-exit-code', 'app', 'exit 3']), { code: 2 })
  t.match(await cli.muster(['lock', '-child-exit-code', 'app', 'exit 0']), { code: 0 })
  t.match(await cli.muster(['lock', '-child-exit-code', 'app', 'kill -9 $$']), {
    code: 2,
    err: 'muster lock: the command ended by SIGKILL\n',
  })
  t.match(await cli.muster(['lock', '-shell=false', 'app', '/no/such/program']), {
    code: 1,
    err: /the command does not start: .*ENOENT/,
  })
  t.same(await sessionsOf(cli), [], 'the lock was let go each time')
})

void t.test('without a shell the words are as they are', async (t) => {
  const cli = await lockServer(t)
  const file = join(t.testdir(), 'out')
  const words = ['-c', 'printf %s "$1" >"$0"', file, 'a  b $HOME']
  t.match(await cli.muster(['lock', '-shell=false', 'app', '/bin/sh', ...words]), { code: 0 })
  t.equal(await readFile(file, 'utf8'), 'a  b $HOME')
})

void t.test('what the command leaves behind ends before the lock is let go', async (t) => {
  const cli = await lockServer(t)
  const file = join(t.testdir(), 'pid')
  t.match(await cli.muster(['lock', 'app', `sleep 60 & echo $! >${file}`]), { code: 0 })
  const pid = Number(await readFile(file, 'utf8'))
  t.ok(pid > 1)
  t.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
})

void t.test('a lock that is held is waited for, with -timeout not for ever', async (t) => {
  const cli = await lockServer(t)
  const ID = await sessionOf(cli)
  const lockFlags = '3304740253564472344'
  await cli.server.ask('PUT', `/v1/kv/app/.lock?acquire=${ID}&flags=${lockFlags}`)
  t.match(await cli.muster('lock -timeout 300ms app true'), {
    code: 1,
    err: 'muster lock: the lock was not to be had in time\n',
  })
  const file = join(t.testdir(), 'out')
  const waiting = cli.muster(['lock', 'app', `touch ${file}`])
  await cli.server.ask('PUT', `/v1/kv/app/.lock?release=${ID}&flags=${lockFlags}`)
  t.match(await waiting, { code: 0 })
  await readFile(file)
})

void t.test('a key that is no lock is left alone, and a semaphore is none', async (t) => {
  const cli = await lockServer(t)
  await cli.server.ask('PUT', '/v1/kv/app/.lock', Buffer.from('precious'))
  t.match(await cli.muster('lock app true'), { code: 1, err: /in use, and not by such a lock/ })
  t.match(await cli.muster('lock -n 2 app true'), { code: 1, err: /not by a semaphore/ })
  t.equal((await cli.server.ask('GET', '/v1/kv/app/.lock?raw')).body, 'precious')
})

void t.test('a semaphore is taken, let go, and leaves nothing', async (t) => {
  const cli = await lockServer(t)
  const file = join(t.testdir(), 'out')
  const script = `echo $MUSTER_LOCK_KEY $MUSTER_LOCK_SESSION $MUSTER_LOCK_INDEX >${file}`
  t.match(await cli.muster(['lock', '-n', '3', 'app', script]), { code: 0, err: '' })
  const [key = '', session = '', index] = (await readFile(file, 'utf8')).trim().split(' ')
  t.equal(key, `app/${session}`)
  t.equal(index, '1')
  t.same(await keysOf(cli, 'app/'), [])
  t.same(await sessionsOf(cli), [])
})

void t.test('who names another number of places than the others is told', async (t) => {
  const cli = await lockServer(t)
  const nested = `MUSTER_ADDR=${cli.address} ${process.cwd()}/bin/muster lock -n 2 app true`
  const ran = await cli.muster(['lock', '-child-exit-code', '-n', '3', 'app', `! ${nested}`])
  t.match(ran, { code: 0 })
})

void t.test('a lock that is taken from a running command ends it', async (t) => {
  const cli = await lockServer(t)
  const { server } = cli
  const place = async (prefix: string) => {
    const list = (await server.ask('GET', `/v1/kv/${prefix}/?recurse`)).json()
    return (list as { Key: string; Session?: string }[]).find(
      ({ Session }) => Session !== undefined,
    )
  }
  const cases: readonly (readonly [
    options: string,
    what: string,
    act: (prefix: string, session: string) => Promise<unknown>,
    /** Whether it had the time to end by itself. */
    isTold: boolean,
    reason: RegExp,
  ])[] = [
    [
      '-n 1',
      'session',
      (_, session) => server.ask('PUT', `/v1/session/destroy/${session}`),
      true,
      /the lock is lost: its session was ended; the command is ended\n$/,
    ],
    [
      '-n 1',
      'key',
      (prefix) => server.ask('DELETE', `/v1/kv/${prefix}/.lock`),
      false,
      /the lock is lost: its key was deleted by someone else/,
    ],
    [
      '-n 1',
      'lock',
      (prefix, session) => server.ask('PUT', `/v1/kv/${prefix}/.lock?release=${session}`),
      false,
      /the lock is lost: its key was released by someone else/,
    ],
    [
      '-n 2',
      'session',
      (_, session) => server.ask('PUT', `/v1/session/destroy/${session}`),
      false,
      /the lock is lost: its session was ended/,
    ],
    [
      '-n 2',
      'place',
      (prefix) => server.ask('DELETE', `/v1/kv/${prefix}/.lock`),
      false,
      /the lock is lost: another holder got its place/,
    ],
  ]
  for (const [number, [options, what, act, isTold, reason]] of cases.entries()) {
    const prefix = `app${number}`
    const file = join(t.testdir(), 'out')
    // Of a group every process gets the signal: whoever is to tell of it must not die of it.
    const script = `trap 'echo told >>${file}; exit' TERM; echo begun >${file}; while :; do sleep 0.05; done`
    const running = cli.muster(['lock', ...options.split(' '), prefix, script])
    await eventually('it runs', async () => {
      const text = await readFile(file, 'utf8').catch(() => '')
      return text.startsWith('begun') ? true : undefined
    })
    await act(prefix, (await place(prefix))?.Session ?? '')
    t.match(await running, { code: 1, err: reason }, `${what} of ${options}`)
    t.equal(await readFile(file, 'utf8'), isTold ? 'begun\ntold\n' : 'begun\n')
  }
  t.same(await sessionsOf(cli), [])
})

void t.test('a signal before the lock is had ends the wait', async (t) => {
  const cli = await lockServer(t)
  const ID = await sessionOf(cli)
  await cli.server.ask('PUT', `/v1/kv/app/.lock?acquire=${ID}&flags=3304740253564472344`)
  const ran = await cli.muster('lock app true', { signals: (send) => send('SIGINT') })
  t.match(ran, { code: 1, err: 'muster lock: stopped before it had the lock\n' })
})
