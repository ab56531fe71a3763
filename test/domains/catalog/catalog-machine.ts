/** A state machine with the catalog alone, and a cascade that writes down what it is told. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { Type } from 'typebox'
import type { Loss, LossCascade } from '../../../src/domains/catalog/cascade-model.ts'
import {
  catalogCommands,
  type Deregistration,
  type MemberUpdate,
  type Registration,
} from '../../../src/domains/catalog/commands.ts'
import type { CheckSpec, NodeSpec, ServiceSpec } from '../../../src/domains/catalog/model.ts'
import { catalogChecks, catalogNodes, catalogServices } from '../../../src/domains/catalog/table.ts'
import { put } from '../../../src/domains/define.ts'
import type { Command, Reader, Table } from '../../../src/fsm/domain.ts'
import { openMachine } from '../../../src/fsm/machine.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import type { Proposed } from '../../../src/rpc/consensus.ts'
import { decodeConfiguration } from '../../../src/raft/core/membership.ts'

export const nowMs = 1_800_000_000_000

type Told = { readonly index: number; readonly nowMs: number; readonly losses: readonly Loss[] }

const told: Table<Told> = { name: 'told', row: Type.Unknown(), key: (row) => [row.index] }

const cascade: LossCascade = {
  load: async (_reader, losses) => losses,
  apply: ({ index, nowMs: at }, losses: readonly Loss[]) => [
    put(told, { index, nowMs: at, losses }),
  ],
}

export type CatalogMachine = {
  reader(): Reader
  register(args: Partial<Registration> & { readonly node: NodeSpec }): Promise<unknown>
  deregister(args: Partial<Deregistration> & { readonly node: string }): Promise<unknown>
  members(members: readonly MemberUpdate[]): Promise<unknown>
  /** Any command of the catalog. */
  propose(command: Command): Promise<Proposed>
  view(): Reader & { close(): void }
  index(): number
  /** What the last entry lost; none when it lost nothing. */
  losses(): readonly Loss[]
}

export async function catalogMachine(t: Test): Promise<CatalogMachine> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-catalog-'))
  const machine = await openMachine({
    folder: join(folder, 'state'),
    domains: [
      {
        name: 'catalog',
        tables: [catalogNodes, catalogServices, catalogChecks],
        commands: catalogCommands([cascade]),
      },
      { name: 'told', tables: [told], commands: {} },
    ],
    decodeConfiguration,
    clock: systemClock,
    logger: silentLogger,
  })
  t.teardown(async () => {
    await machine.close()
    await rm(folder, { recursive: true, force: true })
  })
  // An agent that runs on its own and a test may propose at the same time; the log has an order.
  let turn: Promise<unknown> = Promise.resolve()
  const enter = (type: string, args: unknown): Promise<Proposed> => {
    const entered = turn.then(async () => {
      const index = machine.appliedIndex + 1
      const data = machine.encodeCommand({ type, args })
      const [outcome] = await machine.apply([{ index, term: 1, kind: 'command', data }])
      return { index, outcome }
    })
    turn = entered.catch(() => {})
    return entered
  }
  const apply = async (type: string, args: unknown): Promise<unknown> =>
    (await enter(type, args)).outcome
  return {
    reader: () => machine.reader(),
    view: () => machine.view(),
    propose: ({ type, args }) => enter(type, args),
    index: () => machine.appliedIndex,
    register: (args) =>
      apply('catalog.register', {
        skipNodeUpdate: false,
        service: null,
        checks: [],
        nowMs,
        ...args,
      }),
    deregister: (args) =>
      apply('catalog.deregister', { serviceId: null, checkId: null, nowMs, ...args }),
    members: (members) => apply('catalog.members', { members, nowMs }),
    losses: () => machine.reader().get(told, [machine.appliedIndex])?.losses ?? [],
  }
}

export function node(name: string, spec: Partial<NodeSpec> = {}): NodeSpec {
  return {
    name,
    id: null,
    address: '192.0.2.1',
    datacenter: 'dc1',
    taggedAddresses: [],
    meta: [],
    ...spec,
  }
}

export function service(id: string, spec: Partial<ServiceSpec> = {}): ServiceSpec {
  return {
    id,
    name: id,
    tags: [],
    address: '',
    port: 0,
    meta: [],
    taggedAddresses: [],
    weights: { passing: 1, warning: 1 },
    enableTagOverride: false,
    ...spec,
  }
}

export function check(
  id: string,
  status: CheckSpec['status'],
  spec: Partial<CheckSpec> = {},
): CheckSpec {
  return {
    id,
    name: id,
    status,
    notes: '',
    output: '',
    serviceId: '',
    type: '',
    definition: '{}',
    ...spec,
  }
}
