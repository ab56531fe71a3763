/** Transactions that touch one record of the catalog twice: each operation sees what those before it left, and so does the state. */
import t from 'tap'
import { CatalogDraft } from '../../../src/domains/catalog/draft-commands.ts'
import type { Loss } from '../../../src/domains/catalog/fact-model.ts'
import { operate } from '../../../src/domains/catalog/operation-commands.ts'
import type { CatalogOperation } from '../../../src/domains/catalog/operation-model.ts'
import { serverOfOne } from '../server-of-one.ts'
import { catalogMachine, check, node, service } from './catalog-machine.ts'

type Status = 'passing' | 'critical'

const nodeSet = { Node: { Verb: 'set', Node: { Node: 'web', Address: '192.0.2.1' } } }
const nodeGone = { Node: { Verb: 'delete', Node: { Node: 'web' } } }
const serviceSet = (ID: string, Service = ID, Node = 'web') => ({
  Service: { Verb: 'set', Node, Service: { ID, Service } },
})
const serviceGone = (ID: string) => ({
  Service: { Verb: 'delete', Node: 'web', Service: { ID, Service: ID } },
})
const checkSet = (CheckID: string, ServiceID = '', Status: Status = 'passing', Node = 'web') => ({
  Check: { Verb: 'set', Check: { Node, CheckID, Name: CheckID, Status, ServiceID } },
})
const checkGone = (CheckID: string) => ({
  Check: { Verb: 'delete', Check: { Node: 'web', CheckID, Name: CheckID } },
})

/** What is there before: on node `web` service `api` with check `ping`, service `db`, and `disk` of the node; node `other`. */
const first = [
  nodeSet,
  { Node: { Verb: 'set', Node: { Node: 'other', Address: '192.0.2.2' } } },
  serviceSet('api'),
  serviceSet('db'),
  checkSet('ping', 'api'),
  checkSet('disk'),
]

type Row = {
  readonly name: string
  /** There as well. */
  readonly before?: readonly object[]
  readonly operations: readonly object[]
  /** `node/id=name`. */
  readonly services: readonly string[]
  /** `node/id=the name of its service, if any`, and whether it is critical. */
  readonly checks: readonly string[]
  /** Of the checks that sessions were bound with, those that lost theirs. */
  readonly lost: readonly ('ping' | 'disk')[]
}

const services = ['web/api=api', 'web/db=db']

const rows: readonly Row[] = [
  {
    name: 'what came to a node goes with it',
    operations: [serviceSet('new'), checkSet('new', 'new'), checkSet('ping'), nodeGone],
    services: [],
    checks: [],
    lost: ['ping', 'disk'],
  },
  {
    name: 'what came to another node does not',
    operations: [
      serviceSet('new', 'new', 'other'),
      checkSet('x', 'new', 'passing', 'other'),
      nodeGone,
    ],
    services: ['other/new=new'],
    checks: ['other/x=new'],
    lost: ['ping', 'disk'],
  },
  {
    name: 'a node that comes back in the same transaction was gone all the same',
    operations: [nodeGone, nodeSet, checkSet('disk'), checkSet('ping', '', 'critical')],
    services: [],
    checks: ['web/disk=', 'web/ping= (critical)'],
    lost: ['ping', 'disk'],
  },
  {
    name: 'a service that comes back has none of its checks',
    operations: [serviceGone('api'), serviceSet('api', 'gate'), checkSet('late', 'api')],
    services: ['web/api=gate', 'web/db=db'],
    checks: ['web/disk=', 'web/late=gate'],
    lost: ['ping'],
  },
  {
    name: 'what is deleted twice is gone once',
    operations: [serviceGone('api'), serviceGone('api'), checkGone('disk'), checkGone('disk')],
    services: ['web/db=db'],
    checks: [],
    lost: ['ping', 'disk'],
  },
  {
    name: 'a check that comes and goes leaves nothing',
    operations: [checkSet('new', 'api'), checkGone('new')],
    services,
    checks: ['web/disk=', 'web/ping=api'],
    lost: [],
  },
  {
    name: 'a check that moves to another service is gone from its own',
    operations: [checkSet('ping', 'db')],
    services,
    checks: ['web/disk=', 'web/ping=db'],
    lost: ['ping'],
  },
  {
    name: 'also where it comes back',
    operations: [checkSet('ping', 'db'), checkSet('ping', 'api')],
    services,
    checks: ['web/disk=', 'web/ping=api'],
    lost: ['ping'],
  },
  {
    name: 'what moved away before does not follow its former service',
    operations: [checkSet('ping', 'db'), serviceSet('api', 'gate')],
    services: ['web/api=gate', 'web/db=db'],
    checks: ['web/disk=', 'web/ping=db'],
    lost: ['ping'],
  },
  {
    name: 'what moved to a service before follows it',
    operations: [checkSet('disk', 'db'), serviceSet('db', 'store')],
    services: ['web/api=api', 'web/db=store'],
    checks: ['web/disk=store', 'web/ping=api'],
    lost: ['disk'],
  },
  {
    name: 'what moved away before does not go with its former service',
    operations: [checkSet('ping', 'db'), serviceGone('api')],
    services: ['web/db=db'],
    checks: ['web/disk=', 'web/ping=db'],
    lost: ['ping'],
  },
  {
    name: 'a check that was deleted before does not come back with its service’s new name',
    operations: [checkGone('ping'), serviceSet('api', 'gate')],
    services: ['web/api=gate', 'web/db=db'],
    checks: ['web/disk='],
    lost: ['ping'],
  },
  {
    name: 'a check that was changed before keeps the change when its service is renamed',
    operations: [checkSet('ping', 'api', 'critical'), serviceSet('api', 'gate')],
    services: ['web/api=gate', 'web/db=db'],
    checks: ['web/disk=', 'web/ping=gate (critical)'],
    lost: ['ping'],
  },
  {
    name: 'the checks of a service that is new follow it, those of its namesake on another node do not',
    operations: [
      serviceSet('new'),
      serviceSet('new', 'new', 'other'),
      checkSet('a', 'new'),
      checkSet('b', 'new', 'passing', 'other'),
      serviceSet('new', 'newer'),
    ],
    services: ['other/new=new', ...services, 'web/new=newer'],
    checks: ['other/b=new', 'web/a=newer', 'web/disk=', 'web/ping=api'],
    lost: [],
  },
  {
    name: 'the checks of another service of the same name stay with it',
    before: [serviceSet('api-2', 'api'), checkSet('second', 'api-2')],
    operations: [serviceSet('api', 'gate'), serviceGone('api')],
    services: ['web/api-2=api', 'web/db=db'],
    checks: ['web/disk=', 'web/second=api'],
    lost: ['ping'],
  },
  {
    name: 'they keep its name, too',
    before: [serviceSet('api-2', 'api'), checkSet('second', 'api-2')],
    operations: [serviceSet('api', 'gate'), checkSet('ping', 'api', 'critical')],
    services: ['web/api-2=api', 'web/api=gate', 'web/db=db'],
    checks: ['web/disk=', 'web/ping=gate (critical)', 'web/second=api'],
    lost: ['ping'],
  },
]

type CheckShown = Readonly<
  Record<'Node' | 'CheckID' | 'ServiceID' | 'ServiceName' | 'Status', string>
>
type ServiceShown = Readonly<Record<'ID' | 'Service', string>>

for (const row of rows) {
  t.test(row.name, async (t) => {
    const server = await serverOfOne(t)
    const transact = async (operations: readonly object[]): Promise<void> => {
      const { status, body } = await server.ask('PUT', '/v1/txn', operations)
      t.equal(status, 200, body)
    }
    await transact([...first, ...(row.before ?? [])])
    const sessions = new Map<string, string>()
    for (const id of ['ping', 'disk']) {
      const body = { Node: 'web', NodeChecks: [], Checks: [id] }
      const made = await server.ask('PUT', '/v1/session/create', body)
      t.equal(made.status, 200, made.body)
      sessions.set(id, (made.json() as { readonly ID: string }).ID)
    }
    await transact(row.operations)

    const read = async <Shown>(path: string) => (await server.ask('GET', path)).json() as Shown
    const found: { services: string[]; checks: string[] } = { services: [], checks: [] }
    for (const name of ['other', 'web']) {
      const shown = await read<{ readonly Services: readonly ServiceShown[] } | null>(
        `/v1/catalog/node-services/${name}`,
      )
      for (const { ID, Service } of shown?.Services ?? []) {
        found.services.push(`${name}/${ID}=${Service}`)
      }
      for (const shown of await read<readonly CheckShown[]>(`/v1/health/node/${name}`)) {
        const { CheckID, ServiceName, Status } = shown
        const status = Status === 'critical' ? ' (critical)' : ''
        found.checks.push(`${name}/${CheckID}=${ServiceName}${status}`)
      }
    }
    t.same(found.services.sort(), row.services)
    t.same(found.checks.sort(), row.checks)
    const lost: string[] = []
    for (const [id, session] of sessions) {
      if ((await read<unknown[]>(`/v1/session/info/${session}`)).length === 0) lost.push(id)
    }
    t.same(lost, row.lost, 'sessions that ended')
  })
}

/** What later domains are told: it shows also where nobody can have a session yet. */
const told: readonly (readonly [
  name: string,
  operations: readonly CatalogOperation[],
  losses: readonly Loss[],
])[] = [
  ['a check that comes and goes was nobody’s', [putCheck('new'), removeCheck('new')], []],
  ['a check that is critical from the first on was nobody’s', [putCheck('new', 'critical')], []],
  ['a check is lost once', [putCheck('ping', 'critical'), removeCheck('ping')], [lostOf('ping')]],
  [
    'a node that is gone has lost all of its checks, whatever else becomes of them',
    [
      { type: 'delete-node', node: 'web', index: null },
      { type: 'put-node', spec: node('web'), index: null },
      putCheck('ping', 'critical'),
      removeCheck('ping'),
    ],
    [{ node: 'web', checkIds: 'all' }],
  ],
  [
    'also when they went first',
    [removeCheck('ping'), { type: 'delete-node', node: 'web', index: null }],
    [{ node: 'web', checkIds: 'all' }],
  ],
]

function putCheck(id: string, status: Status = 'passing'): CatalogOperation {
  return { type: 'put-check', node: 'web', spec: check(id, status), index: null }
}

function removeCheck(id: string): CatalogOperation {
  return { type: 'delete-check', node: 'web', id, index: null }
}

function lostOf(...checkIds: readonly string[]): Loss {
  return { node: 'web', checkIds }
}

for (const [name, operations, losses] of told) {
  t.test(`told: ${name}`, async (t) => {
    const catalog = await catalogMachine(t)
    const checks = [check('ping', 'passing')]
    await catalog.register({ node: node('web'), service: service('api'), checks })
    const draft = new CatalogDraft(catalog.reader())
    for (const operation of operations) {
      t.equal((await operate(draft, operation)).type, 'shown', operation.type)
    }
    t.same(draft.losses(), losses)
  })
}
