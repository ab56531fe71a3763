/** A state machine with the catalog alone, and what its entries say is lost. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import {
  catalogCommands,
  type Deregistration,
  type MemberUpdate,
  type Registration,
} from '../../../src/domains/catalog/commands.ts'
import { checkLost, nodeLost, type Loss } from '../../../src/domains/catalog/fact-model.ts'
import type { CheckSpec, NodeSpec, ServiceSpec } from '../../../src/domains/catalog/model.ts'
import { catalogChecks, catalogNodes, catalogServices } from '../../../src/domains/catalog/table.ts'
import type { Command, Happening, Reader } from '../../../src/fsm/domain.ts'
import { openMachine } from '../../../src/fsm/machine.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import type { Proposed } from '../../../src/rpc/consensus.ts'
import { decodeConfiguration } from '../../../src/raft/core/membership.ts'

export const nowMs = 1_800_000_000_000

/** Commands that write down the facts that they say. */
function toldCommands(told: (index: number, losses: readonly Loss[]) => void) {
  return Object.fromEntries(
    Object.entries(catalogCommands).map(([type, command]) => {
      const apply: typeof command.apply = (context, args, loaded) => {
        const applied = command.apply(context, args, loaded)
        told(context.index, lossesOf(applied.happened?.facts ?? []))
        return applied
      }
      return [type, { ...command, apply }]
    }),
  )
}

function lossesOf(facts: readonly Happening[]): readonly Loss[] {
  const losses = new Map<string, string[] | 'all'>()
  for (const { fact, payload } of facts) {
    const { node, check } = payload as { readonly node: string; readonly check: string }
    const before = losses.get(node) ?? []
    if (fact === nodeLost || before === 'all') losses.set(node, 'all')
    else if (fact === checkLost) losses.set(node, [...before, check])
  }
  return [...losses].map(([node, checkIds]) => ({ node, checkIds }))
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
  let last: { readonly index: number; readonly losses: readonly Loss[] } = { index: 0, losses: [] }
  const machine = await openMachine({
    folder: join(folder, 'state'),
    domains: [
      {
        name: 'catalog',
        tables: [catalogNodes, catalogServices, catalogChecks],
        commands: toldCommands((index, losses) => (last = { index, losses })),
      },
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
    losses: () => (last.index === machine.appliedIndex ? last.losses : []),
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
