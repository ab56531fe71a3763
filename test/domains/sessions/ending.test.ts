import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { domains } from '../../../src/domains/registry.ts'
import { catalogNodes } from '../../../src/domains/catalog/table.ts'
import { defineCommand, put } from '../../../src/domains/define.ts'
import { keys } from '../../../src/domains/kv/table.ts'
import { createSession, type CreateSession } from '../../../src/domains/sessions/commands.ts'
import { sessions } from '../../../src/domains/sessions/table.ts'
import { openMachine, type Machine } from '../../../src/fsm/machine.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import { decodeConfiguration } from '../../../src/raft/core/membership.ts'

const nowMs = 1_800_000_000_000

/** What stands in for the domain that registers nodes. */
const others = {
  name: 'others',
  tables: [],
  commands: {
    'others.node': defineCommand({
      type: 'others.node',
      args: Type.Object({ name: Type.String() }),
      load: () => null,
      apply: ({ index }, { name }) => ({
        changes: [
          put(catalogNodes, {
            name,
            id: null,
            address: '10.0.0.1',
            datacenter: 'dc1',
            taggedAddresses: [],
            meta: [],
            createIndex: index,
            modifyIndex: index,
          }),
        ],
        outcome: null,
      }),
    }),
  },
}

async function machineOf(t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'muster-sessions-'))
  const machine = await openMachine({
    folder,
    domains: [...domains, others],
    decodeConfiguration,
    clock: systemClock,
    logger: silentLogger,
  })
  t.teardown(async () => {
    await machine.close()
    await rm(folder, { recursive: true, force: true })
  })
  return machine
}

async function apply(machine: Machine, type: string, args: unknown): Promise<unknown> {
  const data = machine.encodeCommand({ type, args })
  const index = machine.appliedIndex + 1
  const [outcome] = await machine.apply([{ index, term: 1, kind: 'command', data }])
  return outcome
}

const token = (accessor: string) => ({
  hash: `hash of ${accessor}`,
  accessor,
  name: '',
  description: '',
  type: 'management',
  policies: [],
  roles: [],
  createTimeMs: nowMs,
  expirationTimeMs: null,
})

const session = (id: string, token: string | null): CreateSession => ({
  namespace: 'default',
  id,
  name: '',
  node: 'box',
  lockDelayNs: '1000000000',
  behavior: 'release',
  ttl: '',
  nodeChecks: [],
  serviceChecks: null,
  checks: null,
  token,
})

void t.test('revoking a token ends its sessions and frees their locks in one entry', async (t) => {
  const machine = await machineOf(t)
  await apply(machine, 'others.node', { name: 'box' })
  const heard: string[] = []
  machine.onCommand(createSession, ({ outcome }) => {
    if (outcome.type === 'created') heard.push(`created ${outcome.row.id}`)
  })
  for (const accessor of ['t1', 't2']) await apply(machine, 'acl.createToken', token(accessor))
  const [a, b, c] = ['a', 'b', 'c']
  for (const [id, token] of [
    [a, 't1'],
    [b, 't2'],
    [c, null],
  ] as const) {
    await apply(machine, 'sessions.create', session(id, token))
    const lock = { namespace: 'default', key: id, value: Buffer.from(id), flags: '0' }
    const operations = [{ type: 'lock', ...lock, session: id }]
    await apply(machine, 'kv.write', { operations, fence: null, nowMs })
  }
  t.same(heard, ['created a', 'created b', 'created c'], 'and whoever listens is told of each')
  const revoked = { accessors: ['t1', 'unknown'], nowMs, expiredOnly: false }
  await apply(machine, 'acl.deleteTokens', revoked)
  const reader = machine.reader()
  const holder = (key: string) => reader.get(keys, ['default', key])?.session
  t.equal(reader.get(sessions, ['default', a]), undefined)
  t.ok(reader.get(sessions, ['default', b]))
  t.same([holder(a), holder(b), holder(c)], [null, b, c])
  t.equal(reader.get(keys, ['default', a])?.modifyIndex, machine.appliedIndex)
  t.match(
    await apply(machine, 'sessions.create', session('late', 't1')),
    { type: 'tokenIsGone' },
    'and a session that was on its way comes too late',
  )
})
