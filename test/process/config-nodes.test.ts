/** Configuration of client nodes: what an agent tells of its machine, and the times of heartbeats. */
import t from 'tap'
import { capsDefault } from '../../src/client-agent/drivers/docker/settings.ts'
import { load, refusal, smallest } from './config-files.ts'

const client = (more: string) => `
data_dir = "/data"
client {
  enabled    = true
  retry_join = ["10.0.0.1"]
  ${more}
}
`

t.test('a client block names class, metadata, volumes and what is reserved', async (t) => {
  const text = client(`
    node_class = "fast"
    cpu_total_compute = 5000
    meta       = { rack = "r1" }
    host_volume "data" {
      path      = "/srv/data"
      read_only = true
    }
    host_volume "scratch" { path = "/tmp" }
    reserved {
      cpu            = 500
      memory         = 256
      disk           = 1024
      reserved_ports = "22,8500-8600"
    }
  `)
  t.same((await load(t, { 'a.hcl': text })).client?.node, {
    nodeClass: 'fast',
    cpuTotalMhz: 5_000,
    meta: [['rack', 'r1']],
    hostVolumes: [
      { name: 'data', path: '/srv/data', readOnly: true },
      { name: 'scratch', path: '/tmp', readOnly: false },
    ],
    reserved: { cpuMhz: 500, memoryMb: 256, diskMb: 1_024, ports: '22,8500-8600' },
  })
  t.same((await load(t, { 'a.hcl': client('') })).client?.node, {
    nodeClass: '',
    cpuTotalMhz: null,
    meta: [],
    hostVolumes: [],
    reserved: { cpuMhz: 0, memoryMb: 0, diskMb: 0, ports: '' },
  })
})

t.test('drivers are enabled by the blocks of their plugins', async (t) => {
  const docker = {
    socketPath: '/var/run/docker.sock',
    allowPrivileged: false,
    allowVolumes: false,
    allowCaps: [...capsDefault],
    imageDelayMs: 180_000,
  }
  const none = {
    drivers: ['exec'],
    docker,
    cgroupParent: 'muster.slice',
    endedMax: 50,
    stopsTasks: false,
    killTimeoutMsMax: 30_000,
    drainOnShutdown: null,
    artifacts: {
      fileFolders: [],
      msMax: 1_800_000,
      bytesMax: 10 * 2 ** 30,
      unpackedBytesMax: 10 * 2 ** 30,
      filesMax: 4_096,
    },
  }
  t.same((await load(t, { 'a.hcl': client('') })).client?.work, none)
  const text = `${client('gc_max_allocs = 3\nstop_tasks_on_shutdown = true\nmax_kill_timeout = "2m"\ndrain_on_shutdown { ignore_system_jobs = true }\ncgroup_parent = "tasks.slice"\nartifact {\n file_folders = ["/srv/a"]\n http_read_timeout = "1m"\n http_max_size = "1MiB"\n decompression_size_limit = 2048\n decompression_file_count_limit = 7\n}')}
    plugin "raw_exec" { config { enabled = true } }
    plugin "exec" { config { enabled = false } }
    plugin "mock_driver" {}
    plugin "docker" {
      config {
        enabled          = true
        endpoint         = "unix:///run/d.sock"
        allow_privileged = true
        allow_caps       = ["CAP_NET_ADMIN"]
        volumes { enabled = true }
        gc { image = false }
      }
    }
  `
  t.same((await load(t, { 'a.hcl': text })).client?.work, {
    drivers: ['docker', 'raw_exec'],
    docker: {
      socketPath: '/run/d.sock',
      allowPrivileged: true,
      allowVolumes: true,
      allowCaps: ['net_admin'],
      imageDelayMs: null,
    },
    cgroupParent: 'tasks.slice',
    endedMax: 3,
    stopsTasks: true,
    killTimeoutMsMax: 120_000,
    drainOnShutdown: { deadlineMs: 3_600_000, force: false, ignoreSystemJobs: true },
    artifacts: {
      fileFolders: ['/srv/a'],
      msMax: 60_000,
      bytesMax: 2 ** 20,
      unpackedBytesMax: 2_048,
      filesMax: 7,
    },
  })
  const strange = `${client('')} plugin "qemu" { config { enabled = true } }`
  t.match(await refusal(t, { 'a.hcl': strange }), /plugin\.qemu: unknown key/)
  const far = `${client('')} plugin "docker" { config { endpoint = "tcp://10.0.0.7:2375" } }`
  t.match(await refusal(t, { 'a.hcl': far }), /plugin\.docker\.config\.endpoint.*must be as/)
})

t.test('what cannot be told is refused', async (t) => {
  const relative = client('host_volume "data" { path = "data" }')
  t.match(await refusal(t, { 'a.hcl': relative }), /the path of data must be absolute/)
  const folders = client('artifact { file_folders = ["srv"] }')
  t.match(await refusal(t, { 'a.hcl': folders }), /client\.artifact\.file_folders.*absolute paths/)
  const ports = client('reserved { reserved_ports = "ssh" }')
  t.match(await refusal(t, { 'a.hcl': ports }), /reserved_ports.*must be ports and ranges/)
})

t.test('the times of heartbeats are settings of servers', async (t) => {
  const text = `${smallest}
    server {
      min_heartbeat_ttl         = "5s"
      max_heartbeats_per_second = 200
      heartbeat_grace           = "3s"
      failover_heartbeat_ttl    = "1m"
    }
  `
  t.same(
    (await load(t, { 'a.hcl': smallest, 'b.hcl': text.replace(smallest, '') })).server.heartbeats,
    {
      ttlMsMin: 5_000,
      perSecondMax: 200,
      graceMs: 3_000,
      failoverMs: 60_000,
    },
  )
})
