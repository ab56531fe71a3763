/** One process from start to stop, with a stand-in for the server. */
import { EventEmitter, once } from 'node:events'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { runAgent } from '../../src/process/agent.ts'
import type { ClientConfig } from '../../src/client-agent/client-config.ts'
import { systemdSocket } from '../../src/process/service-manager.ts'
import { claimDataFolder } from '../../src/process/data-folder.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { MusterError } from '../../src/lib/errors.ts'
import { systemRandom } from '../../src/lib/random.ts'
import type { RuntimeDependencies } from '../../src/runtime/process.ts'
import type { ServerConfig } from '../../src/server/server.ts'
import { eventuallyTrue } from '../support/eventually.ts'

/** A process to send signals to, and a server that notes what is done with it. */
function stage(
  options: {
    readonly startFails?: Error
    /** So many first starts meet a full disk. */
    readonly diskFullTimes?: number
  } = {},
) {
  let refusals = options.diskFullTimes ?? 0
  const events = new EventEmitter()
  const exited = new EventEmitter()
  const seen: string[] = []
  const told: string[] = []
  let output = ''
  let config: ServerConfig | null = null
  let dependencies: RuntimeDependencies | null = null
  const environment = {
    clock: systemClock,
    random: systemRandom,
    sink: { write: (text: string) => void (output += text) },
    toJournal: false,
    soon: (run: () => void) => void setImmediate(run),
    events,
    exit: (code: number) => void exited.emit('exit', code),
    version: '1.2.3',
    notify: async (words: readonly string[]) => void told.push(words.join(' ')),
    async startServer(given: ServerConfig, more: RuntimeDependencies) {
      config = given
      dependencies = more
      if (options.startFails !== undefined) throw options.startFails
      if (refusals > 0) {
        refusals -= 1
        seen.push('refused')
        const cause = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
        throw new MusterError('unavailable', 'cannot open the state', { cause })
      }
      seen.push('started')
      const addresses = {
        http: '127.0.0.1:1',
        rpc: '127.0.0.1:2',
        gossip: 'none',
        ops: '127.0.0.1:3',
      }
      return {
        addresses,
        announceStop: () => void seen.push('announced'),
        reload: async (readConfig: () => Promise<unknown>) => {
          await readConfig()
          seen.push('reloaded')
        },
        stop: async () => void seen.push('stopped'),
      }
    },
    async startClient(given: ClientConfig, more: RuntimeDependencies) {
      dependencies = more
      seen.push(`started the client ${given.name}`)
      return {
        addresses: { http: '127.0.0.1:1', gossip: '127.0.0.1:2', ops: '127.0.0.1:3' },
        announceStop: () => void seen.push('announced'),
        reload: async (readConfig: () => Promise<unknown>) => {
          await readConfig()
          seen.push('reloaded')
        },
        stop: async () => void seen.push('stopped'),
      }
    },
  }
  return {
    environment,
    events,
    exited,
    seen,
    told,
    output: () => output,
    config: (): ServerConfig => {
      if (config === null) throw new Error('no server was started')
      return config
    },
    dependencies: (): RuntimeDependencies => {
      if (dependencies === null) throw new Error('no server was started')
      return dependencies
    },
  }
}

function configFile(t: Test): string {
  const folder = t.testdir()
  t.testdir({
    'a.json': JSON.stringify({
      name: 's1',
      data_dir: join(folder, 'data'),
      server: { enabled: true },
    }),
  })
  return join(folder, 'a.json')
}

t.test('with tls.auto the certificates are there before the server starts', async (t) => {
  const { environment, events, exited, config, output } = stage()
  const folder = t.testdir()
  const dataDir = join(folder, 'data')
  t.testdir({
    'a.json': JSON.stringify({
      data_dir: dataDir,
      server: { enabled: true },
      tls: { auto: true },
    }),
  })
  await runAgent({ configPaths: [join(folder, 'a.json')], dev: false }, environment)
  const { rpc } = config().tls
  t.match(await readFile(rpc?.certFile ?? '', 'utf8'), /BEGIN CERTIFICATE/)
  t.equal(rpc?.keyFile, join(dataDir, 'tls', 'server-1', 'key.pem'))
  events.emit('SIGTERM')
  await once(exited, 'exit')
  t.match(output(), /made certificates \(tls\.auto\): .*forClientAgents=.*tls\/client/)
})

t.test('a service manager is told of ready, reading again and stopping, in order', async (t) => {
  const { environment, events, exited, told, seen } = stage()
  await runAgent({ configPaths: [configFile(t)], dev: false }, environment)
  events.emit('SIGHUP')
  await eventuallyTrue('a reload', () => seen.includes('reloaded'))
  await eventuallyTrue('the words after it', () => told.length >= 3)
  events.emit('SIGTERM')
  await once(exited, 'exit')
  t.match(told, ['READY=1', /^RELOADING=1 MONOTONIC_USEC=\d+$/, 'READY=1', 'STOPPING=1'])
  t.equal(told.length, 4)
})

for (const [kind, side] of [
  ['a server', { server: { enabled: true } }],
  ['a client agent', { client: { enabled: true, retry_join: ['127.0.0.1'] } }],
] as const) {
  t.test(`a reload of ${kind} sets its log, and says what takes a restart`, async (t) => {
    const { environment, events, exited, dependencies, output } = stage()
    const file = configFile(t)
    const first = { name: 's1', data_dir: join(dirname(file), 'data'), ...side }
    const write = (more: object) => writeFile(file, JSON.stringify({ ...first, ...more }))
    await write({})
    await runAgent({ configPaths: [file], dev: false }, environment)
    const { reload, logger } = dependencies()
    t.equal(await reload(), null, 'nothing was changed')
    await write({
      log_level: 'debug',
      acl: { enabled: true, agent_token: 'secret'.padEnd(36, 'x') },
    })
    const warning = 'these take a restart: acl.agent_token, acl.enabled'
    t.equal(await reload(), warning)
    logger.debug('a line of debug')
    await write({ log_level: 'debug', log_json: true })
    t.equal(await reload(), null, 'it was changed back')
    await write({ ports: { http: 1 } })
    const before = output().length
    events.emit('SIGHUP')
    await eventuallyTrue('a line of text', () => /INFO. s1: read again\n$/.test(output()))
    t.match(output().slice(before), /WARN. s1: these take a restart: ports.http\n/)
    events.emit('SIGTERM')
    await once(exited, 'exit')
    t.ok(output().includes(`[WARN] s1: ${warning}\n`), output())
    t.match(output(), /DEBUG. s1: a line of debug\n/)
    t.match(output(), /"@level":"info","@message":"read again"/)
    t.equal(output().split('take a restart').length, 3, 'once for each reload')
    t.notMatch(output(), 'secret')
  })
}

t.test('an unchanged reload of a -dev agent warns of nothing', async (t) => {
  const { environment, events, exited, dependencies } = stage()
  await runAgent({ configPaths: [], dev: true }, environment)
  t.equal(await dependencies().reload(), null)
  events.emit('SIGTERM')
  await once(exited, 'exit')
})

t.test('a service manager that cannot be told does not stop an agent', async (t) => {
  const { environment, events, exited, output } = stage()
  const notify = () => Promise.reject(new Error('no such program'))
  await runAgent({ configPaths: [configFile(t)], dev: false }, { ...environment, notify })
  await eventuallyTrue('a warning', () => output().includes('systemd was not told'))
  events.emit('SIGTERM')
  t.same(await once(exited, 'exit'), [0])
})

t.test('the socket of the service manager is not left to the commands of checks', async (t) => {
  const env: NodeJS.ProcessEnv = { NOTIFY_SOCKET: '/nowhere', PATH: '/nowhere' }
  const send = systemdSocket(env)
  t.same(env, { PATH: '/nowhere' })
  await t.rejects(send?.(['READY=1']) ?? Promise.resolve(), { code: 'ENOENT' })
  t.equal(systemdSocket({}), null)
  t.equal(systemdSocket({ NOTIFY_SOCKET: '' }), null)
})

t.test('a client agent is started where the configuration has one', async (t) => {
  const { environment, events, exited, seen, output } = stage()
  const folder = t.testdir()
  t.testdir({
    'c.json': JSON.stringify({
      name: 'c1',
      data_dir: join(folder, 'data'),
      client: { enabled: true, retry_join: ['127.0.0.1'] },
    }),
  })
  await runAgent({ configPaths: [join(folder, 'c.json')], dev: false }, environment)
  const ended = once(exited, 'exit')
  events.emit('SIGTERM')
  t.same(await ended, [0])
  t.match(output(), /started: http=127[.]0[.]0[.]1:1 gossip=127[.]0[.]0[.]1:2/)
  t.same(seen, ['started the client c1', 'stopped'])
})

t.test('runs a server until a signal, and gives its folder free', async (t) => {
  const { environment, events, exited, seen, output, config } = stage()
  await runAgent({ configPaths: [configFile(t)], dev: false }, environment)
  await t.rejects(claimDataFolder(config().dataDir), { code: 'conflict' })
  const ended = once(exited, 'exit')
  events.emit('SIGTERM')
  t.same(await ended, [0])
  t.same(seen, ['started', 'stopped'])
  await (await claimDataFolder(config().dataDir)).release()
  t.match(
    output(),
    /\[INFO\] s1: starting: version=1\.2\.3 .*\n.* s1: started: http=127\.0\.0\.1:1 /,
  )
  t.match(
    output(),
    /s1: stopping: signal=|s1: stopped\n$/,
    'the last lines are written before the exit',
  )
})

t.test('a -dev agent has a key and a folder of its own, which goes at the end', async (t) => {
  const { environment, events, exited, config } = stage()
  await runAgent({ configPaths: [], dev: true }, environment)
  const { dataDir, server } = config()
  const keyFile = server.keyringKeyFile ?? ''
  t.equal(Buffer.from(await readFile(keyFile, 'utf8'), 'base64').length, 32)
  t.equal((await stat(keyFile)).mode & 0o777, 0o600)
  const ended = once(exited, 'exit')
  events.emit('SIGINT')
  t.same(await ended, [0])
  await t.rejects(readdir(dirname(dataDir)), { code: 'ENOENT' })
})

t.test('a server that cannot start leaves nothing behind', async (t) => {
  const { environment, events, config } = stage({ startFails: new Error('port 4646 is taken') })
  await t.rejects(runAgent({ configPaths: [configFile(t)], dev: false }, environment), {
    message: 'port 4646 is taken',
  })
  await (await claimDataFolder(config().dataDir)).release()
  t.same(events.eventNames(), [])
  const dev = stage({ startFails: new Error('no') })
  await t.rejects(runAgent({ configPaths: [], dev: true }, dev.environment), { message: 'no' })
  await t.rejects(readdir(dirname(dev.config().dataDir)), { code: 'ENOENT' })
})

t.test('a start waits for a disk that is full', async (t) => {
  const { environment, events, exited, seen, output } = stage({ diskFullTimes: 2 })
  await runAgent({ configPaths: [configFile(t)], dev: false }, environment)
  t.same(seen, ['refused', 'refused', 'started'])
  const ended = once(exited, 'exit')
  events.emit('SIGTERM')
  t.same(await ended, [0])
  t.equal(output().split('the disk refuses a write').length, 2, 'it is said once')
  t.match(output(), /the disk took the write that it had refused: part=start/)
})

t.test('a signal ends a start that waits for a disk', async (t) => {
  const { environment, events, exited, seen, config } = stage({ diskFullTimes: Infinity })
  const run = runAgent({ configPaths: [configFile(t)], dev: false }, environment)
  await eventuallyTrue('it waits', () => seen.length > 1)
  const ended = once(exited, 'exit')
  events.emit('SIGTERM')
  t.same(await ended, [0])
  await run
  await (await claimDataFolder(config().dataDir)).release()
})

t.test('a failure for good ends the process with exit code 1', async (t) => {
  const { environment, exited, dependencies, output, events } = stage()
  await runAgent({ configPaths: [configFile(t)], dev: false }, environment)
  const ended = once(exited, 'exit')
  dependencies().onFatal(new Error('the disk is gone'))
  t.same(await ended, [1])
  t.match(output(), /\[ERROR\] s1: this agent cannot go on: error="Error: the disk is gone/)
  const stopped = once(exited, 'exit')
  events.emit('SIGTERM')
  await stopped
})
