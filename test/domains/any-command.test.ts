/**
 * An entry that cannot be applied stops every server, for good. So whatever a command's schema lets through is applied:
 * here with texts, lists and numbers as large as it allows, over a state that earlier ones left. And what it makes of them is rows
 * that their tables' schemas take: an archive of them can be restored.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from '../support/fast-check.ts'
import t from 'tap'
import type { TSchema } from 'typebox'
import { domains } from '../../src/domains/registry.ts'
import { commandVersion } from '../../src/fsm/codec.ts'
import { openMachine } from '../../src/fsm/machine.ts'
import { codeOf, textOf } from '../../src/lib/errors.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLogger } from '../../src/lib/log.ts'
import { decodeConfiguration } from '../../src/raft/core/membership.ts'
import { amount, seed } from '../support/randomness.ts'
import { sweepRows } from './row-faults.ts'

const commandsOfEach = amount('FUZZ_COMMANDS', { gate: 20, long: 40 })

/** Beyond what any key, and what any row, may hold. */
const longs = [9_000, 800_000]
const names = ['a', 'b', 'default', 'team', '', '*', '\0', '0f3f2b62-1d1c-4a5c-9a55-4c0a1a0a0a0a']
const numbers = [-1, 0, 1, 2, 3, 1_000, 2 ** 53 - 1, 2 ** 64, 1e300]
const listLengthMax = 300
const roundsMax = 20
/** In so many lists there are few values; and how long texts are there. */
const manyWithin = 2
const deepLength = 300

void t.test(`what can be encoded can be applied, FUZZ_SEED=${seed}`, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-commands-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  let number = 0
  const open = () =>
    openMachine({
      folder: join(folder, String((number += 1))),
      domains,
      decodeConfiguration,
      clock: systemClock,
      logger: silentLogger,
    })
  const begin = async () => {
    const machine = await open()
    const raise = { type: 'state.raiseVersion', args: { version: commandVersion } }
    const data = machine.encodeCommand(raise)
    await machine.apply([{ index: 1, term: 1, kind: 'command', data }])
    return machine
  }
  let machine = await begin()
  t.teardown(() => machine.close())
  for (const [type, { args }] of domains.flatMap(({ commands }) => Object.entries(commands))) {
    let encoded = 0
    const property = fc.asyncProperty(valueOf(args), async (args) => {
      let data: Uint8Array
      try {
        data = machine.encodeCommand({ type, args })
      } catch (error) {
        if (codeOf(error) === 'internal' || codeOf(error) === 'too_large') return
        throw error
      }
      encoded += 1
      const index = machine.appliedIndex + 1
      try {
        await machine.apply([{ index, term: 1, kind: 'command', data }])
      } catch (error) {
        // It takes no more entries now, as the server would not.
        await machine.close()
        machine = await begin()
        throw error
      }
    })
    // Few values are within a schema with many members.
    for (let round = 0; round < roundsMax; round += 1) {
      const drawn = { seed: seed + round, numRuns: commandsOfEach, endOnFailure: true }
      const result = await fc.check(property, drawn)
      t.notOk(result.failed, `${type}: ${failureOf(result)}`)
      if (encoded > 0) break
    }
    t.ok(encoded > 0, `${type}: ${encoded} are within the schema`)
    const { faults } = await sweepRows(machine)
    t.same(faults.slice(0, 3), [], `${type}: rows are such as their schemas say`)
  }
})

function failureOf({ errorInstance, counterexample }: fc.RunDetails<[unknown]>): string {
  if (errorInstance === null) return 'all were applied'
  return `${textOf(errorInstance)} ${(JSON.stringify(counterexample) ?? '').slice(0, 300)}`
}

/**
 * What the schema says, more or less: what is beyond it is not encoded. `within`: so many lists, each of which multiplies what is
 * in it.
 */
function valueOf(schema: TSchema, within = 0): fc.Arbitrary<unknown> {
  const { type, properties, items, anyOf } = schema as SchemaParts
  if (anyOf !== undefined) return fc.oneof(...anyOf.map((one) => valueOf(one, within)))
  if ('const' in schema) return fc.constant(schema.const)
  if ('enum' in schema) return fc.constantFrom(...(schema.enum as unknown[]))
  switch (type) {
    case 'object':
      return fc.record(
        Object.fromEntries(
          Object.entries(properties ?? {}).map(([name, member]) => [name, valueOf(member, within)]),
        ),
      )
    case 'array':
      return listOf(schema, items, within)
    case 'string':
      if ('pattern' in schema) return fc.stringMatching(new RegExp(String(schema.pattern)))
      return textOfLength((schema as SchemaParts).maxLength ?? Infinity, within)
    case 'integer':
    case 'number':
      return numberWithin(schema)
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    default:
      return fc.constantFrom(0, 3, 600, 524_288).map((size) => new Uint8Array(size))
  }
}

type SchemaParts = {
  readonly type?: string
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly items?: TSchema | readonly TSchema[]
  readonly anyOf?: readonly TSchema[]
  readonly maxLength?: number
  readonly maxItems?: number
  readonly minimum?: number
  readonly maximum?: number
}

/** Mostly within the bounds: of a record with many numbers all must be, or none of it is encoded. */
function numberWithin({ minimum = -1, maximum = 2 ** 64 }: SchemaParts): fc.Arbitrary<number> {
  const known = [...numbers, maximum]
  const within = known.filter((number) => number >= minimum && number <= maximum)
  return fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...within, maximum) },
    { weight: 1, arbitrary: fc.constantFrom(...known) },
  )
}

function listOf(
  { maxItems = listLengthMax }: SchemaParts,
  items: TSchema | readonly TSchema[] | undefined,
  within: number,
): fc.Arbitrary<unknown[]> {
  if (isTuple(items)) return fc.tuple(...items.map((item) => valueOf(item, within)))
  const item = items === undefined ? fc.constant(null) : valueOf(items, within + 1)
  const few = fc.array(item, { maxLength: Math.min(within < manyWithin ? 3 : 1, maxItems) })
  if (within > 0) return few
  return fc.oneof(
    { weight: 4, arbitrary: few },
    {
      weight: 1,
      arbitrary: item.map((one) =>
        Array.from({ length: Math.min(maxItems, listLengthMax) }, () => one),
      ),
    },
  )
}

function isTuple(items: TSchema | readonly TSchema[] | undefined): items is readonly TSchema[] {
  return Array.isArray(items)
}

/** NUL takes two characters in a key; other letters up to three bytes in a row. */
function textOfLength(lengthMax: number, within: number): fc.Arbitrary<string> {
  const fitting = longs
    .slice(0, Math.max(0, longs.length - within))
    .concat(deepLength)
    .map((length) => Math.min(length, lengthMax))
  return fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...names) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom(...fitting), fc.constantFrom('\0', 'a', '\u20ac'))
        .map(([length, letter]) => letter.repeat(length)),
    },
  )
}
