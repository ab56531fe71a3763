/** `muster catalog` and `muster services`. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { serverForCli } from './server-for-cli.ts'

const nodeId = '0b5a4c8e-0000-4000-8000-00000000000a'

void t.test('nodes and services of the cluster are listed', async (t) => {
  const { muster, server } = await serverForCli(t)
  t.match(await muster('catalog nodes'), { code: 0, out: '', err: 'No nodes found\n' })
  t.match(await muster('catalog services'), { code: 0, out: '', err: 'No services found\n' })
  t.match(await muster('catalog datacenters'), { code: 0, out: 'dc1\n' })
  for (const [Node, ID, tags] of [
    ['box', nodeId, ['eu', 'fast']],
    ['other', '', []],
  ] as const) {
    await server.ask('PUT', '/v1/catalog/register', {
      Node,
      ID: ID || undefined,
      Address: '10.0.0.1',
      TaggedAddresses: { wan: '1.2.3.4' },
      NodeMeta: { rack: Node },
      Service: { Service: 'web', Tags: tags },
    })
  }
  t.equal(
    (await muster('catalog nodes')).out,
    'Node   ID        Address   DC\nbox    0b5a4c8e  10.0.0.1  dc1\nother  -         10.0.0.1  dc1\n',
  )
  t.match(await muster('catalog nodes -node-meta rack=box -detailed'), {
    out: new RegExp(
      `^Node .*\\nbox +${nodeId} +10\\.0\\.0\\.1 +dc1 +wan=1\\.2\\.3\\.4 +rack=box\\n$`,
    ),
  })
  t.match(await muster('catalog nodes -service web -detailed'), {
    out: /\nbox .* rack=box\nother /,
  })
  t.match(await muster('catalog nodes -service none'), { out: '', err: 'No nodes found\n' })
  t.match(await muster(['catalog', 'nodes', '-filter', 'Node == other', '-t', '{{len .}}']), {
    out: '1\n',
  })
  t.match(await muster('catalog services'), { out: 'web\n' })
  t.equal((await muster('catalog services -tags')).out, 'Service  Tags\nweb      eu, fast\n')
  t.equal((await muster('catalog services -tags -node other')).out, 'Service  Tags\nweb      -\n')
  t.match(await muster('catalog services -node none'), { code: 1, err: /there is no node "none"/ })
  t.match(await muster('catalog nodes -node-meta rack'), {
    code: 2,
    err: /-node-meta is KEY=VALUE/,
  })
})

void t.test('services are registered with an agent and taken from it', async (t) => {
  const { muster, server } = await serverForCli(t)
  const services = async () => (await server.ask('GET', '/v1/agent/services')).json()
  const where = '-port 80 -service-address 10.0.0.9 -tag eu -tag fast -meta a=b=c'
  t.match(await muster(`services register -name web -id web-1 ${where}`), {
    code: 0,
    out: 'Registered service "web"\n',
  })
  t.match(await services(), {
    'web-1': {
      Service: 'web',
      Port: 80,
      Address: '10.0.0.9',
      Tags: ['eu', 'fast'],
      Meta: { a: 'b=c' },
    },
  })
  t.match(await muster('services deregister -id web-1'), {
    code: 0,
    out: 'Deregistered service "web-1"\n',
  })
  t.same(await services(), {})
  t.match(await muster('services deregister -id web-1'), { code: 1, err: /Unknown service ID/ })
})

void t.test('a file says all of it, in HCL or JSON', async (t) => {
  const { muster, server } = await serverForCli(t)
  const folder = t.testdir()
  const hcl = join(folder, 'two.hcl')
  await writeFile(
    hcl,
    `service {
       name = "web"
       enable_tag_override = true
       meta { snake_case = "kept" }
       check {
         check_id = "alive"
         ttl = "1h"
         status = "passing"
         success_before_passing = 2
       }
       check {
         check_id = "ready"
         ttl = "1h"
       }
     }
     service {
       name = "db"
       id = "db-1"
     }`,
  )
  t.match(await muster(['services', 'register', hcl]), {
    code: 0,
    out: 'Registered service "web"\nRegistered service "db"\n',
  })
  t.match((await server.ask('GET', '/v1/agent/services')).json(), {
    web: { EnableTagOverride: true, Meta: { snake_case: 'kept' } },
    'db-1': { Service: 'db' },
  })
  t.match((await server.ask('GET', '/v1/agent/checks')).json(), {
    alive: { Status: 'passing', ServiceID: 'web' },
    ready: { Status: 'critical', ServiceID: 'web' },
  })
  t.match(await muster(['services', 'deregister', hcl]), { code: 0 })
  t.same((await server.ask('GET', '/v1/agent/checks')).json(), {})
  const json = JSON.stringify({ Service: { Name: 'api', Check: { TTL: '1h' } } })
  t.match(await muster('services register -', { input: json }), { code: 0 })
  t.match((await server.ask('GET', '/v1/agent/services')).json(), { api: { ID: 'api' } })
  for (const [line, input, code, err] of [
    ['services register', '', 2, /give either a FILE, or -name/],
    ['services register -port 80', '', 2, /-name is missing/],
    ['services register -name a -', '', 2, /give either a FILE, or -name/],
    ['services register -', '{"Service": {"Port": 1}}', 1, /holds no service with a name/],
    ['services register -', '{"Name": "a", "Port": -1}', 1, /Port of the service/],
    ['services deregister', '', 2, /give either a FILE or -id/],
  ] as const) {
    t.match(await muster(line, { input }), { code, err }, `${line} ${input}`)
  }
})
