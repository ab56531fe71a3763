/**
 * docs/compatibility.md: every command of Consul's, Nomad's and Vault's command lines and the calls of programs that know Consul,
 * replayed against a running server. The verdicts are what came back; `npm run compatibility` writes them anew.
 */
import t, { type Test } from 'tap'
import { consulRows } from './consul-rows.ts'
import { isDecoded } from './decoded-calls.ts'
import { NpmConsul } from './npm-consul-run.ts'
import { npmRows } from './npm-consul-rows.ts'
import { nomadRows } from './nomad-rows.ts'
import { programRows, pythonConsulRows } from './program-rows.ts'
import { Replay, type Outcome } from './replay.ts'
import { gossipKey, type Row } from './rows.ts'
import { vaultRows } from './vault-rows.ts'
import { serverOfThree } from '../support/server-of-three.ts'
import { documentTable } from '../support/document-table.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'

const document = new URL('../../docs/compatibility.md', import.meta.url)
const primary = Buffer.alloc(32, 9).toString('base64')

const secret = '9d5f2c1e-3b7a-4c55-9e0d-2c1e7a6b5f40'
const acl = { enabled: true, bootstrap_token: secret, agent_token: secret }

const consul = { 'X-Service-Dialect': 'consul', 'X-Consul-Token': secret }
const tools: readonly (readonly [
  name: string,
  rows: readonly Row[],
  headers: Record<string, string>,
  decodes?: typeof isDecoded,
])[] = [
  ['consul', consulRows, consul],
  ['python-consul', pythonConsulRows, consul],
  ['programs', programRows, consul],
  ['nomad', nomadRows, { 'X-Nomad-Token': secret }, isDecoded],
  ['vault', vaultRows, { 'X-Vault-Token': secret }],
]

t.test('the document says what a server answers', async (t) => {
  const cluster = await serverOfThree(t, {
    servers: 1,
    gossip: true,
    server: { encrypt: primary },
    config: { acl },
    writeFirst: false,
  })
  const http = cluster.http(0)
  const passing = () =>
    eventually('the service passes', async () => {
      const reply = await http.request('GET', '/v1/health/service/web?passing', { headers: consul })
      if (reply.status !== 200) return undefined
      const [entry] = JSON.parse(reply.body.toString()) as readonly { Node: { Node: string } }[]
      return entry?.Node.Node
    })
  await eventuallyTrue('the service is registered', async () => {
    const service = { Name: 'web', Port: 80, Check: { TTL: '600s', Status: 'passing' } }
    const path = '/v1/agent/service/register'
    const body = JSON.stringify(service)
    return (await http.request('PUT', path, { body, headers: consul })).status === 200
  })
  const node = await passing()
  const { ports } = cluster.server(0).spec
  const gossip = `127.0.0.1:${ports.gossip}`
  const npm = new NpmConsul(ports.http, secret, { node, gossip })
  t.same(npmRows.map(({ name }) => name).toSorted(), npm.names(), 'every call of the package')
  const npmOutcomes: (readonly [{ readonly name: string }, Outcome])[] = []
  for (const row of npmRows) npmOutcomes.push([row, await npm.outcomeOf(row)])
  await written(t, 'npm-consul', npmOutcomes)
  for (const [name, rows, headers, decodes] of tools) {
    await passing()
    const replay = new Replay(http, headers, { node, primary, gossip }, decodes)
    const outcomes: (readonly [Row, Outcome])[] = []
    for (const row of rows) outcomes.push([row, await replay.outcomeOf(row)])
    await written(t, name, outcomes)
  }
  t.not(gossipKey, primary)
})

async function written(
  t: Test,
  name: string,
  outcomes: readonly (readonly [{ readonly name: string }, Outcome])[],
): Promise<void> {
  for (const [row, { verdict, note }] of outcomes) {
    if (verdict === 'out of scope') t.ok(note.length > 20, `${row.name} says why`)
  }
  await documentTable(t, {
    document,
    name,
    writtenBy: 'test/compatibility/compatibility.test.ts',
    rows: [
      ['command', 'verdict', 'what to know'],
      ...outcomes.map(([row, { verdict, note }]) => [`\`${row.name}\``, verdict, note]),
    ],
  })
}
