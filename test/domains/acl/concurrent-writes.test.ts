/** Writes of one role or policy that come at the same time: none that was acknowledged is lost. */
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { comparedWritesVersion } from '../../../src/domains/acl/model.ts'
import { serverOfOne } from '../server-of-one.ts'
import { started } from './started.ts'

const fields = [
  { orphan: true },
  { renewable: false },
  { token_num_uses: 3 },
  { path_suffix: 'x' },
  { token_no_default_policy: true },
  { allowed_policies: ['a'] },
]
const statuses = (answers: readonly { readonly status: number }[]) =>
  answers.map(({ status }) => status).sort((left, right) => left - right)

/** Entries take so long that all requests have read the state before the first one is applied. */
async function slow(t: Parameters<typeof started>[0]) {
  const begun = await started(t)
  const { machine } = begun.server
  const apply = machine.apply.bind(machine)
  machine.apply = async (entries) => {
    await setTimeout(20)
    return apply(entries)
  }
  return begun
}

void t.test('writers of different members of a token role all have what they wrote', async (t) => {
  const { server, root } = await slow(t)
  for (const name of ['one', 'two', 'three']) {
    const path = `/v1/auth/token/roles/${name}`
    const written = fields.map((body) => server.ask('POST', path, body, root))
    t.same(statuses(await Promise.all(written)), [204, 204, 204, 204, 204, 204])
    const read = await server.ask('GET', path, undefined, root)
    t.match(read.json(), { data: Object.assign({}, ...fields) as object })
  }
})

void t.test('of those who create a policy or a role with one name, one does', async (t) => {
  const { server, root } = await slow(t)
  const create = (path: string, body: object, dialect: string) =>
    server.ask('PUT', path, body, root, { 'x-service-dialect': dialect })
  const six = [1, 2, 3, 4, 5, 6]
  const once = [200, 400, 400, 400, 400, 400]
  const Rules = 'key_prefix "app/" { policy = "read" }'
  const policies = await Promise.all(
    six.map((n) => create('/v1/acl/policy', { Name: 'app', Description: `${n}`, Rules }, 'consul')),
  )
  t.same(statuses(policies), once)
  const made = policies.find(({ status }) => status === 200)?.json() as { Description: string }
  const kept = (await server.ask('GET', '/v1/acl/policy/app', undefined, root)).json()
  t.match(kept, { Description: made.Description }, 'who was told so has made it')
  const refused = policies.find(({ status }) => status === 400)
  t.match(refused?.body, /A Policy with Name "app" already exists/)
  for (const dialect of ['consul', 'nomad']) {
    const body = { Name: dialect, Policies: [{ Name: 'app' }] }
    const roles = await Promise.all(six.map(() => create('/v1/acl/role', body, dialect)))
    t.same(statuses(roles), once)
    const taken = roles.find(({ status }) => status === 400)
    t.match(taken?.body, /A Role with Name "\w+" already exists/)
  }
})

void t.test('a cluster with older servers gets commands that these decide alike', async (t) => {
  for (const version of [comparedWritesVersion - 1, comparedWritesVersion]) {
    const server = await serverOfOne(t, {
      acl: { enabled: true },
      begin: false,
      commandVersion: version,
    })
    const made = await server.ask('PUT', '/v1/acl/bootstrap')
    const { SecretID: root } = made.json() as { readonly SecretID: string }
    const sent: object[] = []
    const { machine } = server
    const encode = machine.encodeCommand.bind(machine)
    machine.encodeCommand = (command, ...more) => {
      sent.push(command.args as object)
      return encode(command, ...more)
    }
    const put = async (url: string, body: object) =>
      (await server.ask('PUT', url, body, root, { 'x-service-dialect': 'consul' })).status
    t.equal(await put('/v1/auth/token/roles/ci', { orphan: true }), 204)
    t.equal(await put('/v1/acl/policy', { Name: 'app' }), 200)
    t.equal(await put('/v1/acl/policy', { Name: 'app' }), 400)
    t.equal(await put('/v1/acl/role', { Name: 'app', Policies: [{ Name: 'app' }] }), 200)
    t.equal(await put('/v1/acl/role', { Name: 'app', Policies: [{ Name: 'app' }] }), 400)
    const compared = sent.filter((args) => 'seenIndex' in args || 'isNew' in args).length
    t.same([sent.length, compared], version < comparedWritesVersion ? [3, 0] : [5, 5])
  }
})
