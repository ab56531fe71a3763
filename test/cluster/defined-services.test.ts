/** Services and checks of configuration files on real agents, a server and a client: at start, and again on SIGHUP. */
import { readFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import { startClientAgent } from '../support/client-agent.ts'
import { startCluster } from '../support/cluster.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import type { ServerProcess } from '../support/server-process.ts'

const script = { id: 'script', name: 'Script', args: ['/bin/echo', 'well'], interval: '1s' }

function web(port: number) {
  return { service: { name: 'web', port, check: { ttl: '1h', status: 'passing' } }, check: script }
}

async function reloadWith({ configFile, pid }: ServerProcess, changed: object): Promise<void> {
  const before = JSON.parse(await readFile(configFile, 'utf8')) as object
  await writeFile(configFile, JSON.stringify({ ...before, ...changed }))
  process.kill(pid ?? 0, 'SIGHUP')
}

void t.test('files define services and scripts, HTTP may not bring scripts', async (t) => {
  const config = { enable_local_script_checks: true, ...web(80) }
  const cluster = await startCluster(t, { servers: 1, gossip: true, config })
  const client = await startClientAgent(t, cluster, { config })
  const server = cluster.server(0)
  const http = cluster.http(0)
  const agents = [
    { node: 's1', http, process: server },
    { node: 'c1', http: client.http, process: client.process },
  ]
  for (const { node, http: own, process } of agents) {
    const ports = async () => {
      const found = (await http.json('GET', '/v1/catalog/service/web')) as {
        readonly Node: string
        readonly ServicePort: number
      }[]
      return found.filter(({ Node }) => Node === node).map(({ ServicePort }) => ServicePort)
    }
    await eventuallyTrue(`web is on ${node}`, async () => (await ports()).join() === '80')
    await eventuallyTrue(`the script of ${node} ran`, async () => {
      const found = (await http.json('GET', `/v1/health/node/${node}`)) as {
        readonly CheckID: string
        readonly Output: string
      }[]
      return found.some(({ CheckID, Output }) => CheckID === 'script' && Output === 'well\n')
    })
    const body = JSON.stringify({ Name: 'other', Args: ['/bin/true'], Interval: '1s' })
    const refused = await own.request('PUT', '/v1/agent/check/register', { body })
    t.equal(refused.status, 400)
    t.match(refused.body.toString(), /set enable_script_checks/)

    await reloadWith(process, web(81))
    await eventuallyTrue(`${node} read its file again`, async () => (await ports()).join() === '81')
    await reloadWith(process, { service: { name: 'web', port: 82, check: { http: 'x' } } })
    await eventuallyTrue(`${node} says what is wrong`, async () =>
      (await process.logTail(100)).includes('service \\"web\\": Interval is missing'),
    )
    t.same(await ports(), [81], 'wrong definitions change nothing')
    await reloadWith(process, { service: [], check: [] })
    await eventuallyTrue(`${node} has no service`, async () => (await ports()).length === 0)
  }
})
