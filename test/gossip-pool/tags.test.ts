/** What members tell of themselves by tags, read back by the others, and what nobody can have meant. */
import t from 'tap'
import { clientOf, clientTagsOf, serverOf, tagsOf } from '../../src/gossip-pool/tags.ts'
import type { HttpAddress } from '../../src/lib/host-port.ts'
import { memberView } from '../support/member-view.ts'

const id = '00000001-0000-4000-8000-000000000000'
const common = { id, region: 'eu', datacenter: 'dc1', version: '1.2.3' }

function serverWith(http: HttpAddress | null) {
  return tagsOf({
    ...common,
    rpcHost: '10.0.0.1',
    rpcPort: 4647,
    bootstrapExpect: 3,
    clusterId: '',
    http,
  })
}

t.test('where an API is comes back as it was told', async (t) => {
  const places = [
    { secure: false, host: '10.0.0.1', port: 4646 },
    { secure: true, host: '10.0.0.1', port: 1 },
    { secure: true, host: 'api.example', port: 65_535 },
    { secure: false, host: '2001:db8::1', port: 4646 },
    null,
  ]
  for (const http of places) {
    const tags = serverWith(http)
    t.same(serverOf(memberView('s1.eu', { tags }), 'eu')?.http, http)
  }
  t.equal(serverWith(places[0] ?? null).get('http'), 'http:4646', 'short: tags have 512 bytes')
  for (const wrong of [
    '',
    'http',
    'http:',
    'http:0',
    'http:65536',
    'ftp:1',
    'http://a b:1',
    'http:4646 ',
  ]) {
    const tags = new Map(serverWith(null)).set('http', wrong)
    t.equal(serverOf(memberView('s1.eu', { tags }), 'eu')?.http, null, wrong)
  }
})

t.test('a client agent is no server, and a server no client agent', async (t) => {
  const client = memberView('web-1.eu', { tags: clientTagsOf(common) })
  t.match(clientOf(client, 'eu'), { id, name: 'web-1', version: '1.2.3' })
  t.equal(serverOf(client, 'eu'), null)
  t.equal(clientOf(client, 'us'), null, 'of another region')
  t.equal(clientOf(memberView('s1.eu', { tags: serverWith(null) }), 'eu'), null)
  for (const broken of [
    { ...client, name: 'web-1' },
    { ...client, name: 'a b.eu' },
    { ...client, tags: new Map(client.tags).set('id', 'x') },
  ]) {
    t.equal(clientOf(broken, 'eu'), null)
  }
})
