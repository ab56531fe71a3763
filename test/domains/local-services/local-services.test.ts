/** An agent's services over restarts, and their way into a catalog that is not always there. */
import { typedPropose } from '../../../src/rpc/write.ts'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import type { CheckDefinition, Probe } from '../../../src/domains/local-services/definition.ts'
import { ServiceStore } from '../../../src/domains/local-services/store.ts'
import type { TaskChecks } from '../../../src/domains/local-services/task-checks.ts'
import { LocalServices } from '../../../src/domains/local-services/local-services.ts'
import {
  heldOf,
  applyAgentUpdate,
  type CatalogLink,
} from '../../../src/domains/local-services/sync.ts'
import { membershipCheckId } from '../../../src/domains/catalog/model.ts'
import { catalogChecks, catalogNodes, catalogServices } from '../../../src/domains/catalog/table.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { MusterError } from '../../../src/lib/errors.ts'
import { silentLogger, type Logger } from '../../../src/lib/log.ts'
import { eventually, eventuallyTrue } from '../../support/eventually.ts'
import {
  catalogMachine,
  check,
  node,
  nowMs,
  service,
  type CatalogMachine,
} from '../catalog/catalog-machine.ts'

const ttl: Probe = { type: 'ttl', ttlMs: 3_600_000 }

function defined(id: string, spec: Partial<CheckDefinition> = {}): CheckDefinition {
  return {
    id,
    name: id,
    notes: '',
    serviceId: '',
    probe: ttl,
    successBeforePassing: 0,
    failuresBeforeWarning: 0,
    failuresBeforeCritical: 0,
    deregisterAfterMs: null,
    ...spec,
  }
}

async function dataFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-agent-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

type Way = CatalogLink & { sent: number; broken: boolean }

function wayTo(catalog: CatalogMachine): Way {
  return {
    sent: 0,
    broken: false,
    async held(node) {
      if (this.broken) throw new Error('no cluster leader')
      const view = catalog.view()
      try {
        return await heldOf(view, node)
      } finally {
        view.close()
      }
    },
    async announce() {},
    async send(update) {
      this.sent += 1
      await applyAgentUpdate(update, {
        propose: typedPropose((command) => catalog.propose(command)),
        clock: { ...systemClock, wallMs: () => nowMs },
      })
    },
  }
}

function agentWith(
  folder: string,
  link: CatalogLink,
  scripts: 'none' | 'files' | 'all' = 'all',
  tasks?: TaskChecks,
  log: Logger = silentLogger,
): LocalServices {
  return new LocalServices({
    node: node('one'),
    dataFolder: folder,
    scripts,
    link,
    ...(tasks !== undefined && { tasks }),
    clock: systemClock,
    log,
  })
}

void t.test(
  'services and the statuses of checks outlive a restart; scripts only while they are allowed',
  async (t) => {
    const folder = await dataFolder(t)
    const catalog = await catalogMachine(t)
    const way = wayTo(catalog)
    const first = agentWith(folder, way)
    await first.start()
    await first.registerService(service('api'), [], false)
    await first.registerCheck({ definition: defined('beat', { serviceId: 'api' }), status: null })
    const probe: Probe = { type: 'script', args: ['true'], intervalMs: 3_600_000, timeoutMs: 1_000 }
    await first.registerCheck({ definition: defined('script', { probe }), status: 'passing' })
    await first.report('beat', 'warning', 'hm')
    await first.stop()

    const { sent } = way
    const second = agentWith(folder, way, 'files')
    await second.start()
    t.match(second.services(), [{ id: 'api' }])
    t.same(
      second.checks().map(({ definition, state }) => [definition.id, state.status, state.output]),
      [['beat', 'warning', 'hm']],
    )
    await eventually('the script is out of the catalog', () =>
      catalog.reader().get(catalogChecks, ['one', 'script']) === undefined ? true : undefined,
    )
    t.equal(way.sent, sent + 1, 'what the catalog has already is not sent again')
    await second.stop()
  },
)

void t.test('maintenance outlives a restart, and ends with its service', async (t) => {
  const folder = await dataFolder(t)
  const way = wayTo(await catalogMachine(t))
  const first = agentWith(folder, way)
  await first.start()
  await first.registerService(service('api'), [], false)
  await first.setMaintenance('api', true, 'new disk')
  await first.setMaintenance('', true, '')
  await first.stop()
  const second = agentWith(folder, way)
  await second.start()
  const found = () =>
    second.checks().map(({ definition, state }) => [definition.id, definition.notes, state.status])
  t.match(found(), [
    ['_service_maintenance:api', 'new disk', 'critical'],
    ['_node_maintenance', /in maintenance/, 'critical'],
  ])
  await second.deregisterService('api')
  t.match(found(), [['_node_maintenance']])
  await second.setMaintenance('', false, '')
  t.same(found(), [])
  await second.stop()
})

void t.test('the catalog is made as the agent has it, whatever was done to it', async (t) => {
  const catalog = await catalogMachine(t)
  const way = wayTo(catalog)
  await catalog.register({
    node: node('one'),
    service: service('stray'),
    checks: [
      check(membershipCheckId, 'passing'),
      check('a', 'passing', { serviceId: 'stray' }),
      check('b', 'passing'),
    ],
  })
  const agent = agentWith(await dataFolder(t), way)
  way.broken = true
  await agent.start()
  const registered = agent.registerService(
    service('api'),
    [{ definition: defined('beat', { serviceId: 'api' }), status: 'passing' }],
    false,
  )
  await registered
  t.equal(catalog.reader().get(catalogServices, ['one', 'api']), undefined, 'nobody can be asked')
  way.broken = false
  const ids = () =>
    ['gossiphealth', 'a', 'b', 'beat']
      .filter((id) => catalog.reader().get(catalogChecks, ['one', id]) !== undefined)
      .join()
  await eventually('only its own is left, and the leader’s', () =>
    ids() === 'gossiphealth,beat' ? true : undefined,
  )
  t.equal(catalog.reader().get(catalogServices, ['one', 'stray']), undefined)

  await catalog.deregister({ node: 'one' })
  await agent.report('beat', 'warning', '')
  t.equal(ids(), 'beat')
  t.ok(catalog.reader().get(catalogServices, ['one', 'api']))
  await agent.stop()
})

void t.test('a heartbeat that says the same writes nothing', async (t) => {
  const catalog = await catalogMachine(t)
  const way = wayTo(catalog)
  const agent = agentWith(await dataFolder(t), way)
  await agent.start()
  await agent.registerCheck({ definition: defined('beat'), status: null })
  await agent.report('beat', 'passing', 'well')
  const { sent } = way
  for (let time = 0; time < 10; time += 1) await agent.report('beat', 'passing', 'well')
  t.equal(way.sent, sent)
  await agent.stop()
})

void t.test('the first output of a check that runs does not wait', async (t) => {
  const catalog = await catalogMachine(t)
  const agent = agentWith(await dataFolder(t), wayTo(catalog))
  await agent.start()
  const args = ['sh', '-c', 'sleep 0.3; echo broken; exit 2']
  const probe: Probe = { type: 'script', args, intervalMs: 200, timeoutMs: 5_000 }
  await agent.registerCheck({ definition: defined('script', { probe }), status: null })
  const outputOf = () => catalog.reader().get(catalogChecks, ['one', 'script'])?.output
  await eventually('the check', () => (outputOf() === '' ? true : undefined))
  await eventually('its output', () => outputOf()?.includes('broken') || undefined)
  await agent.stop()
})

void t.test('a damaged file is named', async (t) => {
  const catalog = await catalogMachine(t)
  const folder = await dataFolder(t)
  for (const text of ['{', '{"version":1}', '{"version":9,"services":[],"checks":[]}']) {
    await writeFile(join(folder, 'agent-services.json'), text)
    await t.rejects(agentWith(folder, wayTo(catalog)).start(), /agent-services\.json/)
  }
})

void t.test(
  'an agent announces its node first, and leaves alone what is on another’s',
  async (t) => {
    const catalog = await catalogMachine(t)
    const [own, other] = ['1', '2'].map((digit) => `0000000${digit}-0000-4000-8000-000000000000`)
    await catalog.register({
      node: node('web', { id: other ?? '' }),
      service: service('theirs'),
      checks: [check(membershipCheckId, 'critical')],
    })
    const announced: string[] = []
    let isTaken = true
    const way = wayTo(catalog)
    way.announce = async (spec) => {
      announced.push(spec.name)
      if (isTaken) throw new MusterError('invalid_argument', 'the name is taken')
      await catalog.register({ node: spec })
    }
    const agent = new LocalServices({
      node: node('web', { id: own ?? '' }),
      dataFolder: await dataFolder(t),
      scripts: 'none',
      link: way,
      clock: systemClock,
      log: silentLogger,
    })
    await agent.start()
    t.teardown(() => agent.stop())
    await eventuallyTrue('it was refused twice', () => announced.length > 1)
    t.equal(way.sent, 0)
    t.ok(catalog.reader().get(catalogServices, ['web', 'theirs']), 'it touches nothing')
    isTaken = false
    await eventuallyTrue('it has its node, without what was there', () => {
      const found = catalog.reader().get(catalogNodes, ['web'])
      return found?.id === own && !catalog.reader().get(catalogServices, ['web', 'theirs'])
    })
    await catalog.deregister({ node: 'web' })
    await agent.registerService(service('mine'), [], false)
    await eventuallyTrue('its node is back with what is on it', () => {
      return catalog.reader().get(catalogServices, ['web', 'mine']) !== undefined
    })
    t.equal(catalog.reader().get(catalogNodes, ['web'])?.id, own)
  },
)

void t.test(
  'a look inside of a task is taken by what runs tasks, whatever scripts are allowed',
  async (t) => {
    const folder = await dataFolder(t)
    const catalog = await catalogMachine(t)
    const looked: string[] = []
    let looks = 0
    let found: Awaited<ReturnType<TaskChecks['look']>> = { status: 'warning', output: 'hm' }
    const tasks: TaskChecks = {
      look: async (id) => {
        looks += 1
        return id === 'inside' ? found : null
      },
      looked: (id, status) => void looked.push(`${id} ${status}`),
    }
    const probe: Probe = { type: 'task', intervalMs: 1_000, timeoutMs: 1_000 }
    const first = agentWith(folder, wayTo(catalog), 'none', tasks)
    await first.start()
    await first.registerCheck({ definition: defined('inside', { probe }), status: null })
    await eventuallyTrue('it is in the catalog', async () => {
      const row = catalog.reader().get(catalogChecks, ['one', 'inside'])
      return row?.status === 'warning' && row.output === 'hm' && row.type === 'script'
    })
    await first.stop()
    t.ok(looked.length > 0 && looked.every((text) => text === 'inside warning'), looked.join())
    const kept: unknown = JSON.parse(await readFile(join(folder, 'agent-services.json'), 'utf8'))
    t.match(kept, { version: 3 }, 'an older program would not know what to make of it')

    found = null
    looked.length = 0
    looks = 0
    const second = agentWith(folder, wayTo(catalog), 'none', tasks)
    t.teardown(() => second.stop())
    await second.start()
    t.match(second.check('inside')?.state, { status: 'warning', output: 'hm' })
    await eventuallyTrue('it is looked at', () => Promise.resolve(looks > 0))
    t.match(second.check('inside')?.state, { status: 'warning' }, 'while no task has it')
    t.strictSame(looked, [])
  },
)

void t.test(
  'a service is deregistered after one minute at the earliest, and a log says so',
  async (t) => {
    const folder = await dataFolder(t)
    const way = wayTo(await catalogMachine(t))
    const warnings: string[] = []
    const log: Logger = { ...silentLogger, warn: (text) => warnings.push(text) }
    const agent = agentWith(folder, way, 'none', undefined, log)
    await agent.start()
    const after = (deregisterAfterMs: number | null) => ({
      definition: defined('beat', { serviceId: 'api', deregisterAfterMs }),
      status: null,
    })
    const found = () => agent.check('beat')?.definition.deregisterAfterMs
    await agent.registerService(service('api'), [after(1_000)], false)
    t.equal(found(), 60_000)
    t.match(warnings, [/raised to one minute/])
    await agent.registerService(service('api'), [after(1_000)], false)
    t.equal(warnings.length, 1, 'the same again says nothing')
    await agent.registerService(service('api'), [after(60_001)], false)
    t.equal(found(), 60_001)
    await agent.registerService(service('api'), [after(null)], false)
    t.equal(found(), null)
    const files = (afterMs: number) => ({
      services: [{ service: service('web'), checks: [] }],
      checks: [
        {
          definition: defined('w', { serviceId: 'web', deregisterAfterMs: afterMs }),
          status: null,
        },
      ],
    })
    await agent.define(files(1))
    t.equal(agent.check('w')?.definition.deregisterAfterMs, 60_000)
    t.equal(warnings.length, 2)
    await agent.stop()
    const again = agentWith(folder, way, 'none', undefined, log)
    await again.start(files(1))
    t.equal(again.check('w')?.definition.deregisterAfterMs, 60_000)
    t.equal(warnings.length, 3)
    await again.stop()
  },
)

void t.test('tags in the catalog stay where a service lets others change them', async (t) => {
  const catalog = await catalogMachine(t)
  const agent = agentWith(await dataFolder(t), wayTo(catalog))
  await agent.start()
  t.teardown(() => agent.stop())
  const open = { tags: ['own'], enableTagOverride: true }
  await agent.registerService(service('open', open), [], false)
  await agent.registerService(service('closed', { tags: ['own'] }), [], false)
  const tags = (id: string) => catalog.reader().get(catalogServices, ['one', id])?.tags
  t.same(tags('open'), ['own'])
  for (const one of [
    service('open', { ...open, tags: ['x'] }),
    service('closed', { tags: ['x'] }),
  ]) {
    await catalog.register({ node: node('one'), skipNodeUpdate: true, service: one })
  }
  agent.compare()
  await eventuallyTrue('the closed one is as the agent has it', () =>
    isDeepStrictEqual(tags('closed'), ['own']),
  )
  t.same(tags('open'), ['x'])
  await agent.registerService(service('open', { ...open, port: 81 }), [], false)
  t.match(catalog.reader().get(catalogServices, ['one', 'open']), { port: 81, tags: ['x'] })
  await agent.registerService(service('open', { tags: ['own'] }), [], false)
  t.same(tags('open'), ['own'], 'it does not any more')
})

void t.test(
  'a kept service that nobody could reach is left out, and the log says so',
  async (t) => {
    const folder = await dataFolder(t)
    const way = wayTo(await catalogMachine(t))
    const first = agentWith(folder, way)
    await first.start()
    await first.registerService(service('api'), [], false)
    await first.registerService(service('all', { address: '0.0.0.0' }), [], false)
    await first.stop()
    const warnings: string[] = []
    const log: Logger = { ...silentLogger, warn: (text) => warnings.push(text) }
    const second = agentWith(folder, way, 'all', undefined, log)
    await second.start()
    t.match(second.services(), [{ id: 'api' }])
    t.match(warnings, [/left out/])
    await second.stop()
  },
)

void t.test('a registration that the disk does not take says so', async (t) => {
  const catalog = await catalogMachine(t)
  const agent = agentWith(await dataFolder(t), wayTo(catalog))
  await agent.start()
  t.teardown(() => agent.stop())
  const full = Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' })
  const save = Object.getOwnPropertyDescriptor(ServiceStore.prototype, 'save')
  ServiceStore.prototype.save = () => Promise.reject(full)
  try {
    await t.rejects(agent.registerService(service('web'), [], false), {
      code: 'unavailable',
      message: 'the disk of this agent takes no writes (ENOSPC: no space left): make room there',
    })
  } finally {
    Object.defineProperty(ServiceStore.prototype, 'save', { ...save })
  }
})
