import t from 'tap'
import { load, refusal, smallest } from './config-files.ts'

const plain = { verifyServerHostname: true, minVersion: 'TLSv1.2', http: null, rpc: null }
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
