/**
 * What follows from facts, inside the entry that they came about with: the rows that hang on a fact change, further facts come
 * about, until nothing follows any more. All reading sees the state before the entry.
 *
 * The reactions to a fact run in the order of the domains; what follows from a few rows comes before the next ones. An entry
 * looks at `cascadeRowsMax` rows. The facts that it has not finished then are stored as marks: readers honour a mark at once,
 * as if all was written, and `state.continueCascades` writes the rest, as much in each entry (decision 12).
 *
 * Invariants: an entry leaves at most so many marks as it was given facts, and a few for each fact that led to the row it
 * stopped at. All that one entry writes for reactions is of one moment. Each entry looks at one row at least, or ends a scan.
 */
import { Type } from 'typebox'
import type { Static } from 'typebox'
import { assert } from '../lib/assert.ts'
import type {
  AnyCommandDefinition,
  AnyReaction,
  Change,
  Domain,
  Fact,
  Happening,
  Key,
  Mark,
  Moment,
  Reader,
  Table,
} from './domain.ts'
import {
  continueCascades,
  marksVersion,
  momentOf,
  momentsMax,
  openMarks,
  restoredRowsVersion,
  smallCascadesVersion,
} from './fact.ts'
import { IndexGaps } from './index-gaps.ts'
import { encodeKey } from './keys.ts'

/**
 * Rows that the reactions of one entry look at. Part of what an entry means: another number needs a command version of its
 * own.
 */
const cascadeRowsMax = 256

/** Of programs before `smallCascadesVersion`. */
const largeCascadeRowsMax = 1_024

/** A scan costs as much as so many rows. */
const scanRows = 4

/** Rows that a reaction is given together, and where facts may follow. */
const rowsTogetherMax = 256
const emittersTogetherMax = 32

/** Scans begun at a time: most find little, and wait for the disk for longer than they work. */
const scansMax = 32

/** `rowsMax`: of this entry, where that is less than of others. */
const Continue = Type.Object({ rowsMax: Type.Integer({ minimum: 1, maximum: 1_000_000 }) })

export type Followed = {
  readonly changes: readonly Change[]
  /** Tables of which readers see another content now than is written. */
  readonly marked: ReadonlySet<string>
}

export type Continued = {
  readonly changes: readonly Change[]
  /** There may be more. */
  readonly open: boolean
}

/** The tables of the domains, and those that keep marks. */
export function tablesOf(domains: readonly Domain[]): readonly Table<never>[] {
  const marks = new Set(reactionsOf(domains).map(({ on }) => on.marks))
  return [...domains.flatMap(({ tables }) => tables), ...marks, openMarks]
}

function reactionsOf(domains: readonly Domain[]): readonly AnyReaction[] {
  return domains.flatMap(({ reactions }) => reactions ?? [])
}

export class Reactions {
  readonly #byFact = new Map<string, AnyReaction[]>()
  /** In the order of the domains that react first. */
  readonly #facts: readonly Fact<never>[]
  /** Null: the program's. */
  readonly #rowsMax: number | null

  constructor(domains: readonly Domain[], rowsMax: number | null = null) {
    const facts = new Set<Fact<never>>()
    for (const reaction of reactionsOf(domains)) {
      const { name } = reaction.on
      const known = this.#byFact.get(name) ?? []
      assert(
        known.every((other) => other.on === reaction.on && other.name !== reaction.name),
        `fact ${name} and its reaction ${reaction.name} are defined once`,
      )
      this.#byFact.set(name, [...known, reaction])
      facts.add(reaction.on)
    }
    this.#facts = [...facts]
    this.#rowsMax = rowsMax
  }

  /** What follows from facts that come about at `moment`, this very entry's. */
  async follow(
    reader: Reader,
    moment: Moment,
    happenings: readonly Happening[],
  ): Promise<Followed> {
    const cascade = this.#begin(reader, moment)
    cascade.add(happenings, moment)
    await cascade.run()
    const marked = cascade.markRest()
    const tables = new Set<string>()
    for (const fact of marked) this.#tablesBehind(fact, tables)
    return { changes: cascade.changes, marked: tables }
  }

  /** As much of what marks stand for as the proposer wants, later domains' marks first: they stop others from going on. */
  async #continue(reader: Reader, rowsMax: number): Promise<Continued> {
    const cascade = this.#begin(reader, null, rowsMax)
    for (const fact of this.#facts.toReversed()) {
      for await (const page of reader.pages(fact.marks)) {
        for (const mark of page) {
          cascade.addMark(fact, mark)
          if (await cascade.run()) continue
          cascade.markRest()
          return { changes: cascade.changes, open: true }
        }
      }
    }
    cascade.markNone()
    return { changes: cascade.changes, open: false }
  }

  /** The machine's own. */
  get commands(): Readonly<Record<string, AnyCommandDefinition>> {
    return {
      [continueCascades.type]: {
        args: Continue,
        since: marksVersion,
        quiet: true,
        load: (reader, { rowsMax }: Static<typeof Continue>) => this.#continue(reader, rowsMax),
        apply: (_context, _args, { changes, open }: Continued) => ({ changes, outcome: { open } }),
      },
    }
  }

  #begin(reader: Reader, moment: Moment | null, rowsMax = Infinity): Cascade {
    return new Cascade({
      reader,
      moment,
      rowsMax: Math.min(this.#boundOf(reader), rowsMax),
      byFact: this.#byFact,
    })
  }

  #boundOf({ commandVersion }: Reader): number {
    if (commandVersion < marksVersion) return Infinity
    const programs = commandVersion < smallCascadesVersion ? largeCascadeRowsMax : cascadeRowsMax
    return this.#rowsMax ?? programs
  }

  #tablesBehind({ name }: Fact<never>, tables: Set<string>): void {
    for (const { table, emits } of this.#byFact.get(name) ?? []) {
      if (tables.has(table.name)) continue
      tables.add(table.name)
      for (const fact of emits) this.#tablesBehind(fact, tables)
    }
  }
}

type CascadeOptions = {
  readonly reader: Reader
  /** Null: that of the first row. */
  readonly moment: Moment | null
  readonly rowsMax: number
  readonly byFact: ReadonlyMap<string, readonly AnyReaction[]>
}

/** A fact, and how far its reactions are. */
type Open = {
  readonly fact: Fact<never>
  readonly payload: unknown
  readonly moments: readonly Moment[]
  /** It goes on from a mark. */
  readonly isMarked: boolean
  readonly reactions: readonly AnyReaction[]
  position: number
  /** The last row that was looked at; null: none. */
  from: Key | null
  scan: Scan | null
  /** The scan counts. */
  isPaid: boolean
}

/** The reactions of one entry. */
class Cascade {
  readonly changes: Change[] = []
  readonly #options: CascadeOptions
  readonly #seen = new Set<string>()
  readonly #gaps: IndexGaps
  /** The one that goes on is the last; those before it led to it, or wait for it. */
  readonly #open: Open[] = []
  #moment: Moment | null
  #rowsLeft: number

  constructor(options: CascadeOptions) {
    this.#options = options
    this.#gaps = new IndexGaps(options.reader)
    this.#moment = options.moment
    this.#rowsLeft = options.rowsMax
  }

  add(happenings: readonly Happening[], moment: Moment): void {
    const added: Open[] = []
    for (const { fact, payload } of happenings) {
      const reactions = this.#reactionsTo(fact)
      if (reactions.length === 0 || !this.#isNew(fact, payload)) continue
      added.push({ fact, payload, moments: [moment], isMarked: false, reactions, ...atStart })
    }
    this.#open.push(...added.toReversed())
  }

  addMark(fact: Fact<never>, mark: Mark<never>): void {
    const reactions = this.#reactionsTo(fact)
    const { payload, moments, reaction } = mark
    this.#isNew(fact, payload)
    const known = reactions.findIndex(({ name }) => name === reaction)
    const position = Math.max(0, known)
    const from = known === -1 ? null : mark.from
    const open = { fact, payload, moments, isMarked: true, reactions }
    this.#open.push({ ...open, ...atStart, position, from })
  }

  /** True: all that was added is done. */
  async run(): Promise<boolean> {
    for (;;) {
      const open = this.#open.at(-1)
      if (open === undefined) return true
      const reaction = open.reactions[open.position]
      if (reaction === undefined) this.#finish(open)
      else if (!(await this.#react(open, reaction))) break
    }
    for (const { scan } of this.#open) await scan?.close()
    return false
  }

  /** Marks what is not done. Returns its facts. */
  markRest(): readonly Fact<never>[] {
    const { reader } = this.#options
    for (const { fact, payload, moments, isMarked, reactions, position, from } of this.#open) {
      const key = fact.key(payload as never)
      const before = isMarked ? undefined : reader.get(fact.marks, key)
      const mark: Mark<unknown> = {
        payload,
        moments: joined(before?.moments ?? [], moments),
        reaction: reactions[before === undefined ? position : 0]?.name ?? '',
        from: before === undefined ? from : null,
      }
      this.changes.push({ type: 'put', table: fact.marks, row: mark })
    }
    if (this.#open.length > 0 && reader.get(openMarks, ['open']) === undefined) {
      this.changes.push({ type: 'put', table: openMarks, row: { id: 'open' } })
    }
    return this.#open.map(({ fact }) => fact)
  }

  markNone(): void {
    this.changes.push({ type: 'delete', table: openMarks, key: ['open'] })
  }

  /** Those that all servers know. */
  #reactionsTo({ name }: Fact<never>): readonly AnyReaction[] {
    const { byFact, reader } = this.#options
    const known = byFact.get(name) ?? []
    return known.filter(({ sinceVersion = 1 }) => sinceVersion <= reader.commandVersion)
  }

  #isNew({ name, key }: Fact<never>, payload: unknown): boolean {
    const id = `${name}\0${encodeKey(key(payload as never))}`
    if (this.#seen.has(id)) return false
    this.#seen.add(id)
    return true
  }

  #finish({ fact, payload, isMarked }: Open): void {
    this.#open.pop()
    if (!isMarked) return
    this.changes.push({ type: 'delete', table: fact.marks, key: fact.key(payload as never) })
  }

  /** Looks at the next rows. False: the entry ends here. */
  async #react(open: Open, reaction: AnyReaction): Promise<boolean> {
    if (this.#rowsLeft <= 0) return false
    const { reader } = this.#options
    if (!open.isPaid) {
      // What a mark of the same thing stands for comes first.
      if (!open.isMarked && hasMark(reader, open)) return false
      this.#rowsLeft -= scanRows
      open.isPaid = true
      await this.#beginScans()
    }
    open.scan ??= new StoredScan(reader, reaction, open)
    const rows = await open.scan.next(this.#rowsTogether(reaction))
    if (rows.length === 0) {
      await open.scan.close()
      Object.assign(open, { ...atStart, position: open.position + 1 })
      return true
    }
    this.#rowsLeft -= rows.length
    const { concerned, last, isWhole } = this.#concerned(open, reaction, rows)
    if (last !== null) open.from = placeOf(reaction, last)
    if (concerned.length > 0 && this.#moment !== null) {
      const { payload } = open
      const reacted = reaction.react(reader, this.#moment, payload as never, concerned as never[])
      for (const change of reacted.changes) this.changes.push(change)
      assert(
        reacted.happened.every(({ fact }) => reaction.emits.includes(fact)),
        `${reaction.name} emits what it says`,
      )
      this.add(reacted.happened, this.#moment)
    }
    return isWhole
  }

  /** Those that come next, all at once but for looks at what follows a prefix. */
  async #beginScans(): Promise<void> {
    for (const open of this.#open.slice(-scansMax).toReversed()) {
      const reaction = open.reactions[open.position]
      if (open.scan !== null || reaction === undefined) continue
      const { table, index } = reaction
      const prefix = reaction.prefix(open.payload as never)
      const isEmpty = open.from === null && (await this.#gaps.isEmpty(table, index, prefix))
      open.scan = isEmpty ? emptyScan : new StoredScan(this.#options.reader, reaction, open)
    }
  }

  /** At least one; of rows that facts follow from, as many as there is room for to scan for what hangs on those. */
  #rowsTogether({ emits }: AnyReaction): number {
    const rows =
      emits.length === 0
        ? Math.min(rowsTogetherMax, this.#rowsLeft)
        : Math.min(emittersTogetherMax, Math.floor(this.#rowsLeft / (1 + scanRows)))
    return Math.max(1, rows)
  }

  /** The rows that the fact concerns, up to the first one of another moment than this entry's. */
  #concerned({ moments, isMarked }: Open, { since }: AnyReaction, rows: readonly unknown[]) {
    const { reader } = this.#options
    const concerned: unknown[] = []
    let last: unknown = null
    // All that the state holds was there before a fact of this entry.
    const isAll = since === null || (!isMarked && reader.commandVersion >= restoredRowsVersion)
    for (const row of rows) {
      const moment = isAll ? moments[0] : momentOf(reader, moments, since(row as never))
      if (moment !== undefined) {
        this.#moment ??= moment
        if (moment.index !== this.#moment.index) return { concerned, last, isWhole: false }
        concerned.push(row)
      }
      last = row
    }
    return { concerned, last, isWhole: true }
  }
}

const atStart = { position: 0, from: null, scan: null, isPaid: false } as const

function hasMark(reader: Reader, { fact, payload }: Open): boolean {
  return reader.get(fact.marks, fact.key(payload as never)) !== undefined
}

function joined(before: readonly Moment[], moments: readonly Moment[]): readonly Moment[] {
  const all = [...before, ...moments]
  return all.length <= momentsMax ? all : [...all.slice(0, momentsMax - 1), ...all.slice(-1)]
}

/** Of a row in the index of the reaction. */
function placeOf({ table, index }: AnyReaction, row: unknown): Key {
  const indexed = table.indexes?.[index]?.(row as never) ?? []
  return [...indexed, ...table.key(row as never)]
}

/** Rows of an index, a few at a time; an empty page is the end. */
type Scan = {
  next(rowsMax: number): Promise<readonly unknown[]>
  close(): Promise<void>
}

const emptyScan: Scan = { next: () => Promise.resolve([]), close: () => Promise.resolve() }

class StoredScan implements Scan {
  readonly #pages: AsyncIterator<readonly unknown[]>
  readonly #placeOf: (row: unknown) => Key
  /** The row here was looked at, if it is still there. */
  #from: string | null
  #page: readonly unknown[] = []
  #next = 0
  /** The next page, begun before it is asked for. */
  #begun: Promise<IteratorResult<readonly unknown[]>> | null

  constructor(reader: Reader, reaction: AnyReaction, { payload, from }: Open) {
    const { table, index } = reaction
    const range = { prefix: reaction.prefix(payload as never) }
    const pages = reader.pagesBy(table, index, from === null ? range : { ...range, from })
    this.#pages = pages[Symbol.asyncIterator]()
    this.#placeOf = (row) => placeOf(reaction, row)
    this.#from = from === null ? null : encodeKey(from)
    this.#begun = this.#pages.next()
    // The caller that asks for it gets its failure; the entry may end before.
    this.#begun.catch(() => {})
  }

  /** At least one, unless there are no more. */
  async next(rowsMax: number): Promise<readonly unknown[]> {
    while (this.#next >= this.#page.length) if (!(await this.#turnPage())) return []
    const rows = this.#page.slice(this.#next, this.#next + rowsMax)
    this.#next += rows.length
    return rows
  }

  async #turnPage(): Promise<boolean> {
    const { done, value } = await (this.#begun ?? this.#pages.next())
    this.#begun = null
    if (done === true) return false
    const [first] = value
    const isKnown = first !== undefined && this.#from === encodeKey(this.#placeOf(first))
    this.#from = null
    this.#page = value
    this.#next = isKnown ? 1 : 0
    return true
  }

  async close(): Promise<void> {
    await this.#pages.return?.()
  }
}
