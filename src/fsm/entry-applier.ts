/** One committed entry into a batch: decoded, loaded, applied, with what follows from it. */
import { setImmediate } from 'node:timers/promises'
import { assertNever } from '../lib/assert.ts'
import type { Configuration } from '../raft/core/message.ts'
import type { Entry } from '../raft/state-machine.ts'
import type { AppliedCommands } from './applied-commands.ts'
import type { Batch } from './batch.ts'
import type { CommandCodec } from './codec.ts'
import type { AnyCommandDefinition, Change } from './domain.ts'
import type { Reactions } from './reactions.ts'
import type { StateCommand } from './restore.ts'
import type { Tables } from './table.ts'
import type { BatchReader } from './view.ts'

/** Some milliseconds of work. */
const changesPerTurn = 256

export type Definition = AnyCommandDefinition | StateCommand<unknown>

export type EntryApplierOptions = {
  readonly codec: CommandCodec<Definition>
  readonly tables: Tables
  /** Told of each command. */
  readonly commands: AppliedCommands<Definition>
  readonly reactions: Reactions
  readonly decodeConfiguration: (data: Uint8Array) => Configuration
}

export class EntryApplier {
  readonly #options: EntryApplierOptions

  constructor(options: EntryApplierOptions) {
    this.#options = options
  }

  /** The outcome, or a promise of it only where `load` returned one: a microtask per entry would be a large part of its cost. */
  apply(entry: Entry, batch: Batch, reader: BatchReader): unknown {
    switch (entry.kind) {
      case 'noop':
        return undefined
      case 'configuration':
        batch.setConfiguration({
          index: entry.index,
          configuration: this.#options.decodeConfiguration(entry.data),
        })
        return undefined
      case 'command':
        return this.#command(entry, batch, reader)
      default:
        return assertNever(entry.kind)
    }
  }

  #command({ index, data }: Entry, batch: Batch, reader: BatchReader): unknown {
    const { codec, tables, commands, reactions } = this.#options
    const decoded = codec.decode(data)
    const { definition, args } = decoded
    if ('run' in definition) {
      const outcome = definition.run({ batch, tables, index }, args as never)
      commands.applied(decoded, { index, args, outcome })
      return outcome
    }
    const applyLoaded = (loaded: never): unknown => {
      const { changes, outcome, happened } = definition.apply({ index }, args as never, loaded)
      if (happened === undefined || happened.facts.length === 0) {
        if (definition.quiet === true) batch.changeQuietly(index, changes)
        else batch.change(index, changes)
        commands.applied(decoded, { index, args, outcome })
        return outcome
      }
      const { nowMs, facts } = happened
      return reactions.follow(reader, { index, nowMs }, facts).then(async (followed) => {
        batch.change(index, changes)
        await changeInTurns(batch, index, followed.changes)
        batch.marked(index, followed.marked)
        commands.applied(decoded, { index, args, outcome })
        return outcome
      })
    }
    const loaded = definition.load(reader, args as never)
    return loaded instanceof Promise
      ? loaded.then((value) => applyLoaded(value as never))
      : applyLoaded(loaded as never)
  }
}

/** What follows from facts may be much: the batch is invisible until it is whole, so reads have their turns meanwhile. */
async function changeInTurns(
  batch: Batch,
  index: number,
  changes: readonly Change[],
): Promise<void> {
  for (let from = 0; from < changes.length; from += changesPerTurn) {
    if (from > 0) await setImmediate()
    batch.change(index, changes.slice(from, from + changesPerTurn))
  }
}
