/** Members of a job that came later: only jobs that ask for them have them, and only where every server knows them. */
import t from 'tap'
import {
  laterMembersOf,
  settledMembersVersion,
  systemDeploymentMembersOf,
  systemDeploymentsVersion,
} from '../../../src/domains/jobs/later-model.ts'
import { settledWorkloadsVersion } from '../../../src/domains/evaluations/model.ts'
import { serverOfOne } from '../server-of-one.ts'
import { completed, jobWith } from './job-drafts.ts'

const times = { Interval: 1e9, Timeout: 1e9 }

t.test('what clients send as empty asks for nothing', async (t) => {
  const job = completed(
    jobWith(
      {},
      {},
      {
        Resources: { MemoryMaxMB: 0 },
        Artifacts: [{ GetterSource: 'http://a/b', GetterInsecure: false, Chown: false }],
        Templates: [{ ChangeScript: null, Once: false, Uid: -1, Gid: null }],
        Services: [
          {
            Checks: [{ TLSServerName: '', FailuresBeforeWarning: 0, ...times }],
            TaggedAddresses: {},
            Weights: null,
          },
        ],
      },
    ),
  )
  t.strictSame(laterMembersOf(job), [])
})

t.test('each is found', async (t) => {
  const checks = [{}, { TLSServerName: 'x', FailuresBeforeWarning: 1 }]
  const job = completed(
    jobWith(
      {},
      { Services: [{ Checks: checks }], Disconnect: { LostAfter: 1e9 } },
      {
        Resources: { MemoryMaxMB: 600 },
        Artifacts: [{ GetterSource: 'http://a/b', GetterInsecure: true, Chown: true }],
        Templates: [{ ChangeScript: { Command: 'x' }, Once: true, Wait: {}, Uid: 0, Gid: 0 }],
        Services: [{ TaggedAddresses: { lan: '::1' }, Weights: {} }, { Checks: checks }],
      },
    ),
  )
  const task = 'TaskGroups[0].Tasks[0]'
  t.strictSame(laterMembersOf(job), [
    'TaskGroups[0].Disconnect',
    'TaskGroups[0].Services[0].Checks[1].TLSServerName',
    'TaskGroups[0].Services[0].Checks[1].FailuresBeforeWarning',
    `${task}.Resources.MemoryMaxMB`,
    `${task}.Artifacts[0].GetterInsecure`,
    `${task}.Artifacts[0].Chown`,
    `${task}.Templates[0].ChangeScript`,
    `${task}.Templates[0].Once`,
    `${task}.Templates[0].Wait`,
    `${task}.Templates[0].Uid`,
    `${task}.Templates[0].Gid`,
    `${task}.Services[0].TaggedAddresses`,
    `${task}.Services[0].Weights`,
    `${task}.Services[1].Checks[1].TLSServerName`,
    `${task}.Services[1].Checks[1].FailuresBeforeWarning`,
  ])
})

t.test('they are refused while a server has an older program', async (t) => {
  const server = await serverOfOne(t, { commandVersion: settledMembersVersion - 1 })
  const register = (Resources: object) =>
    server.ask('PUT', '/v1/jobs', { Job: jobWith({}, {}, { Resources }) })
  t.match(await register({ MemoryMaxMB: 600 }), {
    status: 501,
    body: /^TaskGroups\[0\]\.Tasks\[0\]\.Resources\.MemoryMaxMB is known only once every server/,
  })
  t.equal((await register({ MemoryMB: 600 })).status, 200)
  await server.propose({ type: 'state.raiseVersion', args: { version: settledMembersVersion } })
  t.equal((await register({ MemoryMaxMB: 600 })).status, 200)
})

t.test('while one has a program of the first jobs, none is registered', async (t) => {
  const server = await serverOfOne(t, { commandVersion: settledWorkloadsVersion - 1 })
  const path = '/v1/operator/scheduler/configuration'
  const asked = [
    ['/v1/jobs', { Job: jobWith({}) }],
    [path, {}],
    [path, { MemoryOversubscriptionEnabled: true }],
    ['/v1/operator/scheduler/brake', {}],
  ] as const
  for (const [url, body] of asked) t.equal((await server.ask('PUT', url, body)).status, 501, url)
  t.match(await server.ask('PUT', '/v1/jobs', { Job: jobWith({}) }), {
    body: /^jobs\.register needs every server at command version 12; the cluster runs at 11/,
  })
  await server.propose({ type: 'state.raiseVersion', args: { version: settledWorkloadsVersion } })
  for (const [url, body] of asked) t.equal((await server.ask('PUT', url, body)).status, 200, url)
})

t.test('so is what a system job asks of its deployments', async (t) => {
  const server = await serverOfOne(t, { commandVersion: systemDeploymentsVersion - 1 })
  const register = (Type: string, Update: object) =>
    server.ask('PUT', '/v1/jobs', { Job: jobWith({ ID: Type, Type }, { Update }) })
  const refused = {
    status: 501,
    body: /^TaskGroups\[0\]\.Update\.Canary is known only once every server/,
  }
  t.match(await register('system', { Canary: 34 }), refused)
  t.match(await register('system', { AutoRevert: true }), { status: 501 })
  t.equal((await register('system', { MaxParallel: 2 })).status, 200)
  t.equal((await register('service', { Canary: 1 })).status, 200)
  await server.propose({ type: 'state.raiseVersion', args: { version: systemDeploymentsVersion } })
  t.equal((await register('system', { Canary: 34, AutoPromote: true })).status, 200)
  const all = { Update: { Canary: 34, AutoRevert: true, AutoPromote: true } }
  t.strictSame(systemDeploymentMembersOf(completed(jobWith({ Type: 'system' }, all))), [
    'TaskGroups[0].Update.Canary',
    'TaskGroups[0].Update.AutoRevert',
    'TaskGroups[0].Update.AutoPromote',
  ])
})
