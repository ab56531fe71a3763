/**
 * Blocks of a job file as data: what may stand in one, and which member of the API each becomes. `hcl-blocks-model.ts` has
 * the blocks; here they are read. What is not named is refused with its line.
 */
import { parseDurationNs } from '../../lib/duration.ts'
import type { HclBlock, HclBody, HclPosition, HclValue } from '../../lib/hcl.ts'
import type { HclEvaluator } from '../../lib/hcl-evaluate.ts'
import type { HclExpression } from '../../lib/hcl-tree.ts'
import { nameOf, textOf } from '../../lib/hcl-value.ts'
import { expandDynamic } from './hcl-dynamic-model.ts'
import { refusedMembers } from './refused-model.ts'

/** Values that one file may come to, lists and objects counted with what is in them: a reference is as short as its value is long. */
const valuesMax = 100_000
/** Letters of all of them. */
const lettersMax = 4 * 1024 * 1024

type Kind = 'text' | 'whole' | 'flag' | 'duration' | 'texts' | 'textMap' | 'textsMap' | 'config'

export type Members = Readonly<Record<string, unknown>>

export type BlockShape = {
  /** Of `refusedMembers`, by the name of the block's schema. */
  readonly title?: string
  /** The member that its label becomes. Without: it has none. */
  readonly label?: string
  readonly attributes?: Readonly<Record<string, readonly [member: string, kind: Kind]>>
  /** Names for any keys: a block, or an object as an attribute. */
  readonly maps?: Readonly<Record<string, readonly [member: string, kind: Kind]>>
  readonly blocks?: Readonly<Record<string, Nested>>
  /** Names of the file that stand for members of `refusedMembers`. */
  readonly refused?: Readonly<Record<string, string>>
  /** Attributes that are read over, unevaluated: secrets that no job keeps. */
  readonly dropped?: readonly string[]
  /** Shorter forms of the file, written out. */
  readonly finish?: (members: Members) => Members
}

type Nested = {
  readonly member: string
  readonly shape: BlockShape
  /** one: it stands once. many: a list. map: by their labels. */
  readonly as: 'one' | 'many' | 'map'
}

export class JobFileReader {
  readonly #evaluator: HclEvaluator
  /** Of the whole file. */
  readonly #taken: { values: number; letters: number }

  constructor(evaluator: HclEvaluator, taken = { values: 0, letters: 0 }) {
    this.#evaluator = evaluator
    this.#taken = taken
  }

  block(block: HclBlock<HclExpression>, shape: BlockShape): Members {
    const label = this.#label(block, shape)
    const members = new Map<string, unknown>(label)
    for (const [name, expression] of block.body.attributes) {
      if (shape.dropped?.includes(name) === true) continue
      const position = block.body.positions.get(name) ?? expression.position
      const known = ownOf(shape.attributes, name) ?? ownOf(shape.maps, name)
      if (known === undefined) this.#unknown(block.name, name, shape, position)
      const [member, kind] = known
      const value = this.#evaluator.evaluate(expression)
      if (value.type !== 'null') members.set(member, this.#convert(value, kind, name))
    }
    for (const nested of block.body.blocks) this.#nested(nested, block.name, shape, members)
    const read = Object.fromEntries(members)
    return shape.finish === undefined ? read : shape.finish(read)
  }

  #label({ name, labels, position }: HclBlock<HclExpression>, shape: BlockShape) {
    const wanted = shape.label === undefined ? 0 : 1
    if (labels.length !== wanted) {
      this.#evaluator.fail(
        wanted === 0
          ? `${name} has no name: write ${name} { … }`
          : `${name} has one name: write ${name} "name" { … }`,
        position,
      )
    }
    const [label = ''] = labels
    return shape.label === undefined ? [] : [[shape.label, label] as const]
  }

  #nested(
    nested: HclBlock<HclExpression>,
    parent: string,
    shape: BlockShape,
    members: Map<string, unknown>,
  ): void {
    const { name, position } = nested
    if (name === 'dynamic') {
      for (const { block, evaluator } of expandDynamic(nested, this.#evaluator)) {
        new JobFileReader(evaluator, this.#taken).#nested(block, parent, shape, members)
      }
      return
    }
    const map = ownOf(shape.maps, name)
    if (map !== undefined) {
      const [member, kind] = map
      if (members.has(member)) this.#evaluator.fail(`${name} stands twice in ${parent}`, position)
      members.set(member, this.#mapBlock(nested, kind))
      return
    }
    const known = ownOf(shape.blocks, name)
    if (known === undefined) this.#unknown(parent, name, shape, position)
    const { member, as } = known
    const before = members.get(member)
    if (as === 'one' && before !== undefined) {
      this.#evaluator.fail(`${name} stands twice in ${parent}`, position)
    }
    const read = this.block(nested, known.shape)
    if (as === 'one') members.set(member, read)
    else if (as === 'many') append(members, member, read)
    else {
      const label = nested.labels[0] ?? ''
      const all = before instanceof Map ? before : new Map<string, Members>()
      if (all.has(label))
        this.#evaluator.fail(`${name} ${JSON.stringify(label)} stands twice`, position)
      members.set(member, all.set(label, read))
    }
  }

  #unknown(parent: string, name: string, shape: BlockShape, position: HclPosition): never {
    const member = ownOf(shape.refused, name)
    const sentence = refusedMembers[shape.title ?? '']?.[member ?? '']
    if (sentence !== undefined) return this.#evaluator.fail(`${name} ${sentence}`, position)
    const names = [shape.attributes, shape.maps, shape.blocks].flatMap((part) =>
      Object.keys(part ?? {}),
    )
    return this.#evaluator.fail(
      `${parent} has no ${name}; it has ${names.toSorted().join(', ')}`,
      position,
    )
  }

  /** `meta { a = 1 }` and `config { … }`: any names. */
  #mapBlock({ name, labels, body, position }: HclBlock<HclExpression>, kind: Kind): unknown {
    if (labels.length > 0)
      this.#evaluator.fail(`${name} has no name: write ${name} { … }`, position)
    if (kind === 'config') return this.#configBody(body)
    const [nested] = body.blocks
    if (nested !== undefined) {
      this.#evaluator.fail(`${name} has no blocks: write ${nested.name} = …`, nested.position)
    }
    const entries = new Map<string, HclValue>()
    for (const [key, value] of body.attributes) entries.set(key, this.#evaluator.evaluate(value))
    return this.#convert({ type: 'object', entries, position }, kind, name)
  }

  /** Blocks of one name are a list of objects, as drivers know them; labels are keys around them. */
  #configBody({ attributes, blocks }: HclBody<HclExpression>): Members {
    const members = new Map<string, unknown>()
    for (const [name, value] of attributes)
      members.set(name, this.#plain(this.#evaluator.evaluate(value)))
    for (const block of blocks) this.#configBlock(block, members)
    return Object.fromEntries(members)
  }

  #configBlock(block: HclBlock<HclExpression>, members: Map<string, unknown>): void {
    if (block.name === 'dynamic') {
      for (const { block: written, evaluator } of expandDynamic(block, this.#evaluator)) {
        new JobFileReader(evaluator, this.#taken).#configBlock(written, members)
      }
      return
    }
    const object = block.labels.reduceRight<Members>(
      (inner, label) => Object.fromEntries([[label, [inner]]]),
      this.#configBody(block.body),
    )
    append(members, block.name, object)
  }

  #convert(value: HclValue, kind: Kind, name: string): unknown {
    this.#count(value)
    const wrong = (wanted: string): never =>
      this.#evaluator.fail(`${name} must be ${wanted}, not ${nameOf(value)}`, value.position)
    switch (kind) {
      case 'text':
        return textOf(value) ?? wrong('a text')
      case 'whole': {
        const number = Number(textOf(value) ?? Number.NaN)
        return Number.isSafeInteger(number) && textOf(value) !== ''
          ? number
          : wrong('a whole number')
      }
      case 'flag': {
        const word = textOf(value)
        return word === 'true' ? true : word === 'false' ? false : wrong('true or false')
      }
      case 'duration':
        return this.#duration(value) ?? wrong('a duration, as "30s" or "1h30m"')
      case 'texts':
        return value.type === 'list' ? this.#texts(value.items, name) : wrong('a list of texts')
      case 'textMap':
      case 'textsMap': {
        if (value.type !== 'object') return wrong('an object')
        return Object.fromEntries(
          [...value.entries]
            .filter(([, member]) => member.type !== 'null')
            .map(([key, member]) => [
              key,
              this.#convert(member, kind === 'textMap' ? 'text' : 'texts', key),
            ]),
        )
      }
      case 'config':
        return value.type === 'object' ? this.#plain(value) : wrong('an object')
    }
  }

  #texts(items: readonly HclValue[], name: string): readonly unknown[] {
    return items.map((item) => this.#convert(item, 'text', `an entry of ${name}`))
  }

  /** A number is nanoseconds. */
  #duration(value: HclValue): number | null {
    if (value.type === 'number') return value.value
    const nanoseconds = value.type === 'string' ? parseDurationNs(value.value) : undefined
    return nanoseconds === undefined ? null : Number(nanoseconds)
  }

  #count(value: HclValue): void {
    const taken = this.#taken
    taken.values += 1
    if (value.type === 'string') taken.letters += value.value.length
    if (taken.values > valuesMax || taken.letters > lettersMax) {
      this.#evaluator.fail(
        `this file comes to over ${valuesMax} values or ${lettersMax} letters`,
        value.position,
      )
    }
  }

  #plain(value: HclValue): unknown {
    this.#count(value)
    switch (value.type) {
      case 'list':
        return value.items.map((item) => this.#plain(item))
      case 'object':
        return Object.fromEntries([...value.entries].map(([key, item]) => [key, this.#plain(item)]))
      case 'null':
        return null
      default:
        return value.value
    }
  }
}

/** To the list that the member is. */
function append(members: Map<string, unknown>, member: string, item: unknown): void {
  const before = members.get(member)
  if (Array.isArray(before)) before.push(item)
  else members.set(member, [item])
}

function ownOf<Value>(
  table: Readonly<Record<string, Value>> | undefined,
  name: string,
): Value | undefined {
  return table !== undefined && Object.hasOwn(table, name) ? table[name] : undefined
}
