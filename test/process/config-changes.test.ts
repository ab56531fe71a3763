/** Which changes of the files a reload does not take. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { loadFiles } from '../../src/process/config.ts'
import { restartWarning } from '../../src/process/config-changes.ts'
import { smallest } from './config-files.ts'

async function warningOf(t: Test, before: string, after: string): Promise<string | null> {
  const folder = t.testdir({ 'a.hcl': smallest + before, 'b.hcl': smallest + after })
  const read = async (name: string) => (await loadFiles([join(folder, name)])).file
  return restartWarning(await read('a.hcl'), await read('b.hcl'))
}

const others = `
  tls { folder = "/etc/muster/tls" }
  acl { enabled = true }
  service {
    name = "web"
    port = 80
  }
`

t.test('an equal configuration has no warning, whatever it looks like', async (t) => {
  t.equal(await warningOf(t, '', ''), null)
  t.equal(await warningOf(t, others, others), null)
  const said =
    'region = "global"\nlimits { http_body_bytes_max = "2MiB" }\naudit {}\nlistener = []\n'
  t.equal(await warningOf(t, '', said), null, 'defaults that are written out')
  const [oneWay, another] = [
    'limits { http_body_bytes_max = "4MiB" }',
    'limits { http_body_bytes_max = 4194304 }',
  ]
  t.equal(await warningOf(t, oneWay, another), null, 'units')
})

t.test('what a reload takes has no warning', async (t) => {
  const taken = `
    log_level = "debug"
    log_json = true
    service { name = "web" }
    services = [{ name = "web2" }]
    check {
      name = "up"
      ttl = "10s"
    }
    checks = []
    audit {
      enabled = true
      path = "/log"
      rotate_max_files = 2
    }
    http {
      allowed_hosts = ["a.example"]
      cors { allowed_origins = ["https://ui.example.com"] }
    }
    limits {
      http_max_conns_per_client = 10
      http_rate_per_client = 5
      http_burst_per_client = 10
      http_concurrency_per_client = 3
    }
  `
  t.equal(await warningOf(t, '', taken), null)
  t.equal(await warningOf(t, taken, ''), null)
})

t.test('what it does not take is named by its keys, sorted, without values', async (t) => {
  const cases = [
    ['', 'ports { http = 1 }\nacl { enabled = true }', 'acl.enabled, ports.http'],
    ['ports { http = 1 }', 'ports { http = 2 }\nlog_level = "warn"', 'ports.http'],
    ['tls { folder = "/a" }', '', 'tls.folder'],
    ['limits { http_connections_max = 100 }', '', 'limits.http_connections_max'],
    ['', 'listener "tcp" {\n  purpose = "ops"\n  address = "127.0.0.1:1"\n}', 'listener'],
    ['', 'plugin "raw_exec" {\n  config { enabled = true }\n}', 'plugin.raw_exec.config.enabled'],
    ['', 'client { meta = { "my secret" = "x" } }', 'client.meta'],
    ['', 'header_aliases = ["nomad"]', 'header_aliases'],
  ] as const
  for (const [before, after, names] of cases) {
    t.equal(await warningOf(t, before, after), `these take a restart: ${names}`)
  }
})

t.test('at most a dozen are named', async (t) => {
  const many = `
    name = "n"
    region = "r"
    datacenter = "d"
    bind_addr = "127.0.0.2"
    enable_debug = true
    leave_on_terminate = true
    enable_script_checks = true
    enable_local_script_checks = true
    allow_insecure_rpc = true
    acl { enabled = true }
    ports {
      http = 1
      rpc = 2
      gossip = 3
      ops = 4
    }
  `
  t.equal(
    await warningOf(t, '', many),
    'these take a restart: acl.enabled, allow_insecure_rpc, bind_addr, datacenter, enable_debug, ' +
      'enable_local_script_checks, enable_script_checks, leave_on_terminate, name, ports.gossip, ' +
      'ports.http, ports.ops and 2 more',
  )
})
