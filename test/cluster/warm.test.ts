/**
 * Suites that kill and cut nothing, and take real processes, share one cluster. Each uses names of its own and ends what it began, so
 * that none depends on another: a suite that needs an empty cluster, or other settings, is a file of its own.
 */
import t from 'tap'
import { clientPackageWorks } from '../compatibility/consul-client-works.ts'
import { warmCluster } from '../support/warm-cluster.ts'
import { readsMuch } from './warm/much-output.ts'
import { handlesTasks } from './warm/task-operations.ts'
import { makesTemplates } from './warm/templates.ts'

t.setTimeout(240_000)

const warm = warmCluster(t)

void t.test('tasks are looked at and handled through every agent', async (t) => {
  await handlesTasks(t, await warm())
})

void t.test('much output of a node is read whole, and cuts nothing', async (t) => {
  await readsMuch(t, await warm())
})

void t.test('a task has what its templates and artifacts say, and learns of changes', async (t) => {
  await makesTemplates(t, await warm())
})

void t.test('the client package works unchanged at a client agent', async (t) => {
  const { cluster, agents } = await warm()
  const [agent] = agents
  if (agent === undefined) throw new Error('a warm cluster has agents')
  const { name, ports } = agent.process.spec
  const { size } = cluster
  await clientPackageWorks(t, {
    name,
    port: ports.http,
    agents: size + agents.length,
    servers: size,
  })
})
