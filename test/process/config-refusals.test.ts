/** Every refusal of a configuration, with the line a person reads. */
import t from 'tap'
import { CONFIG_FILE_BYTES_MAX } from '../../src/process/config-tree.ts'
import { refusal, smallest } from './config-files.ts'

const inServer = (text: string) =>
  `data_dir = "/d"\nname = "s1"\nserver {\n  enabled = true\n  ${text}\n}\n`
const inClient = (text: string) =>
  `data_dir = "/d"\nname = "c1"\nclient {\n  enabled = true\n  ${text}\n}\n`
const inRaft = (text: string) => inServer(`raft {\n    ${text}\n  }`)

/** Name, the file `a.hcl`, the line that refuses it. */
const refused: readonly (readonly [string, string, string | RegExp])[] = [
  ['a mistyped key', `${smallest}nmae = "x"`, 'a.hcl:5: nmae: unknown key; did you mean name?'],
  [
    'a key of another block',
    `${smallest}bootstrap_expect = 3`,
    'a.hcl:5: bootstrap_expect: unknown key; did you mean server.bootstrap_expect?',
  ],
  [
    'a mistyped key in a block',
    inServer('pears = []'),
    'a.hcl:5: server.pears: unknown key; did you mean server.peers?',
  ],
  ['a key like no other', `${smallest}zzzzzzzz = 1`, 'a.hcl:5: zzzzzzzz: unknown key'],
  [
    'a short secret, which is not shown',
    `${smallest}acl {\n  bootstrap_token = "sesame"\n}`,
    'a.hcl:6: acl.bootstrap_token: must be 32 to 256 random visible ASCII characters, as of openssl rand -hex 32',
  ],
  [
    'a default that is none',
    `${smallest}acl {\n  default_policy = "maybe"\n}`,
    'a.hcl:6: acl.default_policy: must be one of allow, deny, not "maybe"',
  ],
  [
    'a policy without a leader that is none',
    `${smallest}acl {\n  down_policy = "async-cache"\n}`,
    'a.hcl:6: acl.down_policy: must be one of deny, extend-cache, not "async-cache"',
  ],
  ['a label on a block', 'server "x" {}', 'a.hcl:1: the block server takes no label; found "x"'],
  [
    'a value for a block',
    'data_dir = "/d"\nserver = true',
    /^a\.hcl:2: server: must be a block or an object with the keys enabled, /,
  ],
  [
    'no data folder',
    'server {\n  enabled = true\n}',
    'a.hcl: data_dir: missing; name the folder that keeps the data',
  ],
  [
    'an empty data folder',
    smallest.replace('/data', ''),
    'a.hcl:1: data_dir: must be the path of a folder, not ""',
  ],
  [
    'a name with blanks',
    `${smallest}name = "a b"`,
    /^a\.hcl:5: name: must be a name: 1 to 63 letters.*, not "a b"$/,
  ],
  [
    'a long name',
    `${smallest}name = "${'a'.repeat(64)}"`,
    /^a\.hcl:5: name: must be a name.*, not "a{59}…$/,
  ],
  ['a name that is a number', `${smallest}name = 5`, /^a\.hcl:5: name: must be a name.*, not 5$/],
  ['a region with a slash', `${smallest}region = "a/b"`, /^a\.hcl:5: region: must be a region/],
  [
    'a bad datacenter',
    `${smallest}datacenter = "-"`,
    /^a\.hcl:5: datacenter: must be a datacenter/,
  ],
  [
    'a bad address',
    `${smallest}bind_addr = "300.1.1.1"`,
    'a.hcl:5: bind_addr: must be an address: an IP address or a host name, not "300.1.1.1"',
  ],
  [
    'an address with a port',
    `${smallest}advertise_addr = "h:1"`,
    /^a\.hcl:5: advertise_addr: must be an address/,
  ],
  [
    'a wildcard to connect to',
    `${smallest}bind_addr = "0.0.0.0"`,
    /^a\.hcl: advertise_addr: 0\.0\.0\.0 is every address of this machine.*name the one address/,
  ],
  [
    'an unknown log level',
    `${smallest}log_level = "loud"`,
    'a.hcl:5: log_level: must be one of trace, debug, info, warn, error, not "loud"',
  ],
  [
    'a word for a boolean',
    `${smallest}log_json = "yes"`,
    'a.hcl:5: log_json: must be true or false, not "yes"',
  ],
  ['a null', `${smallest}log_json = null`, 'a.hcl:5: log_json: must be true or false, not null'],
  [
    'a port too high',
    `${smallest}ports {\n  http = 65536\n}`,
    'a.hcl:6: ports.http: must be a port number from 1 to 65535, or 0 for any free one, not 65536',
  ],
  [
    'a port as text',
    `${smallest}ports {\n  rpc = "4647"\n}`,
    /^a\.hcl:6: ports\.rpc: must be a port number .*, not "4647"$/,
  ],
  ['a broken port', `${smallest}ports {\n  ops = 1.5\n}`, /^a\.hcl:6: ports\.ops: .*, not 1\.5$/],
  [
    'one port twice',
    `${smallest}ports {\n  http = 4648\n}`,
    'a.hcl:5: ports.gossip: 4648 is also ports.http; each listener needs its own port',
  ],
  [
    'nothing to run',
    'data_dir = "/d"',
    'a.hcl: server.enabled: nothing to run; set it to true, or client.enabled',
  ],
  [
    'a client agent that knows nobody',
    inClient(''),
    /^a\.hcl(:\d)?: client\.retry_join: missing; name the gossip addresses of some servers/,
  ],
  [
    'a client agent with a bad key, which is not shown',
    inClient('retry_join = ["h"]\n  encrypt = "sesame"'),
    /^a\.hcl:6: client\.encrypt: must be 16, 24 or 32 bytes in base64; [^s]*head/,
  ],
  [
    'a server that is a client agent too',
    `${inServer('')}client {\n  enabled = true\n  retry_join = ["h"]\n}`,
    'a.hcl:8: client.enabled: a server runs services and checks as a client agent does; enable one of the two',
  ],
  [
    'a token that client agents have no use for',
    `${inClient('retry_join = ["h"]')}acl {\n  bootstrap_token = "0123456789abcdef0123456789abcdef"\n}`,
    'a.hcl:8: acl.bootstrap_token: is for servers; a client agent has acl.agent_token',
  ],
  [
    'a short token of an agent, which is not shown',
    `${inClient('retry_join = ["h"]')}acl {\n  agent_token = "sesame"\n}`,
    'a.hcl:8: acl.agent_token: must be the secret of a token: 32 to 256 visible characters',
  ],
  [
    'an even number of servers',
    inServer('bootstrap_expect = 2'),
    'a.hcl:5: server.bootstrap_expect: must be 1, 3, 5, 7 or 9, or 0 for a server that only joins, not 2',
  ],
  [
    'more servers than are named',
    inServer('bootstrap_expect = 3\n  peers = ["s2=h:1"]'),
    /^a\.hcl:5: server\.bootstrap_expect: 3 servers are expected, but server\.peers and this server are only 2/,
  ],
  [
    'an even list without a number',
    inServer('peers = ["s2=h:1"]'),
    /^a\.hcl:3: server\.bootstrap_expect: missing; server\.peers and this server are 2/,
  ],
  [
    'joining nobody',
    inServer('bootstrap_expect = 0\n  peers = ["s1=a:4647"]'),
    'a.hcl:5: server.bootstrap_expect: 0 only joins others, but server.peers names none',
  ],
  [
    'others found by gossip without a number',
    inServer('retry_join = ["h:4648"]'),
    /^a\.hcl:3: server\.bootstrap_expect: missing; server\.retry_join names others/,
  ],
  [
    'an address to join that is none',
    inServer('bootstrap_expect = 3\n  retry_join = ["h:p"]'),
    'a.hcl:6: server.retry_join.0: must be a gossip address host or host:port, not "h:p"',
  ],
  [
    'a gossip key that is none, which is not shown',
    inServer('encrypt = "c2VjcmV0"'),
    'a.hcl:5: server.encrypt: must be 16, 24 or 32 bytes in base64; `head -c 32 /dev/urandom | base64` makes one',
  ],
  [
    'a peer without a name',
    inServer('peers = ["h:4647"]'),
    'a.hcl:5: server.peers.0: must be name=host:rpcport, as in "s1=10.0.0.1:4647", not "h:4647"',
  ],
  [
    'a peer without a port',
    inServer('peers = ["s1=h"]'),
    /^a\.hcl:5: server\.peers\.0: must be name=host:rpcport/,
  ],
  [
    'too many peers',
    inServer(`peers = [${Array.from({ length: 16 }, (_, i) => `"n${i}=h:${i + 1}"`).join(', ')}]`),
    'a.hcl:5: server.peers: must be a list of at most 15 name=host:rpcport, not a list',
  ],
  [
    'peers as text',
    inServer('peers = "s1=h:1"'),
    /^a\.hcl:5: server\.peers: must be a list of at most 15/,
  ],
  [
    'a peer listed twice',
    inServer('peers = ["s2=a:1", "s2=b:1"]'),
    'a.hcl:5: server.peers: s2 is listed twice',
  ],
  [
    'an address listed twice',
    inServer('peers = ["s2=a:1", "s3=a:1"]'),
    'a.hcl:5: server.peers: the address a:1 is listed twice',
  ],
  [
    'itself at another port',
    inServer('peers = ["s1=a:1", "s2=b:1", "s3=c:1"]'),
    'a.hcl:5: server.peers: s1 is this server, listed at port 1, but ports.rpc is 4647; they must agree',
  ],
  [
    'peers and any free port',
    `${inServer('peers = ["s2=a:1", "s3=b:1"]')}ports {\n  rpc = 0\n}`,
    'a.hcl:8: ports.rpc: a server with peers needs a fixed port, so that they find it',
  ],
  [
    'a duration without a unit',
    inRaft('election_timeout = "300"'),
    'a.hcl:6: server.raft.election_timeout: must be a duration such as "300ms" or "1.5s", from 50ms to 1m, or "auto", not "300"',
  ],
  [
    'a duration as a number',
    inRaft('election_timeout = 300'),
    /^a\.hcl:6: server\.raft\.election_timeout: must be a duration/,
  ],
  [
    'a duration too short',
    inRaft('election_timeout = "49ms"'),
    /^a\.hcl:6: server\.raft\.election_timeout: .*from 50ms to 1m, or "auto", not "49ms"$/,
  ],
  [
    'a heartbeat too slow',
    inRaft('election_timeout = "1s"\nheartbeat_interval = "600ms"'),
    /^a\.hcl:7: server\.raft\.heartbeat_interval: 600ms is more than half of election_timeout \(1000ms\)/,
  ],
  [
    'a size without a unit',
    inRaft('cache_bytes_max = "64MB"'),
    'a.hcl:6: server.raft.cache_bytes_max: must be a size in bytes or text such as "4MiB", from 1MiB to 1GiB, not "64MB"',
  ],
  [
    'a size too small',
    inRaft('compact_bytes = 5'),
    /^a\.hcl:6: server\.raft\.compact_bytes: must be a size.*, not 5$/,
  ],
  [
    'a message above the window',
    inRaft('append_bytes_max = "2MiB"\n    inflight_bytes_max = "1MiB"'),
    'a.hcl:6: server.raft.append_bytes_max: must not be above inflight_bytes_max',
  ],
  [
    'a count of nothing',
    inRaft('inflight_messages_max = 0'),
    'a.hcl:6: server.raft.inflight_messages_max: must be a whole number from 1 to 4096, not 0',
  ],
  [
    'an unknown alias',
    `${smallest}header_aliases = ["etcd"]`,
    'a.hcl:5: header_aliases.0: must be one of consul, nomad, vault, not "etcd"',
  ],
  [
    'an alias twice',
    `${smallest}header_aliases = ["nomad", "nomad"]`,
    'a.hcl:5: header_aliases: must be a list of consul, nomad, vault, each once, not a list',
  ],
  [
    'an empty key file',
    inServer('keyring_key_file = ""'),
    'a.hcl:5: server.keyring_key_file: must be the path of a file, not ""',
  ],
  [
    'a limit too small',
    `${smallest}limits {\n  http_connections_max = 1\n}`,
    'a.hcl:6: limits.http_connections_max: must be a whole number from 16 to 1000000, not 1',
  ],
  [
    'two names of one limit',
    `${smallest}limits {\n  http_max_conns_per_client = 1\n  http_connections_per_client_max = 1\n}`,
    'a.hcl:6: limits.http_max_conns_per_client: is the same as limits.http_connections_per_client_max; set one of them',
  ],
  [
    'a burst without a rate',
    `${smallest}limits {\n  http_burst_per_client = 5\n}`,
    'a.hcl:6: limits.http_burst_per_client: means nothing without limits.http_rate_per_client; set that too',
  ],
  [
    'a budget that one body exceeds',
    `${smallest}limits {\n  http_body_bytes_max = "2MiB"\n  http_bodies_bytes_max = "2MiB"\n}`,
    'a.hcl:7: limits.http_bodies_bytes_max: a quarter of it is for small bodies, and the rest is less than limits.http_body_bytes_max; give it more',
  ],
  [
    'a host with a port',
    `${smallest}http {\n  allowed_hosts = ["a.example.com:80"]\n}`,
    'a.hcl:6: http.allowed_hosts.0: "a.example.com:80" must be a host without a port, "*." and a name, or "*" for any host',
  ],
  ...[
    '*',
    'null',
    'https://UI.example.com',
    'https://ui.example.com/',
    'https://a:443',
    'ui.example.com',
  ].map((origin): readonly [string, string, RegExp] => [
    `the origin ${origin}`,
    `${smallest}http {\n  cors {\n    allowed_origins = ["${origin}"]\n  }\n}`,
    /^a\.hcl:7: http\.cors\.allowed_origins\.0: "[^"]+" must be an origin as browsers send it/,
  ]),
  [
    'a misspelt key of the audit log',
    `${smallest}audit {\n  rotate_max_file = 5\n}`,
    'a.hcl:6: audit.rotate_max_file: unknown key; did you mean audit.rotate_max_files?',
  ],
  ['what is no HCL', 'a = ', /^a\.hcl:1:5: expected a value/],
]

for (const [name, text, expected] of refused) {
  t.test(`refuses ${name}`, async (t) => {
    const words = await refusal(t, { 'a.hcl': text })
    if (typeof expected === 'string') t.equal(words, expected)
    else t.match(words, expected)
  })
}

t.test('every problem gets its own line', async (t) => {
  const words = await refusal(t, {
    'a.hcl': 'nmae = 1\nlog_json = 1',
    'b.json': '{"ports":{"htp":1}}',
  })
  t.same(words.split('\n'), [
    'a.hcl:1: nmae: unknown key; did you mean name?',
    'a.hcl:2: log_json: must be true or false, not 1',
    'b.json: ports.htp: unknown key; did you mean ports.http?',
  ])
})

t.test('files that cannot be read are named', async (t) => {
  t.match(await refusal(t, { 'a.json': '{"a": }' }), /^a\.json: not valid JSON: /)
  t.match(await refusal(t, { 'a.json': '[1]' }), /^a\.json: a configuration is a JSON object/)
  t.match(await refusal(t, { 'a.json': `{"a":${'['.repeat(40)}${']'.repeat(40)}}` }), /nest deeper/)
  t.match(await refusal(t, { 'a.hcl': Buffer.from([0xff, 0xfe]) }, ['a.hcl']), /is not valid UTF-8/)
  t.match(await refusal(t, {}, ['none.hcl']), /^none\.hcl: cannot be read: ENOENT/)
  t.match(await refusal(t, { 'sub/a.txt': '' }, ['sub']), /^sub: no \*\.hcl or \*\.json file/)
  t.match(
    await refusal(t, { 'a.hcl': ' '.repeat(CONFIG_FILE_BYTES_MAX + 1) }, ['a.hcl']),
    /a configuration file has at most 1048576/,
  )
  const two = await refusal(t, { 'a.hcl': '}', 'b.hcl': '{' }, ['a.hcl', 'b.hcl'])
  t.equal(two.split('\n').length, 2, 'both bad files are told at once')
})
