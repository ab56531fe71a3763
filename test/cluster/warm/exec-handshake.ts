/** Commands beside a task for browsers, which say in the first message whose request it is: through a server and two agents. */
import { once } from 'node:events'
import type { Test } from 'tap'
import { auditLines, auditText } from '../../support/audit-lines.ts'
import { startClientAgent, type ClientAgent } from '../../support/client-agent.ts'
import { eventually, eventuallyTrue } from '../../support/eventually.ts'
import type { WarmTokens } from '../../support/warm-cluster.ts'

const job = {
  ID: 'web',
  Datacenters: ['dc1'],
  TaskGroups: [
    {
      Name: 'g',
      EphemeralDisk: { SizeMB: 10 },
      Tasks: [
        {
          Name: 'main',
          Driver: 'raw_exec',
          Config: { command: '/bin/sleep', args: ['1000'] },
          Resources: { CPU: 20, MemoryMB: 16 },
          LogConfig: { MaxFiles: 2, MaxFileSizeMB: 1 },
        },
      ],
    },
  ],
}

type Frame = { readonly stdout?: { readonly data?: string }; readonly result?: unknown }

/** As a page does it: without headers. */
async function asked(url: string, first: string) {
  const websocket = new WebSocket(url)
  const frames: Frame[] = []
  websocket.addEventListener('message', ({ data }) => {
    frames.push(JSON.parse(String(data)) as Frame)
  })
  websocket.addEventListener('open', () => websocket.send(first))
  const [{ code, reason }] = (await once(websocket, 'close')) as [CloseEvent]
  const out = frames.map(({ stdout }) => Buffer.from(stdout?.data ?? '', 'base64').toString())
  return { code, reason, out: out.join(''), result: frames.at(-1)?.result }
}

export async function firstMessageDecides(t: Test, { cluster, root }: WarmTokens): Promise<void> {
  const server = cluster.http(0)
  const headers = { 'x-service-token': root }
  const asRoot = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const text = body === undefined ? {} : { body: JSON.stringify(body) }
    const reply = await server.request(method, path, { headers, ...text })
    t.ok(reply.status < 300, `${method} ${path}: ${reply.status} ${reply.body.toString()}`)
    return JSON.parse(reply.body.toString() || 'null')
  }
  const tokenWith = async (Name: string, capabilities: string) => {
    const Rules = `namespace "default" { capabilities = [${capabilities}] }`
    await asRoot('PUT', `/v1/acl/policy/${Name}`, { Rules })
    const made = await asRoot('PUT', '/v1/acl/token', { Policies: [{ Name }] })
    return made as { readonly SecretID: string; readonly AccessorID: string }
  }
  const plugin = { raw_exec: { config: { enabled: true } } }
  const agents: ClientAgent[] = []
  for (const name of ['c1', 'c2']) {
    const config = {
      acl: { enabled: true, agent_token: root },
      audit: { enabled: true },
      plugin,
      log_level: 'debug',
    }
    agents.push(await startClientAgent(t, cluster, { name, config }))
  }
  await asRoot('PUT', '/v1/jobs', { Job: job })
  const { ID: id } = await eventually('it runs', async () => {
    const rows = (await asRoot('GET', '/v1/job/web/allocations')) as readonly {
      readonly ID: string
      readonly ClientStatus: string
    }[]
    return rows.find(({ ClientStatus }) => ClientStatus === 'running')
  })
  const may = await tokenWith('may', '"alloc-exec", "alloc-node-exec"')
  const mayNot = await tokenWith('may-not', '"read-job"')
  const command = encodeURIComponent(JSON.stringify(['/bin/sh', '-c', 'echo here; exit 7']))
  const processes = [cluster.server(0), ...agents.map((agent) => agent.process)]
  const told = (token: string) => JSON.stringify({ version: 1, auth_token: token })
  for (const { spec } of processes) {
    const base = `ws://127.0.0.1:${spec.ports.http}/v1/client/allocation/${id}/exec`
    const url = `${base}?task=main&command=${command}&ws_handshake=true`
    t.match(await asked(url, told(may.SecretID)), {
      code: 1000,
      out: 'here\n',
      result: { exit_code: 7 },
    })
    const denied = { code: 1011, out: '', reason: /Permission denied/ }
    t.match(await asked(url, told(mayNot.SecretID)), denied)
    t.match(await asked(url, told('')), denied)
    t.match(await asked(url, may.SecretID), { code: 1011, reason: /it is no JSON/ })
    const twice = `${url}&token=${mayNot.SecretID}`
    t.match(await asked(twice, told(may.SecretID)), { code: 1011, reason: /not that of the requ/ })
    const plain = new WebSocket(url.replace('&ws_handshake=true', ''))
    const [refused] = await once(plain, 'error')
    t.ok(refused, 'without it a page has no rights')
  }
  await eventuallyTrue('the audit log has who ran it, and why another was refused', async () => {
    const lines = (await auditLines(cluster.server(0))).filter(({ path }) =>
      String(path).includes('/exec'),
    )
    const of = (accessor: string) => lines.filter((line) => line['accessor'] === accessor)
    return (
      of(may.AccessorID).length >= 2 &&
      of(mayNot.AccessorID).some((line) => String(line['error']).startsWith('Permission denied'))
    )
  })
  for (const one of processes) {
    const text = `${await one.logTail(100_000)}${await auditText(one)}`
    t.match(text, /exec/)
    t.notMatch(text, may.SecretID)
    t.notMatch(text, mayNot.SecretID)
  }
}
