/**
 * Every method that is `repeatable` gives its answer again from the outcomes of its commands, on the state that it has changed: that is
 * what a server does whose leader was lost.
 */
import t from 'tap'
import { defaultBrake } from '../../src/domains/nodes/brake-model.ts'
import { defaultSettings } from '../../src/domains/scheduler-settings/model.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLogger } from '../../src/lib/log.ts'
import type { NamedCommand } from '../../src/fsm/applied-commands.ts'
import { allowAll } from '../../src/rpc/authorizer.ts'
import { MethodContext } from '../../src/rpc/method-context.ts'
import type { AnyLeaderMethod, Caller } from '../../src/rpc/method.ts'
import { replay } from '../../src/rpc/replay.ts'
import { mockTask } from '../support/mock-task.ts'
import { specOf } from './nodes/spec.ts'
import { serverOfOne } from './server-of-one.ts'

const caller: Caller = { token: null, remote: '', requestId: '' }
const { signal } = new AbortController()
const none = { fence: null }

const key = { namespace: 'default', key: 'app/a' }
const set = { type: 'set', ...key, value: Buffer.from('x'), flags: '0' }
const variable = { namespace: 'default', path: 'app/db', fence: null }
const items = [['user', 'x']]
const node = {
  name: 'n1',
  id: null,
  address: '10.0.0.1',
  datacenter: 'dc1',
  taggedAddresses: [],
  meta: [],
}
const session = {
  namespace: 'default',
  name: 's',
  node: 'n1',
  lockDelay: null,
  behavior: 'release',
  ttl: '',
  nodeChecks: [],
  serviceChecks: null,
  checks: null,
}
const ldap = { id: 'first-ldap', path: 'ldap' }
const policy = { name: 'p', description: '', rules: 'key_prefix "app/" { policy = "read" }' }

const at = { id: 'first-orchestrator', path: 'orchestrator' }
const bound = { names: ['till'], namespaces: ['shop'], tokens: {} }
const orchestrator = {
  host: 'o.test',
  authorities: '',
  pemKeys: [
    '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA8wgXTUKP7Rz8jvmFt9aqWLCOEd6hGF2nuAI9fU4OIZk=\n-----END PUBLIC KEY-----',
  ],
  disableLocalCaJwt: false,
  disableIssValidation: true,
  issuer: '',
}

const job = {
  ID: 'web',
  Name: 'web',
  Datacenters: ['dc1'],
  TaskGroups: [{ Name: 'g', Count: 1, Tasks: [mockTask] }],
}
const web = { namespace: 'default', id: 'web' }
const nightly = { ...job, ID: 'nightly', Type: 'batch', Periodic: { Spec: '@daily' } }
const encode = { ...job, ID: 'encode', Type: 'batch', ParameterizedJob: {} }
const dispatched = { namespace: 'default', id: 'encode', payload: '', meta: [], prefix: '' }
const scaled = { ...web, group: 'g', error: false, message: '', meta: '', enforceIndex: null }
const machineId = '01234567-89ab-cdef-0123-456789abcdef'
const registeredNode = {
  id: machineId,
  spec: specOf('box'),
  secretHash: 'a'.repeat(64),
  computedClass: 'v1:1',
  nowMs: 1,
}
const drain = { deadlineNs: 1_000, ignoreSystemJobs: false }

/** What is asked, in this order; what the one before it made is `made`. */
type Case = readonly [string, (made: never) => unknown]

const cases: readonly Case[] = [
  ['schedulerSettings.set', () => ({ settings: defaultSettings, cas: null })],
  ['catalog.register', () => ({ node, skipNodeUpdate: false, service: null, checks: [] })],
  ['kv.write', () => ({ operations: [set], ...none })],
  ['kv.write', () => ({ operations: [{ ...set, type: 'cas', index: 0 }], ...none })],
  ['kv.transact', () => ({ steps: [{ type: 'key', operation: set }], ...none })],
  ['sessions.create', () => session],
  [
    'kv.write',
    ({ id }: { id: string }) => ({ operations: [{ ...set, type: 'lock', session: id }], ...none }),
  ],
  ['sessions.create', () => ({ ...session, node: 'nowhere' })],
  ['sessions.create', () => session],
  ['sessions.destroy', ({ id }: { id: string }) => ({ namespace: 'default', id })],
  ['variables.put', () => ({ ...variable, items, cas: 0 })],
  ['variables.put', () => ({ ...variable, items, cas: 0 })],
  ['variables.delete', () => ({ ...variable, cas: 1 })],
  ['variables.delete', () => ({ ...variable, cas: null })],
  ['namespaces.put', () => ({ name: 'other', description: '', meta: [] })],
  ['namespaces.delete', () => ({ name: 'other' })],
  ['namespaces.delete', () => ({ name: 'other' })],
  ['acl.putPolicy', () => policy],
  ['acl.putPolicy', () => ({ ...policy, isNew: true })],
  ['acl.putRole', () => ({ name: 'r', description: '', policies: ['p'], isNew: true })],
  ['acl.putRole', () => ({ name: 'r', description: '', policies: ['p'] })],
  ['acl.putRole', () => ({ name: 'r', description: '', policies: ['none'] })],
  ['acl.deleteRole', () => ({ name: 'r' })],
  ['acl.putTokenRole', () => ({ name: 'r', changes: { orphan: true } })],
  ['acl.deleteTokenRole', () => ({ name: 'r' })],
  ['acl.deletePolicy', () => ({ name: 'p' })],
  ['acl.deletePolicy', () => ({ name: 'p' })],
  ['orchestrator.writeConfig', () => ({ at, config: orchestrator, reviewer: 'x' })],
  ['orchestrator.writeRole', () => ({ at, name: 'till', change: bound })],
  ['orchestrator.writeRole', () => ({ at, name: 'till', change: { tokens: {} } })],
  ['orchestrator.deleteRole', () => ({ at, name: 'till' })],
  ['ldap.writeConfig', () => ({ at: ldap, change: { plain: {}, tokens: {}, bindpass: 'secret' } })],
  ['ldap.writeGroup', () => ({ at: ldap, name: 'g', policies: ['p'] })],
  ['ldap.writeUser', () => ({ at: ldap, name: 'u', policies: ['p'], groups: ['g'] })],
  ['ldap.deleteGroup', () => ({ at: ldap, name: 'g' })],
  ['ldap.deleteUser', () => ({ at: ldap, name: 'u' })],
  ['ldap.writeUser', () => ({ at: { ...ldap, id: 'gone' }, name: 'u', policies: [], groups: [] })],
  ['logins.enable', () => ({ path: 'second', type: 'ldap' })],
  ['logins.enable', () => ({ path: 'second', type: 'ldap' })],
  ['logins.tune', () => ({ path: 'ldap', maxLeaseTtlMs: 1_000 })],
  ['logins.tune', () => ({ path: 'none' })],
  ['logins.disable', () => ({ path: 'ldap' })],
  ['logins.disable', () => ({ path: 'ldap' })],
  ['entities.delete', () => ({ id: 'e' })],
  ['keyring.rotate', () => ({})],
  ['jobs.register', () => ({ namespace: 'default', job, enforceIndex: null })],
  ['jobs.register', () => ({ namespace: 'default', job, enforceIndex: 0 })],
  ['jobs.evaluate', () => web],
  ['jobs.scale', () => ({ ...scaled, count: 2 })],
  ['jobs.revert', () => ({ ...web, version: 0, enforceVersion: 1 })],
  ['jobs.stop', () => ({ ...web, purge: false })],
  ['jobs.scale', () => ({ ...scaled, count: 3 })],
  ['jobs.register', () => ({ namespace: 'default', job: nightly, enforceIndex: null })],
  ['jobs.force', () => ({ namespace: 'default', id: 'nightly' })],
  ['jobs.register', () => ({ namespace: 'default', job: encode, enforceIndex: null })],
  ['jobs.dispatch', () => ({ ...dispatched, token: 'once' })],
  ['jobs.dispatch', () => ({ ...dispatched, token: 'once' })],
  ['nodes.eligibility', () => ({ id: machineId, eligible: false })],
  ['nodes.eligibility', () => ({ id: machineId, eligible: false })],
  ['nodes.drain', () => ({ id: machineId, spec: drain, markEligible: false, meta: [] })],
  ['nodes.eligibility', () => ({ id: machineId, eligible: true })],
  ['nodes.evaluate', () => ({ id: machineId })],
  ['nodes.setBrake', () => ({ settings: defaultBrake, cas: null })],
  ['nodes.releaseBrake', () => ({})],
  ['catalog.deregister', () => ({ node: 'n1', serviceId: null, checkId: null, namespace: null })],
]

/** Their cases need rows that other methods make. */
const elsewhere = [
  'acl.deleteToken',
  'acl.updateToken',
  'autopilot.set',
  'allocations.judge',
  'allocations.stop',
  'deployments.fail',
  'deployments.pause',
  'deployments.promote',
]
/** It proposes by another way than its context: it is asked again, which does no harm. */
const again = ['sessions.renew']

type Ended = { readonly value: unknown } | { readonly refused: unknown }

async function ended(run: () => Promise<unknown>): Promise<Ended> {
  try {
    return { value: await run() }
  } catch (error) {
    const { code, message } = error as { readonly code: string; readonly message: string }
    return { refused: { code, message } }
  }
}

void t.test('repeatable methods answer again as they did', async (t) => {
  const server = await serverOfOne(t, { acl: { enabled: true } })
  const { machine, composed } = server
  const options = {
    clock: systemClock,
    log: silentLogger,
    state: machine,
    authorizer: allowAll,
    services: server.services,
  }
  const methods = new Map(
    composed.methods
      .filter((method): method is AnyLeaderMethod => method.kind === 'leader')
      .map((method) => [method.name, method]),
  )
  await server.propose({ type: 'nodes.register', args: registeredNode })
  let made: unknown = null
  for (const [name, argsOf] of cases) {
    const method = methods.get(name)
    if (method === undefined) throw new Error(`there is no ${name}`)
    const args = argsOf(made as never) as never
    const parts: NamedCommand[] = []
    const proposer = {
      propose: async (command: { readonly type: string; readonly args: unknown }) => {
        const { index, outcome } = await server.propose(command)
        parts.push({ name: 'w', type: command.type, index, outcome })
        return { index, outcome }
      },
    }
    const permissions = { may: () => true }
    const context = new MethodContext(options, proposer, permissions, caller, signal, {})
    const first = await ended(() => method.run(context, args))
    context.close()
    const { appliedIndex } = machine
    const second = await ended(() => replay(options, { method, args, caller, signal, parts }))
    t.ok(parts.length > 0, `${name} proposes`)
    t.same(second, first, name)
    t.equal(machine.appliedIndex, appliedIndex, 'and writes nothing')
    made = 'value' in first ? first.value : null
  }
  const repeatable = [...methods.values()].filter((method) => method.repeatable === true)
  const tried = new Set([...cases.map(([name]) => name), ...elsewhere, ...again])
  t.same(repeatable.map(({ name }) => name).sort(), [...tried].sort(), 'those are all')
})
