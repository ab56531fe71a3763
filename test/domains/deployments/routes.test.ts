/** Deployments over HTTP: read, listed, promoted, judged and forgotten. */
import t, { type Test } from 'tap'
import { idOf, nowMs, placedOn, served } from '../allocations/workloads.ts'

const id = idOf('depl', 0)
const [first, second] = [idOf('allo', 0), idOf('allo', 1)]

/** One of two allocations, the second of which is a canary. */
async function withDeployment(t: Test) {
  const { server, here } = await served(t)
  const node = await here.node(1)
  const job = await here.plant()
  const rules = { autoRevert: false, autoPromote: false, progressDeadlineMs: 60_000 }
  await here.plan(job, {
    deployment: {
      id,
      groups: [{ group: 'g', ...rules, desiredCanaries: 1, desiredTotal: 2 }],
    },
    place: [
      placedOn(job, node, 0, { deploymentId: id }),
      placedOn(job, node, 1, { deploymentId: id, canary: true }),
    ],
  })
  const ask = async (method: string, url: string, body?: unknown) => {
    const { status, body: text } = await server.ask(method, url, body)
    return { status, json: status === 200 ? (JSON.parse(text) as unknown) : text }
  }
  return { here, job, node, ask }
}

void t.test('one is read, listed, and found by its job', async (t) => {
  const { ask } = await withDeployment(t)
  const { json: whole } = await ask('GET', `/v1/deployment/${id}`)
  t.match(whole, {
    ID: id,
    JobID: 'web',
    Status: 'running',
    StatusDescription: 'Deployment is running but requires manual promotion',
    IsMultiregion: false,
    TaskGroups: {
      g: {
        DesiredTotal: 2,
        DesiredCanaries: 1,
        PlacedCanaries: [second],
        PlacedAllocs: 2,
        HealthyAllocs: 0,
        ProgressDeadline: 60_000_000_000,
      },
    },
  })
  const filter = encodeURIComponent('Status == "running"')
  for (const path of [
    '/v1/deployments',
    `/v1/deployments?prefix=${id.slice(0, 4)}&namespace=*&filter=${filter}`,
    '/v1/job/web/deployments',
  ]) {
    t.strictSame((await ask('GET', path)).json, [whole], path)
  }
  const { CreateTime, JobCreateIndex } = whole as Readonly<Record<string, number>>
  const exactly = `CreateTime == ${CreateTime} and JobCreateIndex == ${JobCreateIndex}`
  const filtered = await ask('GET', `/v1/deployments?filter=${encodeURIComponent(exactly)}`)
  t.strictSame(filtered.json, [whole])
  t.strictSame((await ask('GET', '/v1/job/web/deployment')).json, whole)
  t.equal((await ask('GET', '/v1/job/none/deployment')).json, null)
  t.strictSame((await ask('GET', '/v1/deployments?namespace=other')).json, [])
  t.match((await ask('GET', `/v1/deployment/allocations/${id}`)).json, [
    { ID: first, DeploymentStatus: null },
    { ID: second, DeploymentStatus: { Healthy: null, Canary: true } },
  ])
  t.match((await ask('GET', `/v1/allocation/${second}`)).json, { DeploymentID: id })
  t.equal((await ask('GET', `/v1/deployment/${idOf('none', 0)}`)).status, 404)
  t.equal((await ask('GET', '/v1/deployment/12')).status, 400)
})

void t.test('canaries are promoted once they are healthy, and are none then', async (t) => {
  const { ask } = await withDeployment(t)
  const promote = (body: unknown) => ask('PUT', `/v1/deployment/promote/${id}`, body)
  t.equal((await promote({})).status, 400)
  t.match(await promote({ All: true }), { status: 400, json: /0 of 1 canaries healthy/ })
  const judged = await ask('PUT', `/v1/deployment/allocation-health/${id}`, {
    HealthyAllocationIDs: [second],
  })
  t.match(judged, { status: 200, json: { RevertedJobVersion: null } })
  t.match(await promote({ Groups: ['g'] }), { status: 200, json: { EvalID: /^.{36}$/ } })
  t.match(await promote({ All: true }), { status: 400, json: /no canaries to promote/ })
  t.match((await ask('GET', `/v1/allocation/${second}`)).json, {
    DeploymentStatus: { Healthy: true, Canary: false },
  })
})

void t.test('an unhealthy one fails it, and what is over is changed no more', async (t) => {
  const { ask } = await withDeployment(t)
  const path = `/v1/deployment/allocation-health/${id}`
  t.equal((await ask('PUT', path, {})).status, 400)
  t.equal((await ask('PUT', path, { UnhealthyAllocationIDs: [first] })).status, 200)
  t.match((await ask('GET', `/v1/deployment/${id}`)).json, {
    Status: 'failed',
    TaskGroups: { g: { UnhealthyAllocs: 1 } },
  })
  for (const [word, body] of [
    ['fail', {}],
    ['pause', { Pause: true }],
    ['promote', { All: true }],
  ] as const) {
    const changed = await ask('PUT', `/v1/deployment/${word}/${id}`, body)
    t.match(changed, { status: 400, json: /is over: it is failed/ }, word)
  }
  t.equal((await ask('PUT', `/v1/deployment/pause/${id}`, {})).status, 400)
  t.match(await ask('PUT', `/v1/deployment/unblock/${id}`), { status: 400, json: /not blocked/ })
})

void t.test('one that is over is forgotten once none of its allocations is left', async (t) => {
  const { here, node, ask } = await withDeployment(t)
  const collect = { evaluations: [], beforeMs: 8_000_000_000_000_000 }
  const forget = (allocations: readonly string[]) =>
    here.apply('allocations.collect', { ...collect, allocations, deployments: [id] })
  await forget([])
  t.equal((await ask('GET', `/v1/deployment/${id}`)).status, 200, 'it is under way')
  await ask('PUT', `/v1/deployment/fail/${id}`)
  await forget([])
  t.equal((await ask('GET', `/v1/deployment/${id}`)).status, 200, 'its allocations are there')
  const told = { clientStatus: 'complete', clientDescription: '', tasks: [], health: null }
  const reports = [first, second].map((one) => ({ node, report: { id: one, ...told } }))
  await here.apply('allocations.reported', { reports, nowMs })
  await here.apply('test.purgeJob', { id: 'web' })
  await forget([first, second])
  await forget([])
  t.equal((await ask('GET', `/v1/deployment/${id}`)).status, 404)
})
