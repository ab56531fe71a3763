/** Listener blocks: what they mean, beside `ports` and over several files, and what is refused. */
import { resolve } from 'node:path'
import t from 'tap'
import type { AgentConfig } from '../../src/process/config.ts'
import { load, refusal, smallest } from './config-files.ts'

const lines = (config: AgentConfig) =>
  config.listeners.map(({ purpose, host, port, tls }) => {
    const how = tls === null ? 'http' : `https ${tls.certFile} ${tls.keyFile}`
    return `${purpose} ${host} ${port} ${how}`
  })

t.test('without blocks the ports are the listeners', async (t) => {
  const config = await load(t, {
    'a.hcl': `${smallest}bind_addr = "10.0.0.1"\nallow_insecure_rpc = true\nports { ops = 0 }\n`,
  })
  t.same(lines(config), ['api 10.0.0.1 4646 http', 'ops 10.0.0.1 0 http'])
  t.equal(config.controller.gracefulShutdownWaitMs, 0, 'nothing waits unless it is asked for')
})

t.test('blocks replace the port of their purpose and add up', async (t) => {
  const config = await load(t, {
    'a.hcl': `${smallest}
bind_addr = "10.0.0.1"
allow_insecure_rpc = true
listener "tcp" {
  purpose       = "api"
  address       = "10.0.0.1:443"
  tls_cert_file = "cert.pem"
  tls_key_file  = "/etc/key.pem"
}
listener {
  purpose     = "api"
  address     = "[::1]:8500"
  tls_disable = true
}
controller { graceful_shutdown_wait_duration = "1m30s" }
`,
  })
  t.same(lines(config), [
    'ops 10.0.0.1 9203 http',
    `api 10.0.0.1 443 https ${resolve('cert.pem')} /etc/key.pem`,
    'api ::1 8500 http',
  ])
  t.equal(config.controller.gracefulShutdownWaitMs, 90_000)
})

t.test('a listener of another dialect is one more, beside the port of the API', async (t) => {
  const config = await load(t, {
    'a.hcl': `${smallest}tls {
  http = true
  cert_file = "c.pem"
  key_file = "k.pem"
}
listener {
  purpose = "api"
  dialect = "consul"
}
`,
  })
  t.same(
    config.listeners.map(({ purpose, dialect, port, tls }) => [purpose, dialect, port, tls?.block]),
    [
      ['api', 'nomad', 4646, 'tls'],
      ['ops', 'nomad', 9203, undefined],
      ['api', 'consul', 8500, undefined],
    ],
  )
  const both = await load(t, {
    'a.hcl': `${smallest}
listener {
  purpose = "api"
  dialect = "consul"
}
listener {
  purpose = "api"
  dialect = "nomad"
  address = "127.0.0.1:4000"
}
`,
  })
  t.same(
    both.listeners.map(({ dialect, port }) => [dialect, port]),
    [
      ['nomad', 9203],
      ['consul', 8500],
      ['nomad', 4000],
    ],
  )
})

t.test('a dialect is one of those there are, and the API has it', async (t) => {
  const one = (block: string) => refusal(t, { 'a.hcl': `${smallest}${block}` })
  t.match(await one('listener {\n purpose = "api"\n dialect = "vault"\n}'), /one of nomad, consul/)
  t.match(
    await one('listener {\n purpose = "ops"\n dialect = "consul"\n}'),
    /listener\.0\.dialect: only listeners with purpose "api" have one/,
  )
})

t.test('an address may leave out its port, and a block its address', async (t) => {
  const config = await load(t, {
    'a.hcl': `${smallest}listener { purpose = "ops" }\nlistener {\n purpose = "api"\n address = "0.0.0.0"\n}\n`,
  })
  t.same(lines(config), ['ops 127.0.0.1 9203 http', 'api 0.0.0.0 4646 http'])
})

t.test('files add up, and JSON may write one block, several, or the label', async (t) => {
  const config = await load(t, {
    'a.hcl': `${smallest}listener {\n purpose = "ops"\n address = "h:1"\n}\n`,
    'b.json': '{"listener":{"purpose":"ops","address":"h:2"}}',
    'c.json':
      '{"listener":[{"tcp":{"purpose":"ops","address":"h:3"}},{"purpose":"ops","address":"h:4"}]}',
  })
  t.same(lines(config), [
    'api 127.0.0.1 4646 http',
    ...[1, 2, 3, 4].map((at) => `ops h ${at} http`),
  ])
})

t.test('a key file is not read when TLS is switched off', async (t) => {
  const config = await load(t, {
    'a.hcl': `${smallest}listener {\n purpose = "ops"\n tls_disable = true\n tls_cert_file = "x"\n}\n`,
  })
  t.match(lines(config)[1], 'http')
})

const refusals: readonly (readonly [what: string, text: string, lines: string])[] = [
  [
    'no purpose',
    'listener { address = "h:1" }',
    'a.hcl:5: listener.0.purpose: missing; say "api" for clients, or "ops" for health and metrics',
  ],
  [
    'an unknown purpose',
    'listener { purpose = "cluster" }',
    'a.hcl:5: listener.0.purpose: must be one of api, ops, not "cluster"',
  ],
  [
    'an address that is none',
    'listener {\n purpose = "ops"\n address = ":9203"\n}',
    'a.hcl:7: listener.0.address: must be host:port, as in "10.0.0.1:9203" or "[::1]:9203", not ":9203"',
  ],
  [
    'a certificate without its key',
    'listener {\n purpose = "api"\n tls_cert_file = "c"\n}',
    'a.hcl:5: listener.0.tls_key_file: missing; name the PEM file, or set tls_disable to true',
  ],
  [
    'TLS without files',
    'listener {\n purpose = "api"\n tls_disable = false\n}',
    'a.hcl:5: listener.0.tls_cert_file: missing; name the PEM file, or set tls_disable to true\n' +
      'a.hcl:5: listener.0.tls_key_file: missing; name the PEM file, or set tls_disable to true',
  ],
  [
    'a typing error',
    'listener {\n purpose = "api"\n tls_cert_fil = "c"\n}',
    'a.hcl:7: listener.0.tls_cert_fil: unknown key; did you mean listener.tls_cert_file?',
  ],
  [
    'two listeners at one address',
    'listener { purpose = "api" }\nlistener {\n purpose = "api"\n address = "0.0.0.0:4646"\n}',
    'a.hcl:8: listener.1.address: 4646 is also listener.0.address; each listener needs its own port',
  ],
  [
    'a listener at the RPC port',
    'listener {\n purpose = "api"\n address = "127.0.0.1:4647"\n}',
    'a.hcl:7: listener.0.address: 4647 is also ports.rpc; each listener needs its own port',
  ],
  [
    'another label',
    'listener "unix" { purpose = "api" }',
    'a.hcl:5: the block listener takes no label but "tcp"; found "unix"',
  ],
  [
    'a wait beyond a day',
    'controller { graceful_shutdown_wait_duration = "25h" }',
    'a.hcl:5: controller.graceful_shutdown_wait_duration: must be a duration such as "300ms" or "1.5s", from 0s to 24h, not "25h"',
  ],
]

for (const [what, text, expected] of refusals) {
  t.test(`${what} is refused`, async (t) => {
    t.equal(await refusal(t, { 'a.hcl': `${smallest}${text}\n` }), expected)
  })
}

t.test('more listeners than the bound are refused', async (t) => {
  const block = 'listener { purpose = "api" }\n'
  t.match(await refusal(t, { 'a.hcl': smallest + block.repeat(17) }), /at most 16 listeners/)
})
