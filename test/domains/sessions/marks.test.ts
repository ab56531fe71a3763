/** What may happen to things whose end is still being written: a check flaps, a key is locked again, a namespace goes. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { keyOf } from '../../../src/domains/kv/queries.ts'
import { keys } from '../../../src/domains/kv/table.ts'
import { domains } from '../../../src/domains/registry.ts'
import { sessionOf } from '../../../src/domains/sessions/queries.ts'
import { commandVersion } from '../../../src/fsm/codec.ts'
import { hasMarks } from '../../../src/fsm/fact.ts'
import { openMachine, type Machine } from '../../../src/fsm/machine.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import { decodeConfiguration } from '../../../src/raft/core/membership.ts'
import { check, node } from '../catalog/catalog-machine.ts'

const nowMs = 1_800_000_000_000

class Marked {
  readonly machine: Machine

  constructor(machine: Machine) {
    this.machine = machine
  }

  /** Entries look at `rowsMax` rows. The node `box` has the check `disk`. */
  static async open(t: Test, rowsMax: number): Promise<Marked> {
    const folder = await mkdtemp(join(tmpdir(), 'muster-marks-'))
    const machine = await openMachine({
      folder: join(folder, 'state'),
      domains,
      decodeConfiguration,
      clock: systemClock,
      logger: silentLogger,
      cascadeRowsMax: rowsMax,
    })
    t.teardown(async () => {
      await machine.close()
      await rm(folder, { recursive: true, force: true })
    })
    const marked = new Marked(machine)
    await marked.apply('state.raiseVersion', { version: commandVersion })
    await marked.apply('namespaces.put', { name: 'team', description: '', meta: [] })
    await marked.disk('passing')
    return marked
  }

  async apply(type: string, args: unknown): Promise<unknown> {
    const { machine } = this
    const data = machine.encodeCommand({ type, args })
    const index = machine.appliedIndex + 1
    const [outcome] = await machine.apply([{ index, term: 1, kind: 'command', data }])
    return outcome
  }

  async disk(status: 'passing' | 'critical'): Promise<void> {
    const checks = [check('disk', status)]
    const args = { node: node('box'), skipNodeUpdate: false, service: null, checks, nowMs }
    await this.apply('catalog.register', args)
  }

  create(id: string, behavior: 'release' | 'delete', namespace = 'default'): Promise<unknown> {
    return this.apply('sessions.create', {
      namespace,
      id,
      name: '',
      node: 'box',
      ttl: '',
      checks: null,
      lockDelayNs: '0',
      behavior,
      nodeChecks: ['disk'],
      serviceChecks: null,
      token: null,
    })
  }

  write(...operations: readonly object[]): Promise<unknown> {
    return this.apply('kv.write', { operations, fence: null, nowMs })
  }

  end(id: string, namespace = 'default'): Promise<unknown> {
    return this.apply('sessions.end', { places: [{ namespace, id }], nowMs })
  }

  goOn(rowsMax: number): Promise<unknown> {
    return this.apply('state.continueCascades', { rowsMax })
  }

  async finish(): Promise<void> {
    while (hasMarks(this.machine.reader())) await this.goOn(1_000)
  }

  stands(id: string): boolean {
    return sessionOf(this.machine.reader(), { namespace: 'default', id }) !== null
  }

  keyOf(key: string) {
    const { value } = keyOf(this.machine.reader(), { namespace: 'default', key })
    return value === null ? null : value.row
  }
}

function locks(key: string, session: string, namespace = 'default') {
  return { type: 'lock', namespace, key, session, value: Buffer.from('v'), flags: '0' }
}

void t.test(
  'a check that flaps ends each session once, with the failure that concerns it',
  async (t) => {
    const marked = await Marked.open(t, 12)
    const { machine } = marked
    const early = Array.from({ length: 8 }, (_, at) => `early${at}`)
    for (const id of early) {
      await marked.create(id, 'release')
      await marked.write(locks(id, id))
    }
    await marked.disk('critical')
    const first = machine.appliedIndex
    t.ok(hasMarks(machine.reader()), 'rows are left')
    t.match(await marked.create('between', 'release'), { type: 'criticalCheck' })
    await marked.disk('passing')
    t.match(await marked.create('late', 'release'), { type: 'created' })
    await marked.write(locks('late', 'late'))
    await marked.goOn(3)
    t.ok(hasMarks(machine.reader()))
    t.same(
      early.filter((id) => marked.stands(id)),
      [],
      'none comes back when it passes again',
    )
    t.ok(marked.stands('late'), 'nor goes what was made since')
    t.equal(marked.keyOf('late')?.session, 'late')
    await marked.disk('critical')
    const second = machine.appliedIndex
    t.notOk(marked.stands('late'))
    await marked.disk('passing')
    t.match(await marked.create('latest', 'release'), { type: 'created' })
    const compare = (text: string) => {
      for (const id of early) {
        t.match(marked.keyOf(id), { session: null, modifyIndex: first }, `${text}: ${id}`)
      }
      t.match(marked.keyOf('late'), { session: null, modifyIndex: second }, text)
      t.ok(marked.stands('latest'), text)
    }
    t.ok(hasMarks(machine.reader()))
    compare('while rows are left')
    await marked.finish()
    compare('in the end')
  },
)

void t.test(
  'a key locked and deleted again in one write keeps its fencing number, though an end of it was unwritten',
  async (t) => {
    const marked = await Marked.open(t, 5)
    await marked.create('first', 'delete')
    for (const key of ['a', 'b', 'c', 'd']) await marked.write(locks(key, 'first'))
    await marked.create('second', 'release')
    await marked.end('first')
    const { machine } = marked
    const gone = (
      await Promise.all(
        ['a', 'b', 'c', 'd'].map(
          async (key) => [key, machine.reader().get(keys, ['default', key])] as const,
        ),
      )
    ).flatMap(([key, row]) => (row === undefined ? [] : [key]))
    t.ok(gone.length > 0, 'some are gone, and still to be written')
    const key = gone.at(-1) ?? ''
    t.equal(marked.keyOf(key), null)
    const place = { namespace: 'default', key }
    const [before, index] = [
      machine.reader().get(keys, ['default', key]),
      machine.reader().tableIndex(keys),
    ]
    t.match(await marked.write({ type: 'check-not-exists', ...place }), { type: 'done' })
    t.same(
      machine.reader().get(keys, ['default', key]),
      before,
      'what a write only reads is not written',
    )
    t.equal(machine.reader().tableIndex(keys), index)
    t.match(await marked.write(locks(key, 'second'), { type: 'delete', ...place }), {
      type: 'done',
    })
    await marked.finish()
    await marked.write(locks(key, 'second'))
    t.equal(marked.keyOf(key)?.lockIndex, 3, 'the third lock has the third number')
  },
)

void t.test(
  'a namespace whose keys are gone is free, but for very many that are still to be written',
  async (t) => {
    for (const [count, occupied] of [
      [200, false],
      [4_200, true],
    ] as const) {
      const marked = await Marked.open(t, 20)
      await marked.create('s', 'delete', 'team')
      for (let from = 0; from < count; from += 50) {
        await marked.write(
          ...Array.from({ length: 50 }, (_, at) => locks(`k${from + at}`, 's', 'team')),
        )
      }
      const remove = () => marked.apply('namespaces.delete', { name: 'team' })
      t.match(await remove(), { type: 'occupied', by: ['sessions', 'keys'] })
      await marked.end('s', 'team')
      t.ok(hasMarks(marked.machine.reader()), 'rows are left')
      if (occupied) t.match(await remove(), { type: 'occupied', by: ['keys'] })
      if (occupied) await marked.finish()
      t.match(await remove(), { type: 'deleted' }, `${count} keys`)
      await marked.finish()
      const left: unknown[] = []
      for await (const page of marked.machine.reader().pages(keys)) left.push(...page)
      t.same(left, [])
    }
  },
)
