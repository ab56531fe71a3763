import t from 'tap'
import { load, refusal, smallest } from './config-files.ts'

const plain = {
  auto: null,
  byFolder: false,
  verifyServerHostname: true,
  minVersion: 'TLSv1.2',
  http: null,
  rpc: null,
}
const files = ' ca_file = "/ca.pem"\n cert_file = "/c.pem"\n key_file = "/k.pem"\n'

t.test('without a block everything is plain', async (t) => {
  const { tls } = await load(t, { 'a.hcl': smallest })
  t.same(tls, { caFile: null, ...plain })
})

t.test('rpc speaks TLS, and certificates must be those of servers unless said', async (t) => {
  const pair = { certFile: '/c.pem', keyFile: '/k.pem', minVersion: 'TLSv1.2' }
  const rpc = { caFile: '/ca.pem', ...pair, verifyServerHostname: true, upgradeMode: false }
  const { tls } = await load(t, { 'a.hcl': `${smallest}tls {\n rpc = true\n${files}}\n` })
  t.same(tls, { caFile: '/ca.pem', ...plain, rpc })
  const more =
    'verify_server_hostname = false\n rpc_upgrade_mode = true\n tls_min_version = "tls13"'
  const all = await load(t, {
    'a.hcl': `${smallest}tls {\n rpc = true\n http = true\n ${more}\n${files}}\n`,
  })
  const strictPair = { ...pair, minVersion: 'TLSv1.3' }
  t.same(all.tls, {
    auto: null,
    byFolder: false,
    caFile: '/ca.pem',
    verifyServerHostname: false,
    minVersion: 'TLSv1.3',
    http: strictPair,
    rpc: { caFile: '/ca.pem', ...strictPair, verifyServerHostname: false, upgradeMode: true },
  })
  t.same(
    all.listeners.map(({ purpose, tls }) => [purpose, tls]),
    [
      ['api', { ...strictPair, block: 'tls' }],
      ['ops', null],
    ],
  )
})

t.test('files alone switch nothing on', async (t) => {
  const { tls } = await load(t, { 'a.hcl': `${smallest}tls {\n${files}}\n` })
  t.same(tls, { caFile: '/ca.pem', ...plain })
})

const folder = 'tls { folder = "/etc/muster/tls" }\n'
const inFolder = {
  certFile: '/etc/muster/tls/cert.pem',
  keyFile: '/etc/muster/tls/key.pem',
  minVersion: 'TLSv1.2',
}

t.test('one line that names a folder is TLS for RPC and all listeners of the API', async (t) => {
  const listener =
    'listener {\n purpose = "api"\n dialect = "consul"\n}\nlistener {\n purpose = "ops"\n}\n'
  const { tls, listeners } = await load(t, { 'a.hcl': `${smallest}${folder}${listener}` })
  t.same(tls, {
    auto: null,
    byFolder: true,
    caFile: '/etc/muster/tls/ca.pem',
    verifyServerHostname: true,
    minVersion: 'TLSv1.2',
    http: inFolder,
    rpc: {
      caFile: '/etc/muster/tls/ca.pem',
      ...inFolder,
      verifyServerHostname: true,
      upgradeMode: false,
    },
  })
  t.same(
    listeners.map(({ purpose, port, tls }) => [purpose, port, tls]),
    [
      ['api', 4646, { ...inFolder, block: 'tls' }],
      ['api', 8500, { ...inFolder, block: 'tls' }],
      ['ops', 9203, null],
    ],
  )
})

t.test('what is said beside a folder counts first', async (t) => {
  const text = `${smallest}tls {
    folder = "/etc/muster/tls"
    http = false
    ca_file = "/ca.pem"
  }
  listener {
    purpose = "api"
  }
  `
  const { tls, listeners } = await load(t, { 'a.hcl': text })
  t.match(tls, { caFile: '/ca.pem', http: null, rpc: { caFile: '/ca.pem', ...inFolder } })
  t.same(
    listeners.map(({ tls }) => tls),
    [null, null],
  )
  const own = `listener {
    purpose = "api"
    tls_disable = true
  }
  listener {
    purpose = "api"
    address = "127.0.0.1:1"
    tls_cert_file = "/c.pem"
    tls_key_file = "/k.pem"
  }
  `
  const blocks = await load(t, { 'a.hcl': `${smallest}${folder}${own}` })
  t.same(
    blocks.listeners.map(({ tls }) => tls?.certFile ?? null),
    [null, null, '/c.pem'],
  )
})

t.test('a client agent has no RPC, and believes the authority of its folder', async (t) => {
  const client = 'data_dir = "/data"\nclient {\n enabled = true\n retry_join = ["a"]\n}\n'
  const { tls } = await load(t, { 'a.hcl': `${client}${folder}` })
  t.match(tls, { caFile: '/etc/muster/tls/ca.pem', http: inFolder, rpc: null })
  t.match(await load(t, { 'a.hcl': `${client}bind_addr = "10.0.0.1"\n` }), { tls: { rpc: null } })
})

t.test('auto is a folder that the first start makes', async (t) => {
  const { tls } = await load(t, { 'a.hcl': `${smallest}tls { auto = true }\n` })
  t.match(tls, {
    auto: { folder: '/data/tls', address: '127.0.0.1' },
    byFolder: true,
    caFile: '/data/tls/server-1/ca.pem',
    http: { certFile: '/data/tls/server-1/cert.pem' },
    rpc: { keyFile: '/data/tls/server-1/key.pem' },
  })
})

const binds: readonly (readonly [bindAddr: string, isOpen: boolean])[] = [
  ['127.0.0.1', false],
  ['127.9.9.9', false],
  ['::1', false],
  ['localhost', false],
  ['0.0.0.0', true],
  ['::', true],
  ['10.0.0.1', true],
  ['127.0.0.1.example', true],
  ['node1', true],
]

for (const [bindAddr, isOpen] of binds) {
  t.test(`RPC without TLS at ${bindAddr}`, async (t) => {
    const text = `${smallest}bind_addr = "${bindAddr}"\nadvertise_addr = "127.0.0.1"\n`
    const ways = /set tls\.folder \('muster tls bootstrap' makes.*or allow_insecure_rpc = true/
    if (isOpen) t.match(await refusal(t, { 'a.hcl': text }), ways)
    else t.equal((await load(t, { 'a.hcl': text })).bindAddr, bindAddr)
    const allowed = `${text}allow_insecure_rpc = true\n`
    t.equal((await load(t, { 'a.hcl': allowed })).tls.rpc, null)
    t.equal((await load(t, { 'a.hcl': `${text}${folder}` })).bindAddr, bindAddr)
    const off = `${text}tls {\n folder = "/etc/muster/tls"\n rpc = false\n}\n`
    if (isOpen) t.match(await refusal(t, { 'a.hcl': off }), ways)
  })
}

const forSeveral =
  "makes the certificates of a cluster of one server; for several, run 'muster tls bootstrap -servers 3' once, " +
  'copy its folders to the agents, and set tls.folder'

const refusals: readonly (readonly [what: string, text: string, lines: string])[] = [
  [
    'no files',
    'tls { rpc = true }',
    'a.hcl:5: tls.cert_file: missing; tls.rpc is true, so name the PEM file\n' +
      'a.hcl:5: tls.key_file: missing; tls.rpc is true, so name the PEM file\n' +
      'a.hcl:5: tls.ca_file: missing; tls.rpc is true, so name the PEM file',
  ],
  [
    'a change-over to nothing',
    'tls { rpc_upgrade_mode = true }',
    'a.hcl:5: tls.rpc_upgrade_mode: is for the time after tls.rpc was set to true; set both',
  ],
  [
    'a typing error',
    'tls { verify_server_hostnam = true }',
    'a.hcl:5: tls.verify_server_hostnam: unknown key; did you mean tls.verify_server_hostname?',
  ],
  [
    'an old version',
    'tls { tls_min_version = "tls10" }',
    'a.hcl:5: tls.tls_min_version: must be one of tls12, tls13, not "tls10"',
  ],
  [
    'auto for several',
    'tls { auto = true }\nserver { retry_join = ["a"] }\nserver { bootstrap_expect = 3 }',
    `a.hcl:5: tls.auto: ${forSeveral}`,
  ],
  [
    'auto beside servers that are to come',
    'tls { auto = true }\nserver { bootstrap_expect = 1 }\nserver { peers = ["s9=10.0.0.9:4647"] }',
    `a.hcl:5: tls.auto: ${forSeveral}`,
  ],
  [
    'auto for one that joins',
    'tls { auto = true }\nserver { bootstrap_expect = 0 }',
    `a.hcl:5: tls.auto: ${forSeveral}`,
  ],
  [
    'auto beside a folder',
    'tls {\n auto = true\n folder = "/f"\n}',
    'a.hcl:6: tls.auto: makes a folder of its own; leave one out',
  ],
  [
    'two owners of the API',
    `tls {\n http = true\n${files}}\nlistener { purpose = "api" }`,
    'a.hcl:6: tls.http: listener blocks with purpose "api" name their own files; set it to false',
  ],
]

for (const [what, text, lines] of refusals) {
  t.test(`a tls block is refused: ${what}`, async (t) => {
    t.equal(await refusal(t, { 'a.hcl': `${smallest}${text}\n` }), lines)
  })
}
