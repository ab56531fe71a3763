/** Configuration files: what they default to and how they are merged. Refusals are in `config-refusals.test.ts`. */
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import t from 'tap'
import { editDistance } from '../../src/process/config-check.ts'
import { isHost, parsePeer, parseSize } from '../../src/process/config-values.ts'
import { joinHostPort, loadConfig } from '../../src/process/config.ts'
import { load, smallest } from './config-files.ts'

t.test('the smallest file gets sound defaults and is frozen', async (t) => {
  const config = await load(t, { 'a.hcl': smallest })
  t.same(config, {
    name: hostname(),
    region: 'global',
    datacenter: 'dc1',
    dataDir: '/data',
    bindAddr: '127.0.0.1',
    advertiseAddr: '127.0.0.1',
    logLevel: 'info',
    logJson: false,
    enableDebug: null,
    leaveOnTerminate: false,
    scriptChecks: 'none',
    definitions: { services: [], checks: [] },
    ports: { http: 4646, rpc: 4647, gossip: 4648, ops: 9203 },
    listeners: [
      { purpose: 'api', dialect: 'nomad', host: '127.0.0.1', port: 4646, tls: null },
      { purpose: 'ops', dialect: 'nomad', host: '127.0.0.1', port: 9203, tls: null },
    ],
    controller: { gracefulShutdownWaitMs: 0 },
    tls: {
      auto: null,
      byFolder: false,
      caFile: null,
      verifyServerHostname: true,
      minVersion: 'TLSv1.2',
      http: null,
      rpc: null,
    },
    client: null,
    acl: {
      enabled: false,
      defaultPolicy: 'deny',
      downPolicy: 'deny',
      bootstrapToken: null,
      agentToken: null,
    },
    server: {
      enabled: true,
      bootstrapExpect: 1,
      peers: [],
      gossip: { retryJoin: [], encrypt: null },
      keyringKeyFile: null,
      numSchedulers: null,
      enabledSchedulers: null,
      memory: {
        targetBytes: 2 ** 28,
        rowCacheBytes: 2 ** 24,
        blockCacheBytes: 2 ** 24,
        eventBytes: 2 ** 24,
      },
      snapshots: null,
      heartbeats: { ttlMsMin: 10_000, perSecondMax: 50, graceMs: 10_000, failoverMs: 300_000 },
      raft: {
        electionMs: 1_000,
        adaptive: { minMs: 250, maxMs: 2_000 },
        heartbeatMs: 100,
        leaseReads: false,
        appendBytesMax: 2 ** 20,
        inflightMessagesMax: 64,
        inflightBytesMax: 2 ** 24,
        uncommittedBytesMax: 2 ** 25,
        cacheBytesMax: 2 ** 25,
        compactBytes: 2 ** 26,
      },
    },
    headerAliases: ['consul', 'nomad', 'vault'],
    http: { allowedHosts: [], corsOrigins: [] },
    limits: {
      httpBodyBytesMax: 2 ** 21,
      httpBodiesBytesMax: 2 ** 26,
      httpConnectionsMax: 16384,
      httpConnectionsPerClientMax: 4096,
      httpRatePerClient: 0,
      httpBurstPerClient: 0,
      httpConcurrencyPerClient: 0,
      httpAnswerBytesMax: 64 * 1024 * 1024,
      blockingQueriesMax: 16384,
      eventStreamsMax: 1024,
      eventsKeptMax: 65536,
      eventBytesKeptMax: 16 * 1024 * 1024,
    },
    audit: {
      enabled: false,
      path: '/data/audit/audit.log',
      rotateBytes: 100 * 2 ** 20,
      rotateFilesMax: 10,
      required: false,
    },
  })
  t.ok(Object.isFrozen(config.server.raft))
})

t.test('JSON and HCL mean the same', async (t) => {
  const values = {
    name: 's1',
    region: 'eu',
    datacenter: 'dc2',
    data_dir: 'relative',
    bind_addr: '0.0.0.0',
    allow_insecure_rpc: true,
    advertise_addr: '10.0.0.1',
    log_level: 'debug',
    log_json: true,
    ports: { http: 1, rpc: 2, gossip: 3, ops: 4 },
    server: {
      enabled: true,
      bootstrap_expect: 3,
      peers: ['s1=10.0.0.1:2', 's2=10.0.0.2:2', 's3=[fd00::3]:2'],
      keyring_key_file: 'key',
      raft: { election_timeout: '1.5s', heartbeat_interval: '100ms', cache_bytes_max: '64MiB' },
    },
    header_aliases: ['nomad'],
    limits: { http_body_bytes_max: 131072 },
  }
  const hcl = `
    name = "s1"
    region = "eu"
    datacenter = "dc2"
    data_dir = "relative"
    bind_addr = "0.0.0.0"
    allow_insecure_rpc = true
    advertise_addr = "10.0.0.1"
    log_level = "debug"
    log_json = true
    ports {
      http = 1
      rpc = 2
      gossip = 3
      ops = 4
    }
    server {
      enabled = true
      bootstrap_expect = 3
      peers = ["s1=10.0.0.1:2", "s2=10.0.0.2:2", "s3=[fd00::3]:2"]
      keyring_key_file = "key"
      raft {
        election_timeout = "1.5s"
        heartbeat_interval = "100ms"
        cache_bytes_max = "64MiB"
      }
    }
    header_aliases = ["nomad"]
    limits = { http_body_bytes_max = 131072 }
  `
  const config = await load(t, { 'a.json': JSON.stringify(values) }, ['a.json'])
  t.same(await load(t, { 'b.hcl': hcl }, ['b.hcl']), config)
  t.same(await load(t, { plain: hcl }, ['plain']), config, 'without an ending HCL is recognized')
  t.same(await load(t, { j: JSON.stringify(values) }, ['j']), config, 'and JSON as well')
  t.equal(config.dataDir, resolve('relative'))
  t.same(config.server.peers, [
    { name: 's2', host: '10.0.0.2', port: 2 },
    { name: 's3', host: 'fd00::3', port: 2 },
  ])
  t.equal(config.server.raft.electionMs, 1500)
  t.equal(config.server.raft.adaptive, null, 'a timeout that is set stays')
  t.equal(config.server.raft.cacheBytesMax, 2 ** 26)
})

t.test('limits of clients and the audit log are what their blocks say', async (t) => {
  const text = `${smallest}
    limits {
      http_max_conns_per_client   = 200
      http_rate_per_client        = 50
      http_concurrency_per_client = 8
    }
    audit {
      enabled          = true
      path             = "relative/audit.log"
      rotate_bytes     = "1MiB"
      rotate_max_files = 3
      required         = true
    }
  `
  const config = await load(t, { 'a.hcl': text })
  t.match(config.limits, {
    httpConnectionsPerClientMax: 200,
    httpRatePerClient: 50,
    httpBurstPerClient: 50,
    httpConcurrencyPerClient: 8,
  })
  t.same(config.audit, {
    enabled: true,
    path: resolve('relative/audit.log'),
    rotateBytes: 2 ** 20,
    rotateFilesMax: 3,
    required: true,
  })
})

t.test('the http block names hosts and origins', async (t) => {
  const config = await load(t, {
    'a.hcl': `${smallest}
    http {
      allowed_hosts = ["muster.example.com", "*.lb.example.com", "*"]
      cors {
        allowed_origins = ["https://ui.example.com", "http://127.0.0.1:3000"]
      }
    }`,
  })
  t.same(config.http, {
    allowedHosts: ['muster.example.com', '*.lb.example.com', '*'],
    corsOrigins: ['https://ui.example.com', 'http://127.0.0.1:3000'],
  })
})

t.test('a folder is read in byte order, later over earlier, lists replaced whole', async (t) => {
  const config = await load(t, {
    'a.hcl': `${smallest}name = "a"\nports {\n  http = 1000\n  rpc = 1001\n}\nheader_aliases = ["vault"]\n`,
    'B.json': '{"name": "B", "region": "from-B"}',
    'c.hcl': 'ports {\n  http = 2000\n}\nheader_aliases = ["consul", "nomad"]\n',
    'c.txt': 'not read',
    '.d.hcl': 'not read',
  })
  t.equal(config.name, 'a', 'a comes after B in bytes')
  t.equal(config.region, 'from-B')
  t.match(config.ports, { http: 2000, rpc: 1001 })
  t.same(config.headerAliases, ['consul', 'nomad'])
})

t.test('paths are read in the order given', async (t) => {
  const files = { 'a.hcl': `${smallest}name = "a"`, 'b.hcl': 'name = "b"' }
  t.equal((await load(t, files, ['a.hcl', 'b.hcl'])).name, 'b')
  t.equal((await load(t, files, ['b.hcl', 'a.hcl'])).name, 'a')
})

t.test('one list of peers serves every server, with or without itself', async (t) => {
  const server = (name: string, more: string) =>
    `name = "${name}"\ndata_dir = "/d"\nserver {\n  enabled = true\n  ${more}\n}\n`
  const all = 'peers = ["s1=h1:4647", "s2=h2:4647", "s3=h3:4647"]'
  const s2 = await load(t, { 'a.hcl': server('s2', all) })
  t.same(
    s2.server.peers.map((peer) => peer.name),
    ['s1', 's3'],
  )
  t.equal(s2.server.bootstrapExpect, 3)
  const s3 = await load(t, { 'a.hcl': server('s3', 'peers = ["s1=h1:4647", "s2=h2:4647"]') })
  t.equal(s3.server.bootstrapExpect, 3)
  const s4 = await load(t, { 'a.hcl': server('s4', `${all}\n  bootstrap_expect = 0`) })
  t.match(s4.server, { bootstrapExpect: 0, peers: { length: 3 } })
})

t.test('a -dev agent brings its folder and keeps to it', async (t) => {
  const base = { dataDir: '/tmp/x', serverEnabled: true, keyringKeyFile: '/tmp/k' }
  t.match(await loadConfig([], base), { dataDir: '/tmp/x', server: { keyringKeyFile: '/tmp/k' } })
  const file = join(t.testdir({ 'a.hcl': smallest }), 'a.hcl')
  await t.rejects(loadConfig([file], base), { message: /data_dir: a -dev agent keeps its data/ })
})

t.test(
  'scheduled snapshots have a folder and a number, and mean nothing without a schedule',
  async (t) => {
    const server = (more: string) => ({
      'a.hcl': `name = "a"\ndata_dir = "/d"\nserver {\n  enabled = true\n  ${more}\n}\n`,
    })
    const hourly = 'snapshot_schedule = "1h"'
    t.same((await load(t, server(hourly))).server.snapshots, {
      everyMs: 3_600_000,
      retain: 30,
      folder: '/d/snapshots',
    })
    const more = `${hourly}\n  snapshot_retain = 2\n  snapshot_folder = "/backup"`
    t.same((await load(t, server(more))).server.snapshots, {
      everyMs: 3_600_000,
      retain: 2,
      folder: '/backup',
    })
    await t.rejects(load(t, server('snapshot_retain = 2')), {
      message: /server.snapshot_retain: means nothing without server.snapshot_schedule/,
    })
    await t.rejects(load(t, server('snapshot_schedule = "1s"')), {
      message: /"1m" to "744h"|1m to 744h/,
    })
  },
)

t.test('hosts, peers, sizes and distances', async (t) => {
  for (const good of ['localhost', 'a.b-c.example', '10.0.0.1', '::1', 'fd00::1', '4u']) {
    t.ok(isHost(good), good)
  }
  for (const bad of ['', 'a b', '1.2.3', '[::1]', 'a..b', '-a', 'a'.repeat(64), ':::']) {
    t.notOk(isHost(bad), bad)
  }
  for (const bad of [
    'a=b',
    'a=b:0',
    'a=b:65536',
    '=b:1',
    'a=[b]:1',
    'a=::1:1',
    'a=b:1x',
    'a b=c:1',
  ]) {
    t.equal(parsePeer(bad), undefined, bad)
  }
  t.same(parsePeer('a=[::1]:1'), { name: 'a', host: '::1', port: 1 })
  t.equal(joinHostPort('::1', 1), '[::1]:1')
  t.same(['1', '1B', '2KiB', '3MiB', '1GiB', '1KB', '', '-1', '1.5MiB'].map(parseSize), [
    1,
    1,
    2048,
    3145728,
    2 ** 30,
    undefined,
    undefined,
    undefined,
    undefined,
  ])
  t.equal(editDistance('kitten', 'sitting'), 3)
})

t.test('gossip runs unless peers are listed and nothing of gossip is configured', async (t) => {
  const server = (more: string) =>
    load(t, { 'a.hcl': `name = "s1"\ndata_dir = "/d"\nserver {\n  enabled = true\n  ${more}\n}\n` })
  const key = Buffer.alloc(32, 1).toString('base64')
  const peers = 'peers = ["s2=h:1", "s3=h:2"]'
  const found = await server('bootstrap_expect = 3\n  retry_join = ["one.example", "10.0.0.1:7"]')
  t.match(found.server, { bootstrapExpect: 3, peers: [] })
  t.same(found.server.gossip, { retryJoin: ['one.example', '10.0.0.1:7'], encrypt: null })
  t.equal((await server(peers)).server.gossip, null)
  const both = await server(`${peers}\n  encrypt = "${key}"`)
  t.match(both.server, { peers: { length: 2 }, gossip: { retryJoin: [], encrypt: key } })
  t.equal((await server('bootstrap_expect = 0')).server.bootstrapExpect, 0, 'to be joined by hand')
})
