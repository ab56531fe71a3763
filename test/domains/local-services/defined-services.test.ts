/** Services and checks that configuration files define: at the start of an agent, and as the files change. */
import { typedPropose } from '../../../src/rpc/write.ts'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  agentChecksMax,
  LocalServices,
  type Definitions,
} from '../../../src/domains/local-services/local-services.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import { definedServices } from '../../../src/runtime/defined-services.ts'
import { catalogMachine, node, nowMs, service } from '../catalog/catalog-machine.ts'
import { applyAgentUpdate, heldOf } from '../../../src/domains/local-services/sync.ts'

type Scripts = 'none' | 'files' | 'all'

async function machineOf(t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'muster-defined-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const catalog = await catalogMachine(t)
  const start = async (definitions: Definitions, scripts: Scripts = 'none') => {
    const agent = new LocalServices({
      node: node('one'),
      dataFolder: folder,
      scripts,
      link: {
        held: async (name) => {
          const view = catalog.view()
          try {
            return await heldOf(view, name)
          } finally {
            view.close()
          }
        },
        announce: async () => {},
        send: (update) =>
          applyAgentUpdate(update, {
            propose: typedPropose((command) => catalog.propose(command)),
            clock: { ...systemClock, wallMs: () => nowMs },
          }),
      },
      clock: systemClock,
      log: silentLogger,
    })
    t.teardown(() => agent.stop())
    await agent.start(definitions)
    return agent
  }
  return { folder, start }
}

function shown(agent: LocalServices) {
  return {
    services: agent.services().map(({ id }) => id),
    checks: agent.checks().map(({ definition: { id }, state: { status } }) => `${id} ${status}`),
  }
}

const web = definedServices({
  services: [
    {
      fields: { name: 'web', port: 80, tagged_addresses: { lan: { address: '10.0.0.1' } } },
      checks: [{ ttl: '1h', deregister_critical_service_after: '10h' }],
    },
  ],
  checks: [{ id: 'more', name: 'More', ttl: '1h', service_id: 'web', status: 'passing' }],
})
const none = definedServices({ services: [], checks: [] })

void t.test('fields are read as those of a registration', (t) => {
  t.match(web, {
    services: [
      {
        service: { id: 'web', port: 80, taggedAddresses: [['lan', '10.0.0.1', 0]] },
        checks: [{ definition: { id: 'service:web', deregisterAfterMs: 36_000_000 } }],
      },
    ],
    checks: [{ definition: { id: 'more', name: 'More', serviceId: 'web' }, status: 'passing' }],
  })
  t.end()
})

void t.test('an address that stands for all is none', (t) => {
  const fields = { name: 'web', address: '0.0.0.0' }
  t.throws(() => definedServices({ services: [{ fields, checks: [] }], checks: [] }), {
    message: /service "web": Address of the service/,
  })
  t.end()
})

void t.test(
  'definitions are never written; what was reported of them outlives a restart',
  async (t) => {
    const { folder, start } = await machineOf(t)
    const first = await start(web)
    t.same(shown(first), { services: ['web'], checks: ['service:web critical', 'more passing'] })
    await first.registerService(service('other'), [], false)
    await first.report('service:web', 'passing', 'well')
    await first.stop()
    const file = JSON.parse(await readFile(join(folder, 'agent-services.json'), 'utf8')) as object
    t.match(file, { services: [{ id: 'other' }], checks: [] })
    const second = await start(web)
    t.same(shown(second), {
      services: ['other', 'web'],
      checks: ['service:web passing', 'more passing'],
    })
    await second.stop()
    t.same(shown(await start(none)), { services: ['other'], checks: [] })
  },
)

void t.test(
  'a reload adds, changes and removes, and leaves statuses and registrations',
  async (t) => {
    const { start } = await machineOf(t)
    const agent = await start(web)
    await agent.registerService(service('other'), [], false)
    await agent.report('service:web', 'warning', 'hm')
    const next = definedServices({
      services: [
        {
          fields: { name: 'web', port: 81 },
          checks: [{ ttl: '1h', deregister_critical_service_after: '10h' }],
        },
        { fields: { name: 'db' }, checks: [] },
      ],
      checks: [],
    })
    await agent.define(next)
    t.same(shown(agent), { services: ['web', 'other', 'db'], checks: ['service:web warning'] })
    t.equal(agent.service('web')?.port, 81)
    await agent.deregisterService('db')
    await agent.define(next)
    t.ok(agent.service('db'), 'what was removed over HTTP is back')
    await agent.define(none)
    t.same(shown(agent), { services: ['other'], checks: [] })
  },
)

void t.test(
  'a registration over HTTP takes a defined service over until the next reload',
  async (t) => {
    const { start } = await machineOf(t)
    const first = await start(web)
    await first.registerService({ ...service('web'), port: 99 }, [], false)
    await first.stop()
    const second = await start(web)
    t.equal(second.service('web')?.port, 80, 'the files count')
  },
)

void t.test('scripts of files and of registrations are allowed apart', async (t) => {
  const script = { name: 'script', args: ['/bin/true'], interval: '1h' }
  const files = definedServices({ services: [], checks: [script] })
  const [registered] = definedServices({
    services: [],
    checks: [{ ...script, id: 'http' }],
  }).checks
  if (registered === undefined) throw new Error('there is one')
  const rows = [
    ['none', false, false],
    ['files', true, false],
    ['all', true, true],
  ] as const
  for (const [scripts, ofFiles, ofHttp] of rows) {
    const { start } = await machineOf(t)
    if (ofFiles) t.match(shown(await start(files, scripts)).checks, ['script critical'], scripts)
    else await t.rejects(start(files, scripts), { message: /set enable_local_script_checks/ })
    const agent = await start(none, scripts)
    if (ofHttp) await agent.registerCheck(registered)
    else await t.rejects(agent.registerCheck(registered), { message: /set enable_script_checks/ })
  }
})

void t.test('wrong definitions change nothing and say which one is meant', async (t) => {
  const { start } = await machineOf(t)
  const agent = await start(web)
  const check = { name: 'c', ttl: '1m' }
  const rows = [
    [[check, { ...check, id: 'C' }], /defines the check "C" twice/],
    [[{ ...check, service_id: 'none' }], /"c" has the service_id "none", which no service/],
    [[{ ...check, id: 'gossipHealth' }], /leader/],
    [[{ ttl: '1m' }], /check "\(without a name\)": Missing Name/],
    [[{ name: 'c', http: 'http://x' }], /check "c": Interval is missing/],
    [[{ name: 'c', http: 'ftp://x', interval: '1s' }], /check "c": HTTP must be a URL/],
    [
      Array.from({ length: agentChecksMax + 1 }, (_, at) => ({ ...check, id: `c${at}` })),
      /at most 4096 checks/,
    ],
  ] as const
  for (const [checks, text] of rows) {
    const define = async () => agent.define(definedServices({ services: [], checks }))
    await t.rejects(define(), { message: text })
  }
  const two = { fields: { name: 'web' }, checks: [] }
  await t.rejects(agent.define(definedServices({ services: [two, two], checks: [] })), {
    message: /defines the service "web" twice/,
  })
  t.throws(() => definedServices({ services: [{ fields: {}, checks: [] }], checks: [] }), {
    message: /service "\(without a name\)": Missing the name/,
  })
  t.same(shown(agent).services, ['web'])
  t.equal(agent.checks().length, 2)
})
