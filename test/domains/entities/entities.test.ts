/** Which entity a proof leads to: nobody is split by a change of settings, and nobody becomes somebody else. */
import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { identify } from '../../../src/domains/entities/commands.ts'
import type { Alias } from '../../../src/domains/entities/model.ts'
import { knownEntity } from '../../../src/domains/entities/queries.ts'
import { typedPropose } from '../../../src/rpc/write.ts'
import { serverOfOne } from '../server-of-one.ts'

const uid = (name: string): Alias => ({ rule: 'attribute:uid', name })
const mail = (name: string): Alias => ({ rule: 'attribute:mail', name })
const dn = (name: string): Alias => ({ rule: 'dn', name })
const byName = (name: string): Alias => ({ rule: 'serviceaccount_name', name })
const byUid = (name: string): Alias => ({ rule: 'serviceaccount_uid', name })

async function begun(t: Test) {
  const server = await serverOfOne(t, { acl: { enabled: true, defaultPolicy: 'deny' } })
  const propose = typedPropose((command) => server.propose(command))
  const logIn = async (aliases: readonly Alias[], mountId = 'm1'): Promise<string> => {
    const identity = { mountId, aliases, id: randomUUID(), nowMs: Date.now() }
    return (await propose(identify, identity)).outcome.entityId
  }
  return { server, logIn }
}

void t.test('one person stays one, whichever rule names the alias', async (t) => {
  const { server, logIn } = await begun(t)
  const ada = await logIn([uid('ada'), dn('cn=ada')])
  t.equal(await logIn([uid('ada'), dn('cn=ada')]), ada)
  t.equal(await logIn([mail('ada@x'), dn('cn=ada')]), ada, 'another attribute')
  t.equal(await logIn([dn('cn=ada')]), ada, 'no attribute')
  t.equal(await logIn([uid('ada'), dn('cn=ada,ou=new')]), ada, 'the entry was moved')
  t.equal(await logIn([mail('ada@x'), dn('cn=ada,ou=new')]), ada)
  t.equal(knownEntity(server.machine.reader(), 'm1', [uid('ada'), dn('cn=ada,ou=new')]), ada)
})

void t.test('what is given to another person later is that person’s', async (t) => {
  const { logIn } = await begun(t)
  const ada = await logIn([uid('ada'), dn('cn=x')])
  const bob = await logIn([uid('bob'), dn('cn=x')])
  t.not(bob, ada, 'an entry of the same name with another uid is another person')
  t.equal(await logIn([dn('cn=x')]), bob, 'the name of the entry is the last one’s')
  t.equal(await logIn([uid('ada'), dn('cn=y')]), ada)

  const first = await logIn([byUid('u1'), byName('shop/till')])
  const second = await logIn([byUid('u2'), byName('shop/till')])
  t.not(second, first, 'an account that was deleted and made again')
  t.equal(await logIn([byName('shop/till'), byUid('u2')]), second)
})

void t.test('mounts share nothing', async (t) => {
  const { logIn } = await begun(t)
  t.not(await logIn([uid('ada')], 'm1'), await logIn([uid('ada')], 'm2'))
})

void t.test('entities are listed, read and forgotten', async (t) => {
  const { server, logIn } = await begun(t)
  const { SecretID: root } = (await server.ask('PUT', '/v1/acl/bootstrap')).json() as {
    SecretID: string
  }
  const asRoot = (method: string, url: string) => server.ask(method, url, undefined, root)
  t.equal((await asRoot('LIST', '/v1/identity/entity/id')).status, 404, 'there is none')
  const ada = await logIn([uid('ada'), dn('cn=ada')])
  t.match((await asRoot('LIST', '/v1/identity/entity/id')).json(), { data: { keys: [ada] } })
  t.equal((await asRoot('LIST', '/v1/identity/entity/id?prefix=x')).status, 404)
  const grace = await logIn([uid('grace')])
  const page = await asRoot('LIST', '/v1/identity/entity/id?per_page=1')
  const after = page.headers['x-service-nexttoken']
  const rest = await asRoot('LIST', `/v1/identity/entity/id?per_page=1&next_token=${String(after)}`)
  t.match(
    [page.json(), rest.json()],
    [ada, grace].toSorted().map((id) => ({ data: { keys: [id] } })),
  )
  const url = `/v1/identity/entity/id/${ada}`
  t.match((await asRoot('GET', url)).json(), {
    data: {
      id: ada,
      name: `entity_${ada.slice(0, 8)}`,
      aliases: [
        { mount_id: 'm1', rule: 'attribute:uid', name: 'ada' },
        { mount_id: 'm1', rule: 'dn', name: 'cn=ada' },
      ],
    },
  })
  t.equal((await server.ask('GET', url)).status, 403)
  t.equal((await asRoot('DELETE', url)).status, 204)
  t.equal((await asRoot('GET', url)).status, 404)
  t.not(await logIn([uid('ada'), dn('cn=ada')]), ada)
})

void t.test(
  'a token is made for an alias that its role allows, and its children are for the same',
  async (t) => {
    const { server } = await begun(t)
    const { SecretID: root } = (await server.ask('PUT', '/v1/acl/bootstrap')).json() as {
      SecretID: string
    }
    const ask = (url: string, body: unknown, token = root) => server.ask('POST', url, body, token)
    const role = { allowed_entity_aliases: ['Build-*', 'ci'], allowed_policies: 'default,maker' }
    t.equal((await ask('/v1/auth/token/roles/builds', role)).status, 204)
    const rules = 'auth_prefix "token/" { policy = "write" }'
    await server.ask('PUT', '/v1/acl/policy/maker', { Rules: rules }, root)
    const make = async (entity_alias: string, path = 'create/builds') => {
      const answer = await ask(`/v1/auth/token/${path}`, { entity_alias })
      const { auth } = answer.json() as { auth?: { client_token: string; entity_id: string } }
      return { status: answer.status, body: answer.body, auth }
    }
    const one = await make('build-7')
    t.equal(one.status, 200, one.body)
    t.match(one.auth?.entity_id, /^[0-9a-f-]{36}$/)
    t.equal((await make('BUILD-7')).auth?.entity_id, one.auth?.entity_id, 'letter case is none')
    t.not((await make('ci')).auth?.entity_id, one.auth?.entity_id)
    t.match(await make('ops'), { status: 400, body: /allowed_entity_aliases/ })
    t.match(await make('ci', 'create'), { status: 400, body: /goes with a role/ })
    const child = await ask('/v1/auth/token/create', {}, one.auth?.client_token)
    t.match(child.json(), { auth: { entity_id: one.auth?.entity_id } })
    const orphan = await ask('/v1/auth/token/create-orphan', {}, one.auth?.client_token)
    t.match(orphan.json(), { auth: { entity_id: '' } })
    const self = await server.ask(
      'GET',
      '/v1/auth/token/lookup-self',
      undefined,
      one.auth?.client_token,
    )
    t.match(self.json(), { data: { entity_id: one.auth?.entity_id } })
  },
)
