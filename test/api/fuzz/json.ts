/**
 * JSON as a tree that can hold what `JSON.stringify` never writes: members twice, `__proto__`, numbers of any length.
 * And what can be done to a good document.
 */
import fc from '../../support/fast-check.ts'

/** Members in order; a name may stand twice. A number is its own text. */
export type Json =
  | { readonly type: 'text'; readonly value: string }
  | { readonly type: 'literal'; readonly source: string }
  | { readonly type: 'list'; readonly items: readonly Json[] }
  | { readonly type: 'object'; readonly members: readonly (readonly [string, Json])[] }

export function treeOf(value: unknown): Json {
  if (typeof value === 'string') return { type: 'text', value }
  if (Array.isArray(value)) return { type: 'list', items: value.map(treeOf) }
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([name, member]) => [name, treeOf(member)] as const)
    return { type: 'object', members }
  }
  return { type: 'literal', source: JSON.stringify(value) }
}

export function write(json: Json): string {
  switch (json.type) {
    case 'text':
      return JSON.stringify(json.value)
    case 'literal':
      return json.source
    case 'list':
      return `[${json.items.map(write).join(',')}]`
    case 'object':
      return `{${json.members.map(([name, member]) => `${JSON.stringify(name)}:${write(member)}`).join(',')}}`
  }
}

const literals = [
  'null',
  'true',
  'false',
  '0',
  '-0',
  '-1',
  '1',
  '1.5',
  '1e3',
  '1e400',
  '-1e-400',
  '9007199254740993',
  '18446744073709551615',
  '18446744073709551616',
  '9'.repeat(400),
  '[]',
  '{}',
  '[[]]',
  '[null]',
  '{"":""}',
  '{"__proto__":{"a":1}}',
]

const repeats = [2, 70, 5_000]
const deep = 90

function leaf(text: fc.Arbitrary<string>): fc.Arbitrary<Json> {
  return fc.oneof(
    text.map((value): Json => ({ type: 'text', value })),
    fc.constantFrom(...literals).map((source): Json => ({ type: 'literal', source })),
  )
}

/** What is done to one value of a document. Its place is counted from the root, children after parents. */
type Change = (value: Json) => Json

function change(names: fc.Arbitrary<string>, text: fc.Arbitrary<string>): fc.Arbitrary<Change> {
  const value = leaf(text)
  const member = fc.tuple(names, value)
  return fc.oneof(
    {
      weight: 6,
      arbitrary: value.map(
        (json): Change =>
          () =>
            json,
      ),
    },
    {
      weight: 3,
      arbitrary: member.map(
        (added): Change =>
          (json) =>
            withMember(json, added),
      ),
    },
    {
      weight: 1,
      arbitrary: value.map(
        (json): Change =>
          (before) =>
            doubled(before, json),
      ),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom<Change>(
        (json) => ({ type: 'list', items: [json] }),
        (json) => ({ type: 'object', members: [['Value', json]] }),
        nested,
        withoutMembers,
        otherCase,
      ),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(...repeats).map(
        (times): Change =>
          (json) =>
            repeated(json, times),
      ),
    },
  )
}

function withMember(json: Json, added: readonly [string, Json]): Json {
  return json.type === 'object' ? { type: 'object', members: [...json.members, added] } : added[1]
}

/** Every member twice, with another value. */
function doubled(json: Json, other: Json): Json {
  if (json.type !== 'object') return other
  return {
    type: 'object',
    members: json.members.flatMap(([name, member]) => [
      [name, other] as const,
      [name, member] as const,
    ]),
  }
}

function nested(json: Json): Json {
  let nest = json
  for (let depth = 0; depth < deep; depth += 1) nest = { type: 'list', items: [nest] }
  return nest
}

function withoutMembers(json: Json): Json {
  if (json.type === 'object') return { type: 'object', members: json.members.slice(1) }
  return json.type === 'list' ? { type: 'list', items: json.items.slice(1) } : json
}

function otherCase(json: Json): Json {
  if (json.type !== 'object') return json
  return {
    type: 'object',
    members: json.members.map(([name, member], at) => [
      at % 2 === 0 ? name.toLowerCase() : name.toUpperCase(),
      member,
    ]),
  }
}

function repeated(json: Json, times: number): Json {
  if (json.type === 'text')
    return { type: 'text', value: json.value.repeat(times).slice(0, 20_000) }
  if (json.type === 'list') {
    return { type: 'list', items: Array.from({ length: times }, () => json.items).flat() }
  }
  return { type: 'list', items: Array.from({ length: times }, () => json) }
}

/** A good document after one to three changes. */
export function mutated(
  good: readonly Json[],
  names: fc.Arbitrary<string>,
  text: fc.Arbitrary<string>,
): fc.Arbitrary<Json> {
  const changes = fc.array(fc.tuple(fc.nat(40), change(names, text)), { maxLength: 3 })
  return fc
    .tuple(fc.constantFrom(...good), changes)
    .map(([json, changes]) =>
      changes.reduce((before, [at, change]) => changed(before, at % countOf(before), change), json),
    )
}

function childrenOf(json: Json): readonly Json[] {
  if (json.type === 'list') return json.items
  return json.type === 'object' ? json.members.map(([, member]) => member) : []
}

function countOf(json: Json): number {
  return childrenOf(json).reduce((sum, child) => sum + countOf(child), 1)
}

function changed(json: Json, at: number, change: Change): Json {
  if (at === 0) return change(json)
  let left = at - 1
  const children = childrenOf(json).map((child) => {
    const count = countOf(child)
    const next = left >= 0 && left < count ? changed(child, left, change) : child
    left -= count
    return next
  })
  if (json.type === 'list') return { type: 'list', items: children }
  if (json.type !== 'object') return json
  return {
    type: 'object',
    members: json.members.map(([name, member], position) => [name, children[position] ?? member]),
  }
}
