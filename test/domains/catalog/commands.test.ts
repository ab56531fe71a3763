/** The catalog's commands on a real state machine: what changes, what stays, and what is told to later domains. */
import t from 'tap'
import type { MemberUpdate } from '../../../src/domains/catalog/commands.ts'
import { catalogChecks, catalogNodes, catalogServices } from '../../../src/domains/catalog/table.ts'
import { catalogMachine, check, node, service } from './catalog-machine.ts'

const id1 = '11111111-1111-4111-8111-111111111111'
const id2 = '22222222-2222-4222-8222-222222222222'

void t.test('a registration writes node, service and checks at one index', async (t) => {
  const catalog = await catalogMachine(t)
  const outcome = await catalog.register({
    node: node('Web-1'),
    service: service('api', { name: 'API', tags: ['v1'] }),
    checks: [check('Ping', 'passing', { serviceId: 'api' }), check('disk', 'warning')],
  })
  t.same(outcome, { type: 'registered' })
  const reader = catalog.reader()
  const index = catalog.index()
  t.match(reader.get(catalogNodes, ['web-1']), { name: 'Web-1', createIndex: index })
  t.match(reader.get(catalogServices, ['web-1', 'api']), { node: 'Web-1', modifyIndex: index })
  t.match(reader.get(catalogChecks, ['web-1', 'ping']), {
    serviceName: 'API',
    serviceTags: ['v1'],
    modifyIndex: index,
  })
  t.same(catalog.losses(), [], 'nothing was lost')
})

void t.test('an identical registration moves no index', async (t) => {
  const catalog = await catalogMachine(t)
  const args = {
    node: node('web', { meta: [['rack', 'a']] }),
    service: service('api', { meta: [['k', 'v']] }),
    checks: [check('ping', 'passing')],
  }
  await catalog.register(args)
  const index = catalog.index()
  await catalog.register({ ...args, node: { ...args.node, name: 'WEB' } })
  const reader = catalog.reader()
  t.equal(reader.tableIndex(catalogNodes), index)
  t.equal(reader.tableIndex(catalogServices), index)
  t.equal(reader.tableIndex(catalogChecks), index)
  t.equal(reader.get(catalogNodes, ['web'])?.name, 'web', 'as written first')
})

void t.test('a refused registration changes nothing', async (t) => {
  const catalog = await catalogMachine(t)
  t.same(await catalog.register({ node: node('web', { address: '' }) }), { type: 'noAddress' })
  const outcome = await catalog.register({
    node: node('web'),
    checks: [check('ping', 'passing', { serviceId: 'api' })],
  })
  t.same(outcome, { type: 'unknownService', check: 'ping', service: 'api' })
  t.equal(catalog.reader().get(catalogNodes, ['web']), undefined)
})

void t.test('losses are told once, in the entry that causes them', async (t) => {
  const catalog = await catalogMachine(t)
  const ping = (status: 'passing' | 'warning' | 'critical') => [
    check('Ping', status, { serviceId: 'api' }),
  ]
  await catalog.register({ node: node('Web'), service: service('api'), checks: ping('passing') })
  await catalog.register({ node: node('Web'), checks: ping('warning') })
  t.same(catalog.losses(), [], 'a warning is no loss')
  await catalog.register({ node: node('Web'), checks: ping('critical') })
  t.same(catalog.losses(), [{ node: 'web', checkIds: ['ping'] }])
  await catalog.register({ node: node('Web'), checks: ping('critical') })
  t.same(catalog.losses(), [], 'it was critical before')
  await catalog.register({ node: node('Web'), checks: [...ping('passing'), check('b', 'passing')] })
  await catalog.deregister({ node: 'WEB', checkId: 'B' })
  t.same(catalog.losses(), [{ node: 'web', checkIds: ['b'] }])
  await catalog.deregister({ node: 'WEB', serviceId: 'api' })
  t.same(catalog.losses(), [{ node: 'web', checkIds: ['ping'] }], 'with its service')
  t.equal(catalog.reader().get(catalogServices, ['web', 'api']), undefined)
  await catalog.deregister({ node: 'web' })
  t.same(catalog.losses(), [{ node: 'web', checkIds: 'all' }])
  t.same(await catalog.deregister({ node: 'web', serviceId: 'none' }), { type: 'deregistered' })
  t.same(catalog.losses(), [])
})

void t.test('checks follow their service when its name or tags change', async (t) => {
  const catalog = await catalogMachine(t)
  const checks = [check('ping', 'passing', { serviceId: 'api' })]
  await catalog.register({ node: node('web'), service: service('api'), checks })
  await catalog.register({ node: node('web'), service: service('api', { name: 'gate' }) })
  t.equal(catalog.reader().get(catalogChecks, ['web', 'ping'])?.serviceName, 'gate')
  t.same(catalog.losses(), [])
})

void t.test('a node id that comes under a new name takes the old node away', async (t) => {
  const catalog = await catalogMachine(t)
  await catalog.register({ node: node('old', { id: id1 }), checks: [check('ping', 'passing')] })
  await catalog.register({ node: node('new', { id: id1 }) })
  t.same(catalog.losses(), [{ node: 'old', checkIds: 'all' }])
  const reader = catalog.reader()
  t.equal(reader.get(catalogNodes, ['old']), undefined)
  t.equal(reader.get(catalogChecks, ['old', 'ping']), undefined)
  t.equal(reader.get(catalogNodes, ['new'])?.id, id1)
})

void t.test('the name of a living node is not given to another id', async (t) => {
  const catalog = await catalogMachine(t)
  await catalog.register({ node: node('web', { id: id1 }) })
  t.same(await catalog.register({ node: node('web', { id: id2 }) }), {
    type: 'nameTaken',
    id: id1,
  })
  await catalog.register({ node: node('web'), checks: [check('gossipHealth', 'critical')] })
  t.equal(catalog.reader().get(catalogNodes, ['web'])?.id, id1, 'without an id it keeps its own')
  t.same(await catalog.register({ node: node('web', { id: id2 }) }), { type: 'registered' })
})

void t.test('a node that no agent has may be registered under another id', async (t) => {
  const catalog = await catalogMachine(t)
  const args = { node: node('web', { id: id1 }), service: service('api') }
  await catalog.register(args)
  const taken = { type: 'nameTaken', id: id1 }
  const again = () => catalog.register({ node: node('web', { id: id2 }) })
  await catalog.propose({ type: 'state.raiseVersion', args: { version: 16 } })
  t.same(await again(), taken, 'as servers of older programs decide')
  await catalog.propose({ type: 'state.raiseVersion', args: { version: 17 } })
  await catalog.register({ ...args, checks: [check('gossipHealth', 'warning')] })
  t.same(await again(), taken, 'an agent has it')
  await catalog.deregister({ node: 'web', checkId: 'gossipHealth' })
  t.same(await again(), { type: 'registered' })
  t.equal(catalog.reader().get(catalogNodes, ['web'])?.id, id2)
  t.ok(catalog.reader().get(catalogServices, ['web', 'api']), 'with what is on it')
})

void t.test('members come, fail and go as the leader says', async (t) => {
  const catalog = await catalogMachine(t)
  const present = (name: string, id: string, status: 'passing' | 'critical'): MemberUpdate => ({
    type: 'present',
    node: node(name, { id }),
    status,
    output: status,
  })
  await catalog.members([present('one', id1, 'passing'), present('two', id2, 'passing')])
  const index = catalog.index()
  t.equal(catalog.reader().get(catalogChecks, ['two', 'gossiphealth'])?.status, 'passing')
  await catalog.members([present('one', id1, 'passing'), present('two', id2, 'passing')])
  t.equal(catalog.reader().tableIndex(catalogChecks), index, 'nothing new')
  await catalog.members([present('two', id2, 'critical')])
  t.same(catalog.losses(), [{ node: 'two', checkIds: ['gossiphealth'] }])
  await catalog.members([{ type: 'gone', name: 'two', id: id1 }])
  t.not(catalog.reader().get(catalogNodes, ['two']), undefined, 'another has the name')
  await catalog.members([{ type: 'gone', name: 'two', id: id2 }])
  t.same(catalog.losses(), [{ node: 'two', checkIds: 'all' }])
  t.equal(catalog.reader().get(catalogNodes, ['two']), undefined)
})
