/** `npm start`: its options, its plan, its folder, and its child processes. */
import { execFileSync } from 'node:child_process'
import { createServer } from 'node:net'
import { copyFile, mkdir, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { existing, prepare, tail, wipe } from '../../scripts/start/folder.ts'
import { HOST, parseStartOptions, planAgents } from '../../scripts/start/options.ts'
import { isFree, takenPorts, takenPortsText } from '../../scripts/start/ports.ts'
import { ServerProcesses } from '../../scripts/start/processes.ts'
import { clusterReport, table } from '../../scripts/start/report.ts'
import { loadConfig } from '../../src/process/config.ts'

const defaults = {
  servers: null,
  clients: null,
  fresh: false,
  dataDir: '/here/.muster',
  basePort: 4646,
  tls: false,
  configFiles: [],
}

t.test('help is there before anything is installed', async (t) => {
  const folder = t.testdir({ scripts: { start: {} } })
  for (const file of ['scripts/start.sh', 'scripts/start/usage.mjs']) {
    await copyFile(new URL(`../../${file}`, import.meta.url), join(folder, file))
  }
  const help = execFileSync('sh', ['scripts/start.sh', '--servers', '5', '--help'], {
    cwd: folder,
    encoding: 'utf8',
  })
  t.match(help, /^Usage: npm start -- \[options\]\n/)
  t.match(help, /--base-port N +HTTP port of the first server \(default: 4646\)/)
})

t.test('options have defaults and are checked', async (t) => {
  const parse = (line: string) => parseStartOptions(line === '' ? [] : line.split(' '), '/here')
  t.same(parse(''), defaults)
  const all =
    '--servers 5 --clients 2 --fresh --data d --base-port 10000 --tls --config a.hcl --config /b.json'
  t.same(parse(all), {
    servers: 5,
    clients: 2,
    fresh: true,
    dataDir: '/here/d',
    basePort: 10000,
    tls: true,
    configFiles: ['/here/a.hcl', '/b.json'],
  })
  t.throws(() => parse('--servers 2'), { message: '--servers must be 1, 3 or 5, not 2' })
  t.throws(() => parse('--clients 9'), { message: '--clients must be 0 to 8, not 9' })
  t.throws(() => parse('--clients x'), { message: '--clients must be 0 to 8, not x' })
  t.throws(() => parse('--base-port 80'), { message: /must be from 1024 to 57000, not 80/ })
  t.throws(() => parse('--base-port x'), { message: /must be from 1024 to 57000, not x/ })
  t.throws(() => parse('--data='), { message: '--data must name a folder' })
  t.throws(() => parse('--config='), { message: '--config must name a file' })
  t.throws(() => parse('--wrong'), { message: /Unknown option '--wrong'/ })
})

t.test('ports are where the documents say', async (t) => {
  const plans = planAgents({ ...defaults, servers: 3, clients: 2 })
  t.same(
    plans.map(({ name, ports }) => [name, ...Object.values(ports)]),
    [
      ['s1', 4646, 4647, 4648, 9203, 8500],
      ['s2', 5646, 5647, 5648, 9213, 9500],
      ['s3', 6646, 6647, 6648, 9223, 10500],
      ['c1', 4746, 4747, 4748, 9303, 8600],
      ['c2', 4846, 4847, 4848, 9403, 8700],
    ],
  )
})

t.test('the folder is made, kept, wiped, and its configurations are good ones', async (t) => {
  const dataDir = join(t.testdir(), 'data')
  const plans = planAgents({ ...defaults, servers: 3, clients: 0, dataDir })
  await prepare(dataDir, plans)
  t.same(await existing(dataDir, 'server'), ['s1', 's2', 's3'])
  const keyFile = join(dataDir, 'cluster.key')
  const key = await readFile(keyFile, 'utf8')
  t.equal(Buffer.from(key, 'base64').length, 32)
  t.equal((await stat(keyFile)).mode & 0o777, 0o600)
  for (const plan of plans) {
    const config = await loadConfig([plan.configFile])
    const { consul, ...ports } = plan.ports
    t.match(config, { name: plan.name, dataDir: plan.dataDir, ports })
    t.match(
      config.listeners.map(({ purpose, dialect, port }) => [purpose, dialect, port]),
      [
        ['api', 'nomad', ports.http],
        ['ops', 'nomad', ports.ops],
        ['api', 'consul', consul],
      ],
    )
    t.match(config.server, {
      bootstrapExpect: 3,
      peers: [],
      gossip: { retryJoin: ['127.0.0.1:4648'] },
      keyringKeyFile: keyFile,
    })
  }
  const [, client] = planAgents({ ...defaults, servers: 1, clients: 1, dataDir })
  if (client === undefined) throw new Error('no plan')
  await prepare(dataDir, [...plans, client])
  t.same(await existing(dataDir, 'client'), ['c1'])
  t.match(await loadConfig([client.configFile]), {
    name: 'c1',
    server: { enabled: false },
    client: { gossip: { retryJoin: ['127.0.0.1:4648'] } },
  })
  await prepare(dataDir, [...plans, client], '/tls')
  t.match((await loadConfig([client.configFile])).tls, { caFile: '/tls/client/ca.pem' })
  t.match((await loadConfig([plans[2]?.configFile ?? ''])).tls, {
    rpc: { certFile: '/tls/server-3/cert.pem' },
  })
  const more = join(dataDir, '..', 'acl.hcl')
  await writeFile(more, 'acl { enabled = true }')
  const [first] = planAgents({ ...defaults, servers: 3, clients: 0, dataDir, configFiles: [more] })
  t.match(await loadConfig(first?.configFiles ?? []), { name: 's1', acl: { enabled: true } })
  const log = plans[0]?.logFile ?? ''
  await writeFile(log, 'old\n')
  await prepare(dataDir, plans)
  t.equal(await readFile(log, 'utf8'), 'old\n', 'a short log goes on')
  await truncate(log, 17 * 1024 * 1024)
  await prepare(dataDir, plans)
  t.same((await readdir(join(dataDir, 's1'))).sort(), ['agent.json', 'server.log.1'])
  await mkdir(join(dataDir, 'mine'))
  await wipe(dataDir)
  t.same((await readdir(dataDir)).sort(), ['cluster.key', 'mine'], 'only agents are wiped')
  t.equal(await readFile(keyFile, 'utf8'), key)
})

t.test('a taken port is named with its owner', async (t) => {
  const server = createServer()
  t.teardown(() => server.close())
  await new Promise<void>((resolve) => {
    server.listen(0, HOST, () => resolve())
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  t.notOk(await isFree(port))
  const [plan] = planAgents({ ...defaults, servers: 1, clients: 0 })
  if (plan === undefined) throw new Error('no plan')
  const taken = await takenPorts([{ ...plan, ports: { ...plan.ports, http: port } }])
  const mine = taken.find((one) => one.port === port)
  t.equal(mine?.what, 'http of s1')
  t.match(
    takenPortsText(taken),
    new RegExp(`\\n  ${port} \\(http of s1\\): taken by .*\\n[^]* npm start -- --base-port `),
  )
  if (process.platform === 'linux') t.match(mine?.owner, new RegExp(`^process ${process.pid} \\(`))
})

t.test(
  'servers are stopped together, reported when they end, killed when they do not',
  async (t) => {
    const folder = t.testdir()
    const ends: string[] = []
    let reported = (): void => {}
    const firstEnd = new Promise<void>((resolve) => {
      reported = resolve
    })
    const processes = new ServerProcesses((ended, how) => {
      ends.push(`${ended.name}: ${how}`)
      reported()
    })
    const node = (script: string) => [process.execPath, '-e', script] as const
    const started = (name: string) => join(folder, name)
    await processes.start('polite', node(polite), started('polite'))
    await processes.start('deaf', node(deaf), started('deaf'))
    await processes.start('dead', node("console.log('bye'); process.exit(3)"), started('dead'))
    await firstEnd
    t.same(ends, ['dead: exit code 3'])
    t.equal(await tail(started('dead'), 5), 'bye')
    t.same(
      processes.running().map((one) => one.name),
      ['polite', 'deaf'],
    )
    for (const name of ['polite', 'deaf']) {
      while ((await tail(started(name), 1)) !== 'ready') await new Promise((r) => setTimeout(r, 10))
    }
    t.same(await processes.stop(300), ['deaf'])
    t.equal(await tail(started('polite'), 1), 'stopped')
    t.same(processes.running(), [])
    t.same(ends, ['dead: exit code 3'], 'ends after a stop are expected')
  },
)

t.test('a server has started by its own word, whoever answers at its port', async (t) => {
  const log = join(t.testdir({ log: '' }), 'log')
  const line = (text: string) => `2026-01-01T00:00:00.000Z [INFO] s1: ${text}\n`
  await writeFile(log, line('started: http=127.0.0.1:1'))
  const processes = new ServerProcesses(() => undefined)
  t.teardown(() => processes.stop())
  const wait = "setInterval(() => {}, 1000); console.log('ready')"
  await processes.start('s1', [process.execPath, '-e', wait], log)
  while ((await tail(log, 1)) !== 'ready') await new Promise((r) => setTimeout(r, 10))
  t.notOk(await processes.allStarted(), 'the word of an earlier process does not count')
  await writeFile(log, line('starting: pid=1'), { flag: 'a' })
  t.notOk(await processes.allStarted())
  await writeFile(log, line('started: http=127.0.0.1:1'), { flag: 'a' })
  t.ok(await processes.allStarted())
  await processes.stop()
  t.notOk(await processes.allStarted(), 'nor that of one that has ended')
})

const polite =
  "process.on('SIGTERM', () => { console.log('stopped'); process.exit(0) }); setInterval(() => {}, 1000); console.log('ready')"
const deaf = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('ready')"

t.test('the report aligns its columns and marks the leader', async (t) => {
  t.equal(
    table([
      ['a', 'bb'],
      ['ccc', 'd'],
    ]),
    'a    bb\nccc  d',
  )
  const plans = planAgents({ ...defaults, servers: 3, clients: 0 })
  const text = clusterReport(plans, 5647, '/here')
  t.match(text, /^name {2}role {6}HTTP {19}as Consul {15}RPC/)
  t.match(
    text,
    /\ns2 {4}leader {4}http:\/\/127\.0\.0\.1:5646 {2}http:\/\/127\.0\.0\.1:9500 {3}127\.0\.0\.1:5647 {2}http:\/\/127\.0\.0\.1:9213 {2}\.muster\/s2\/data\n/,
  )
  const withClient = planAgents({ ...defaults, servers: 1, clients: 1 })
  t.match(
    clusterReport(withClient, 4647, '/here'),
    /\nc1 +client +http:\/\/127\.0\.0\.1:4746 +http:\/\/127\.0\.0\.1:8600 +- +http:\/\/127\.0\.0\.1:9303 +\.muster\/c1\/data\n/,
  )
  t.match(text, /\n {2}curl -X PUT http:\/\/127\.0\.0\.1:4646\/v1\/var\/app\/db -d '\{"Items"/)
  t.match(text, /\n {2}curl 'http:\/\/127\.0\.0\.1:6646\/v1\/var\/app\/db\?pretty'\n/)
  const secure = clusterReport(plans, 5647, '/here', '/here/.muster/tls/ca.pem')
  t.match(secure, /\ns1 +follower +https:\/\/127\.0\.0\.1:4646 +https:\/\/127\.0\.0\.1:8500 /)
  t.match(
    secure,
    /\n {2}curl --cacert \.muster\/tls\/ca\.pem -X PUT https:\/\/127\.0\.0\.1:4646\/v1/,
  )
  t.match(secure, /MUSTER_ADDR=https:\/\/127\.0\.0\.1:4646 MUSTER_CACERT=\.muster\/tls\/ca\.pem\n/)
})
