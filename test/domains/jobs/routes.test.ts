/** `/v1/jobs/parse` and `/v1/validate/job`. */
import t, { type Test } from 'tap'
import { serverOfOne } from '../server-of-one.ts'
import { jobWith } from './job-drafts.ts'

const file =
  'job "web" {\n datacenters = ["dc1"]\n group "g" {\n task "t" {\n driver = "exec"\n }\n }\n}\n'

t.test('a job file is read, as it is or complete', async (t) => {
  const server = await serverOfOne(t, { begin: false })
  const plain = await server.ask('POST', '/v1/jobs/parse', { JobHCL: file })
  t.equal(plain.status, 200, plain.body)
  t.same(plain.json(), {
    ID: 'web',
    Datacenters: ['dc1'],
    TaskGroups: [{ Name: 'g', Tasks: [{ Name: 't', Driver: 'exec' }] }],
  })
  const complete = await server.ask('PUT', '/v1/jobs/parse?namespace=prod', {
    JobHCL: file,
    Canonicalize: true,
  })
  t.match(complete.json(), {
    Name: 'web',
    Namespace: 'prod',
    Type: 'service',
    Status: '',
    Version: 0,
  })
  const given = await server.ask('POST', '/v1/jobs/parse', {
    JobHCL: 'variable "n" {}\njob "web" {\n name = var.n\n}',
    Variables: 'n = "x"',
  })
  t.match(given.json(), { Name: 'x' })
})

const wrong: readonly (readonly [string, unknown, number, RegExp])[] = [
  ['/v1/jobs/parse', { JobHCL: 'job "web" {\n  foo = 1\n}' }, 400, /^job:2:3: job has no foo/],
  ['/v1/jobs/parse', {}, 400, /JobHCL is missing/],
  ['/v1/jobs/parse', { JobHCL: file, HCLv1: true }, 400, /HCLv1 must be false/],
  ['/v1/jobs/parse', { JobHCL: 1 }, 400, /JobHCL must be a string/],
  ['/v1/jobs/parse?namespace=*', { JobHCL: file }, 400, /a namespace is/],
  ['/v1/jobs/parse', { JobHCL: `${file}#${'x'.repeat(1024 * 1024)}` }, 413, /over 1048576 letters/],
  ['/v1/validate/job', {}, 400, /Job is missing/],
  ['/v1/validate/job', { Job: [] }, 400, /Job must be an object/],
  ['/v1/validate/job', { Job: { Priority: 'x' } }, 400, /Priority must be a whole number/],
]

t.test('what cannot be read is refused', async (t) => {
  const server = await serverOfOne(t, { begin: false })
  for (const [url, body, status, text] of wrong) {
    const answer = await server.ask('POST', url, body)
    t.equal(answer.status, status, `${url}: ${answer.body}`)
    t.match(answer.body, text)
  }
})

t.test('a job of another region is refused, however it is asked for', async (t) => {
  const server = await serverOfOne(t)
  const urls = ['/v1/validate/job', '/v1/jobs', '/v1/job/web', '/v1/job/web/plan']
  for (const url of urls) {
    for (const member of ['Region', 'region']) {
      const answer = await server.ask('PUT', url, { Job: jobWith({ [member]: 'mars' }) })
      t.match(answer, { status: 500, body: 'No path to region' }, `${url} ${member}`)
    }
    for (const Region of ['', 'global', null]) {
      const answer = await server.ask('PUT', url, { Job: jobWith({ Region }) })
      t.equal(answer.status, 200, `${url} ${Region}: ${answer.body}`)
    }
  }
  t.match((await server.ask('GET', '/v1/job/web')).json(), { Region: 'global' })
})

t.test('what a registration asks for in vain is refused', async (t) => {
  const server = await serverOfOne(t)
  const NodePool = { status: 400, body: /^NodePool is not served: choose nodes by constraints/ }
  const pool = await server.ask('PUT', '/v1/jobs', { Job: jobWith({ NodePool: 'gpu' }) })
  t.match(pool, NodePool)
  const ofPool = (name: string) => ({
    JobHCL: file.replace('"web" {', `"web" {\n node_pool = "${name}"`),
  })
  t.match(await server.ask('PUT', '/v1/jobs/parse', ofPool('gpu')), NodePool)
  t.equal((await server.ask('PUT', '/v1/jobs/parse', ofPool('default'))).status, 200)
  for (const [Job, text] of [
    [{ TaskGroups: [] }, 'Job.ID is missing: it must be that of the path, "web"'],
    [{ ID: 'other' }, 'Job.ID is "other": it must be that of the path, "web"'],
  ] as const) {
    t.match(await server.ask('PUT', '/v1/job/web', { Job }), { status: 400, body: text })
    const planned = await server.ask('PUT', '/v1/job/web/plan', { Job })
    t.equal(planned.status, 400)
    t.notMatch(planned.body, 'undefined')
  }
  for (const [name, what] of [
    ['PreserveCounts', 'counts'],
    ['PreserveResources', 'resources'],
  ] as const) {
    const answer = await server.ask('PUT', '/v1/jobs', { Job: jobWith(), [name]: true })
    const body = new RegExp(`^${name} must be false: write the ${what}`)
    t.match(answer, { status: 400, body })
  }
  t.equal((await server.ask('GET', '/v1/job/web')).status, 404)
  const Job = jobWith({ NodePool: 'default' })
  const taken = await server.ask('PUT', '/v1/jobs', {
    Job,
    PreserveCounts: false,
    PreserveResources: false,
  })
  t.equal(taken.status, 200, taken.body)
})

t.test('a disk of a task is ignored, which a warning says', async (t) => {
  const server = await serverOfOne(t)
  const disk = 'resources {\n memory_max = -1\n disk = 500\n }'
  const JobHCL = file.replace('driver = "exec"', `driver = "exec"\n ${disk}`)
  const parsed = await server.ask('PUT', '/v1/jobs/parse', { JobHCL, Canonicalize: true })
  t.equal(parsed.status, 200, parsed.body)
  const without = file.replace('driver = "exec"', `driver = "exec"\n ${disk.replace('500', '0')}`)
  const same = await server.ask('PUT', '/v1/jobs/parse', { JobHCL: without, Canonicalize: true })
  const warned = { status: 200, body: /Resources\.DiskMB is ignored/ }
  t.equal((await server.ask('PUT', '/v1/jobs', { Job: same.json() })).status, 200)
  for (const url of ['/v1/validate/job', '/v1/jobs', '/v1/job/web/plan']) {
    t.match(await server.ask('PUT', url, { Job: parsed.json(), Diff: true }), warned, url)
  }
  const Resources = { MemoryMaxMB: -1, DiskMB: 0 }
  t.match((await server.ask('GET', '/v1/job/web')).json(), {
    Version: 0,
    TaskGroups: [{ Tasks: [{ Resources }] }],
  })
  const planned = await server.ask('PUT', '/v1/job/web/plan', { Job: parsed.json(), Diff: true })
  t.match(planned.json(), { Diff: { Type: 'None' } })
})

t.test('a job is checked, and nothing is registered', async (t) => {
  const server = await serverOfOne(t, { begin: false })
  const good = await server.ask('PUT', '/v1/validate/job', { Job: jobWith() })
  t.same(good.json(), {
    DriverConfigValidated: true,
    ValidationErrors: null,
    Error: '',
    Warnings: '',
  })
  const bad = await server.ask('PUT', '/v1/validate/job', {
    Job: jobWith({ Priority: 0 }, {}, { Driver: '', Vault: { Policies: ['x'] } }),
  })
  t.equal(bad.status, 200)
  t.match(bad.json(), {
    ValidationErrors: [
      /^TaskGroups\[0\]\.Tasks\[0\]\.Vault is not served/,
      /^Priority must be from 1 to 100/,
      /^TaskGroups\[0\]\.Tasks\[0\]\.Driver is missing/,
    ],
    Error: /^3 errors occurred:\n\t\* TaskGroups/,
  })
  const scheduled = async (Spec: string) => {
    const Periodic = { Spec, TimeZone: 'Europe/Berlin' }
    const Job = jobWith({ Type: 'batch', Periodic })
    return (await server.ask('PUT', '/v1/validate/job', { Job })).json()
  }
  t.match(await scheduled('30 2 * * *'), { ValidationErrors: null, Warnings: '' })
  t.match(await scheduled('0 0 31 2 *'), {
    ValidationErrors: null,
    Warnings: /Periodic\.Spec names no moment that is still to come/,
  })
  const elsewhere = await server.ask('PUT', '/v1/validate/job', {
    Job: jobWith({ Namespace: 'no' }),
  })
  t.match(elsewhere.json(), { ValidationErrors: ['Namespace "no" does not exist'] })
  const overruled = await server.ask('PUT', '/v1/validate/job?namespace=default', {
    Job: jobWith({ Namespace: 'no' }),
  })
  t.match(overruled.json(), { ValidationErrors: null })
})

async function tokenFor(t: Test, rules: string) {
  const server = await serverOfOne(t, { acl: { enabled: true, defaultPolicy: 'deny' } })
  const bootstrap = (await server.ask('PUT', '/v1/acl/bootstrap')).json() as { SecretID: string }
  const admin = bootstrap.SecretID
  await server.ask('PUT', '/v1/acl/policy/p', { Rules: rules }, admin)
  const made = await server.ask('PUT', '/v1/acl/token', { Policies: [{ Name: 'p' }] }, admin)
  const token = (made.json() as { SecretID: string }).SecretID
  const status = async (url: string, body: unknown) =>
    (await server.ask('PUT', url, body, token)).status
  return {
    parse: (namespace: string) => status(`/v1/jobs/parse?namespace=${namespace}`, { JobHCL: file }),
    validate: (namespace: string) =>
      status(`/v1/validate/job?namespace=${namespace}`, { Job: jobWith() }),
  }
}

const rights: readonly (readonly [capabilities: string, parse: number, validate: number])[] = [
  ['"parse-job"', 200, 403],
  ['"submit-job"', 200, 403],
  ['"read-job"', 403, 200],
  ['"list-jobs"', 403, 403],
]

for (const [capabilities, parse, validate] of rights) {
  t.test(`with ${capabilities} parsing is ${parse} and validation ${validate}`, async (t) => {
    const token = await tokenFor(t, `namespace "default" { capabilities = [${capabilities}] }`)
    t.equal(await token.parse('default'), parse)
    t.equal(await token.validate('default'), validate)
    t.equal(await token.parse('other'), 403)
  })
}
