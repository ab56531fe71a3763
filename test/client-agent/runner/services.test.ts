/** Services of an allocation: what cannot be registered is left out alone, and told; and which checks count for health. */
import t, { type Test } from 'tap'
import type { ClientReport, TaskEvent } from '../../../src/domains/allocations/model.ts'
import type { CheckStatus } from '../../../src/domains/catalog/model.ts'
import { RegistryStandIn, startedRunner, until, type Tasks } from './server-stand-in.ts'
import { mock, setting } from './tasks.ts'

const check = { Type: 'tcp', Interval: 1e9, Timeout: 1e9 }
const good = { Name: 'good', PortLabel: '80', Checks: [check] }
const quick = { MinHealthyTime: 1e6, HealthyDeadline: 900e6 }

async function started(t: Test) {
  const { folder, servers } = await setting(t)
  const registry = new RegistryStandIn()
  await startedRunner(t, servers, { folder, registry })
  const names = () => registry.services().map(({ name }) => name)
  return { servers, registry, names }
}

function serving(services: readonly object[], more: object = {}): Tasks {
  return [{ ...mock({ run_for: '1h' })[0], ...more, Services: [...services] }]
}

function eventsOf({ tasks }: Pick<ClientReport, 'tasks'>): readonly TaskEvent[] {
  return tasks.flatMap(({ events }) => events)
}

const bad: readonly { readonly is: string; readonly service: object; readonly problem: string }[] =
  [
    {
      is: 'too many keys in Meta',
      service: {
        Meta: Object.fromEntries(Array.from({ length: 64 }, (_one, at) => [`key${at}`, 'x'])),
      },
      problem: 'Meta may have at most 64 entries',
    },
    {
      is: 'a long tag',
      service: { Tags: ['${NOMAD_META_long}${NOMAD_META_long}'] },
      problem: 'Tags may have at most 256 tags of 512 characters',
    },
    {
      is: 'no key of Meta',
      service: { Meta: { 'bad key!': 'x' } },
      problem: 'a key in Meta must be 1 to 128 letters, digits, dashes or underscores',
    },
  ]

for (const { is, service, problem } of bad) {
  t.test(`a service with ${is} is left out alone, told of, and not healthy`, async (t) => {
    const { servers, registry, names } = await started(t)
    const services = [{ Name: 'bad', PortLabel: '80', ...service }, good]
    const id = servers.place(1, 'service', serving(services, { Meta: { long: 'x'.repeat(300) } }), {
      Update: quick,
      Services: [{ Name: 'all', PortLabel: '80' }],
    })
    await servers.becomes(id, 'running')
    t.strictSame(names(), ['good', 'all'])
    const [own] = registry.services()
    registry.checks.set(`${own?.id}-check-0`, 'passing')
    const report = await servers.reported(id, ({ health }) => health !== null)
    t.equal(report.health?.healthy, false)
    const told = eventsOf(report).filter(({ type }) => type === 'Task hook failed')
    t.match(told, [{ displayMessage: `Service "bad" is not registered: ${problem}` }])
    t.equal(told.length, 1)
    servers.stop(id)
    await servers.becomes(id, 'complete')
    t.strictSame(names(), [])
  })
}

t.test('a service of the group that is left out is told to its tasks', async (t) => {
  const { servers, names } = await started(t)
  const id = servers.place(1, 'service', serving([good]), {
    Services: [{ Name: 'all', PortLabel: '${NOMAD_META_none}' }],
  })
  const report = await servers.reported(
    id,
    ({ tasks: [task] }) => task?.events.some(({ type }) => type === 'Task hook failed') === true,
  )
  t.match(eventsOf(report).at(-1), {
    displayMessage: /^Service "all" is not registered: there is no port/,
  })
  t.strictSame(names(), ['good'])
})

t.test('two services of one name and port are both registered', async (t) => {
  const { servers, registry } = await started(t)
  const services = ['a', 'b'].map((tag) => ({ Name: 'web', PortLabel: '80', Tags: [tag] }))
  const id = servers.place(1, 'service', serving(services))
  await servers.becomes(id, 'running')
  t.strictSame(
    registry.services().map((one) => [one.id, one.tags]),
    [
      [`_muster-task-${id}-main-web-80`, ['a']],
      [`_muster-task-${id}-main-web-80-2`, ['b']],
    ],
  )
})

const rows: readonly { onUpdate: string; status: CheckStatus; healthy: boolean }[] = [
  { onUpdate: 'require_healthy', status: 'passing', healthy: true },
  { onUpdate: 'require_healthy', status: 'warning', healthy: false },
  { onUpdate: 'ignore_warnings', status: 'warning', healthy: true },
  { onUpdate: 'ignore_warnings', status: 'critical', healthy: false },
  { onUpdate: 'ignore', status: 'critical', healthy: true },
]

for (const { onUpdate, status, healthy } of rows) {
  const not = healthy ? '' : 'not '
  t.test(`${onUpdate}: a check that is ${status} is ${not}healthy`, async (t) => {
    const { servers } = await started(t)
    const given = { ...check, OnUpdate: onUpdate, InitialStatus: status }
    const id = servers.place(1, 'service', serving([{ ...good, Checks: [given] }]), {
      Update: quick,
    })
    const { health } = await servers.reported(id, (report) => report.health !== null)
    t.equal(health?.healthy, healthy)
  })
}

t.test('a canary has its own tags and metadata until it is promoted', async (t) => {
  const { servers, registry } = await started(t)
  const own = { Tags: ['live'], Meta: { color: 'blue' } }
  const canary = { CanaryTags: ['canary'], CanaryMeta: { color: 'green' } }
  const services = [
    { ...good, Name: 'both', ...own, ...canary },
    { ...good, Name: 'neither', ...own, CanaryTags: [], CanaryMeta: {} },
  ]
  const id = servers.place(1, 'service', serving(services))
  servers.touch(id, { canary: true })
  const seen = () =>
    registry.services().map(({ name, tags, meta }) => {
      return [name, ...tags, ...meta.map(([, value]) => value)].join(' ')
    })
  const become = (...wanted: readonly string[]) =>
    until(
      () => seen().join() === wanted.join(),
      () => seen().join(),
    )
  await become('both canary green muster', 'neither live blue muster')
  const [first] = registry.services()
  registry.checks.set(`${first?.id}-check-0`, 'passing')
  servers.promote(id)
  await become('both live blue muster', 'neither live blue muster')
  t.equal(registry.check(`${first?.id}-check-0`)?.state.status, 'passing', 'its checks go on')
  t.equal(servers.reports.get(id)?.tasks[0]?.restarts, 0)
})
