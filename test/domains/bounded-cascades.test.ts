/**
 * What ends with very much is written in bounded entries. A machine whose entries look at a few rows and one without a bound
 * are given the same random history: whatever readers and commands are shown, they cannot tell them apart.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { aclIndex, allTokens, tokenByAccessor, tokenByHash } from '../../src/domains/acl/queries.ts'
import { aclTokenParents, aclTokens } from '../../src/domains/acl/table.ts'
import { domains } from '../../src/domains/registry.ts'
import { holdsFence } from '../../src/domains/kv/fence-queries.ts'
import { findIn, hasKeys, lockDelayOf } from '../../src/domains/kv/held-queries.ts'
import { listEntries } from '../../src/domains/kv/list.ts'
import { evaluateReads, keyOf } from '../../src/domains/kv/queries.ts'
import { deletionMarks, keys, kvValues, lockDelays, lockMarks } from '../../src/domains/kv/table.ts'
import { kvTopic } from '../../src/domains/kv/topics.ts'
import {
  allSessions,
  hasSessions,
  sessionOf,
  sessionsIndex,
  sessionsOfNode,
} from '../../src/domains/sessions/queries.ts'
import { sessions } from '../../src/domains/sessions/table.ts'
import { commandVersion } from '../../src/fsm/codec.ts'
import type { Command, Reader, Table } from '../../src/fsm/domain.ts'
import { hasMarks } from '../../src/fsm/fact.ts'
import { openMachine, type Machine } from '../../src/fsm/machine.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLogger } from '../../src/lib/log.ts'
import { seededRandom } from '../../src/lib/random.ts'
import type { Entry } from '../../src/raft/core/message.ts'
import { decodeConfiguration } from '../../src/raft/core/membership.ts'
import { wholeList } from '../../src/rpc/list.ts'
import type { QueryContext } from '../../src/rpc/method.ts'
import { transfer } from '../fsm/toy.ts'
import { amount, seed } from '../support/randomness.ts'
import { hashOf, History, keyNames, namespaces, nodes, startMs } from './cascade-history.ts'
import { sweepRows } from './row-faults.ts'

const wholeTree = { ...wholeList, filter: '' }

const histories = amount('FUZZ_HISTORIES', { gate: 1, long: 3 })
const steps = 150

async function machineOf(t: Test, cascadeRowsMax: number): Promise<Machine> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-cascades-'))
  const machine = await openMachine({
    folder: join(folder, 'state'),
    domains,
    decodeConfiguration,
    clock: systemClock,
    logger: silentLogger,
    cascadeRowsMax,
  })
  t.teardown(async () => {
    await machine.close()
    await rm(folder, { recursive: true, force: true })
  })
  return machine
}

async function apply(machine: Machine, command: Command | null): Promise<unknown> {
  const index = machine.appliedIndex + 1
  const entry: Entry =
    command === null
      ? { index, term: 1, kind: 'noop', data: Buffer.alloc(0) }
      : { index, term: 1, kind: 'command', data: machine.encodeCommand(command) }
  const [outcome] = await machine.apply([entry])
  return outcome
}

const goOn: Command = { type: 'state.continueCascades', args: { rowsMax: 100 } }

type Shown = { readonly value: unknown; readonly index: number }
type Query = { readonly name: string; readonly read: (reader: Reader) => Promise<Shown> | Shown }

const context = {
  signal: { aborted: false },
  may: () => true,
} as unknown as QueryContext

async function all<Row>(pages: AsyncIterable<readonly Row[]>): Promise<readonly Row[]> {
  const rows: Row[] = []
  for await (const page of pages) rows.push(...page)
  return rows
}

/** Of all that hangs on what ends. Sessions are those that were made ever. */
function queriesOf({ ids, tokens: accessors }: History): readonly Query[] {
  const inTokens = (value: unknown, reader: Reader) => ({
    value,
    index: aclIndex(reader, 'tokens'),
  })
  const inSession = (value: unknown, reader: Reader) => ({ value, index: sessionsIndex(reader) })
  return [
    ...namespaces.flatMap((namespace) => [
      ...keyNames.map((key) => ({
        name: `key ${namespace} ${key}`,
        read: (reader: Reader) => keyOf(reader, { namespace, key }),
      })),
      ...['', 'd', 'd/', 'd/e', 'x'].map((key) => ({
        name: `list ${namespace} ${key}`,
        read: async (reader: Reader) => {
          const { value, index } = await listEntries(reader, { namespace, key }, wholeTree, context)
          return { value: await all(value), index }
        },
      })),
      {
        name: `sessions of ${namespace}`,
        read: async (reader: Reader) =>
          inSession(await all(allSessions(reader, namespace)), reader),
      },
    ]),
    ...nodes.map((name) => ({
      name: `sessions on ${name}`,
      read: async (reader: Reader) =>
        inSession(await all(sessionsOfNode(reader, name, '*')), reader),
    })),
    {
      name: 'tokens',
      read: async (reader: Reader) => inTokens(await all(allTokens(reader)), reader),
    },
    // Older ones are in the list.
    ...accessors.slice(-12).flatMap((accessor) => [
      {
        name: `token ${accessor}`,
        read: async (reader: Reader) => inTokens(await tokenByAccessor(reader, accessor), reader),
      },
      {
        name: `token by the hash of ${accessor}`,
        read: (reader: Reader) => inTokens(tokenByHash(reader, hashOf(accessor)), reader),
      },
    ]),
    ...ids.map((id) => ({
      name: `session ${id}`,
      read: (reader: Reader) => inSession(sessionOf(reader, { namespace: 'default', id }), reader),
    })),
  ]
}

/** What has no index to wait for. */
async function alsoShown(reader: Reader): Promise<unknown> {
  const shown = kvTopic.shown(reader)
  const events = (await all(reader.pages(keys))).flatMap((row) => shown(row) ?? [])
  const trees = namespaces.map((namespace) => ({ type: 'get-tree' as const, namespace, key: 'd' }))
  const others = []
  for (const namespace of namespaces) {
    others.push(await hasKeys(reader, namespace), await hasSessions(reader, namespace))
    for (const key of keyNames) {
      others.push(lockDelayOf(reader, { namespace, key }))
      const fences = [1, 2, 3].map((lockIndex) => ({ namespace, key, lockIndex }))
      others.push(fences.map((fence) => holdsFence(reader, fence)))
    }
  }
  return { events, trees: await evaluateReads(reader, trees), others }
}

async function onView<Result>(machine: Machine, read: (reader: Reader) => Promise<Result>) {
  const view = machine.view()
  try {
    return { result: await read(view), touched: view.touched(), index: view.appliedIndex }
  } finally {
    view.close()
  }
}

/** Into a machine whose log is shorter. */
async function restore(from: Machine, to: Machine): Promise<void> {
  const rows = from.exportRows()
  const commands: Command[] = [
    { type: 'state.raiseVersion', args: { version: commandVersion } },
    { type: 'state.restoreBegin', args: { id: 'r' } },
  ]
  let number = 0
  for await (const block of rows.blocks()) {
    commands.push({ type: 'state.restoreChunk', args: { id: 'r', number, rows: block } })
    number += 1
  }
  const args = { id: 'r', rows: rows.rows, digest: rows.digest }
  rows.close()
  for (const command of commands) await apply(to, command)
  t.match(await apply(to, { type: 'state.restoreCommit', args }), { ok: true })
}

/** Keys and who holds them, and sessions: what a restore keeps. */
async function holders(machine: Machine): Promise<unknown> {
  const { result } = await onView(machine, async (reader) => {
    const find = findIn(reader)
    const found = (await all(reader.pages(keys))).flatMap((stored) => find(stored).row ?? [])
    return [found.map(({ key, session }) => [key, session]), await all(allSessions(reader, '*'))]
  })
  return result
}

const written = [aclTokens, aclTokenParents, sessions, keys, kvValues, lockDelays] as const

async function rowsOf(machine: Machine): Promise<unknown> {
  const { result } = await onView(machine, async (reader) => {
    const rows: unknown[] = []
    for (const table of written) rows.push(await all(reader.pages(table as Table<unknown>)))
    // Those of late deletions have the index of the entry that wrote them.
    for (const { namespace, key, lockIndex } of await all(reader.pages(lockMarks))) {
      rows.push([namespace, key, lockIndex])
    }
    for (const { namespace, scope, directory } of await all(reader.pages(deletionMarks))) {
      rows.push([namespace, scope, directory])
    }
    return rows
  })
  return result
}

/** Readers that wait are woken in turns of their own. */
async function allWoken(machine: Machine): Promise<void> {
  for (let before = -1; before < machine.watchStats().wakes;) {
    before = machine.watchStats().wakes
    await setImmediate()
  }
}

void t.test(`no reader sees a state in between, FUZZ_SEED=${seed}`, async (t) => {
  let marked = 0
  for (let number = 0; number < histories; number += 1) {
    const random = seededRandom(seed + number)
    const pick = (most: number) => Math.floor(random.next() * most)
    const whole = await machineOf(t, Infinity)
    const bounded = await machineOf(t, 1 + pick(20))
    const history = new History(pick)
    for (const command of history.begin()) await both(command)
    let before = new Map<string, Shown & { woken: boolean }>()
    for (let step = 0; step < steps; step += 1) {
      const isPause = pick(4) === 0
      const command = isPause ? null : history.next()
      const name = `history ${number}, step ${step}: ${command?.type ?? 'pause'}`
      if (command === null) {
        await apply(whole, null)
        await apply(bounded, goOn)
      } else {
        const [expected, outcome] = await both(command)
        same(outcome, expected, `${name}, outcome`)
      }
      if (hasMarks(bounded.reader())) marked += 1
      await allWoken(bounded)
      same(await alsoShown(bounded.reader()), await alsoShown(whole.reader()), name)
      const after: typeof before = new Map()
      for (const { name: query, read } of queriesOf(history)) {
        const expected = await onView(whole, async (reader) => read(reader))
        const found = await onView(bounded, async (reader) => read(reader))
        const { value, index } = found.result
        same(value, expected.result.value, `${name}, ${query}`)
        const last = before.get(query)
        if (last !== undefined) {
          const text = `${name}, ${query}: index ${last.index} to ${index}`
          if (index < last.index) t.fail(`${text}: it fell`)
          const isSame = JSON.stringify(last.value) === JSON.stringify(value)
          if (!isSame && index <= last.index) t.fail(`${text}: it did not rise`)
          if (!isSame && !last.woken) t.fail(`${text}: who waits was not woken`)
        }
        const shown = { value, index, woken: false }
        bounded.park(found.touched, found.index, () => (shown.woken = true))
        after.set(query, shown)
      }
      before = after
    }
    const other = await machineOf(t, 2)
    await transfer(await bounded.snapshot(), other)
    same(await alsoShown(other.reader()), await alsoShown(bounded.reader()), 'a snapshot')
    const restored = await machineOf(t, 2)
    await restore(bounded, restored)
    same(await holders(restored), await holders(bounded), 'an archive')
    while (hasMarks(restored.reader())) await apply(restored, goOn)
    same(await holders(restored), await holders(bounded), 'an archive, in the end')
    t.same((await sweepRows(bounded)).faults, [], 'rows are such as their schemas say')
    while (hasMarks(bounded.reader())) await apply(bounded, goOn)
    t.same(await rowsOf(bounded), await rowsOf(whole), `history ${number}: in the end`)

    async function both(command: Command): Promise<readonly [unknown, unknown]> {
      return [await apply(whole, command), await apply(bounded, command)]
    }
    function same(found: unknown, expected: unknown, text: string): void {
      if (JSON.stringify(found) !== JSON.stringify(expected)) t.same(found, expected, text)
    }
  }
  t.ok(marked > histories, `${marked} steps with marks`)
})

void t.test(
  'what a restored archive brings ends too, though it was made at a later index',
  async (t) => {
    const from = await machineOf(t, Infinity)
    const history = new History(() => 0)
    const [raise, ...begin] = history.begin()
    for (const command of [raise, ...Array.from({ length: 300 }, () => null), ...begin]) {
      await apply(from, command ?? null)
    }
    for (const rowsMax of [3, Infinity]) {
      const machine = await machineOf(t, rowsMax)
      await restore(from, machine)
      t.ok(machine.appliedIndex < 300)
      const before = (await holders(machine)) as readonly [readonly unknown[], readonly unknown[]]
      t.ok(before[1].length > 3)
      const args = { node: 'n1', serviceId: null, checkId: null, nowMs: startMs }
      await apply(machine, { type: 'catalog.deregister', args })
      t.equal(hasMarks(machine.reader()), rowsMax === 3)
      const free = [[], []]
      const shown = async () => {
        const [held, standing] = (await holders(machine)) as readonly (readonly unknown[])[]
        return [held?.filter((one) => (one as readonly unknown[])[1] !== null), standing]
      }
      t.same(await shown(), free, 'at once')
      while (hasMarks(machine.reader())) await apply(machine, goOn)
      t.same(await shown(), free, 'in the end')
      const { result } = await onView(machine, (reader) => all(reader.pages(sessions)))
      t.same(result, [])
    }
  },
)
