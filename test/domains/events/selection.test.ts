/** What a request selects: topics, keys, prefixes and namespaces; and what has to be read to find it. */
import t from 'tap'
import { Type } from 'typebox'
import { Selection, type Wanted } from '../../../src/domains/events/selection.ts'
import type { AnyTopic, TopicEvent } from '../../../src/domains/events/topic.ts'

function topicNamed(name: string, inKeyOrder: boolean): AnyTopic {
  return {
    name,
    table: { name: `table of ${name}`, row: Type.Unknown(), key: () => [] },
    types: { written: '', removed: '' },
    requires: null,
    least: [],
    inKeyOrder,
    describe: () => {
      throw new Error('nothing is described here')
    },
  }
}

const kv = topicNamed('KV', true)
const node = topicNamed('Node', false)
const topics = [kv, node]

/** As a query string has it. */
function wanted(text: string): Wanted {
  const [topic = '', name = '*'] = text.split(':')
  return { topic, key: name.replace(/\*$/, ''), prefix: name.endsWith('*') }
}

function event(
  topic: AnyTopic,
  key: string,
  namespace = '',
  filterKeys: string[] = [],
): TopicEvent {
  return { topic, key, namespace, filterKeys, requires: [], text: '' }
}

void t.test(
  'an event is selected by topic, key, prefix or another name, and namespace',
  async (t) => {
    const table: [wanted: string[], namespace: string, event: TopicEvent, selected: boolean][] = [
      [['*'], 'default', event(node, 'n1'), true],
      [['kv'], 'default', event(kv, 'a', 'default'), true],
      [['KV'], 'default', event(kv, 'a', 'other'), false],
      [['KV'], '*', event(kv, 'a', 'other'), true],
      [['Node'], 'default', event(kv, 'a', 'default'), false],
      [['KV:a'], 'default', event(kv, 'a', 'default'), true],
      [['KV:a'], 'default', event(kv, 'a/b', 'default'), false],
      [['KV:a*'], 'default', event(kv, 'a/b', 'default'), true],
      [['KV:A*'], 'default', event(kv, 'a/b', 'default'), false],
      [['KV:b*', 'KV:a/b'], 'default', event(kv, 'a/b', 'default'), true],
      [['KV:b*', 'Node'], 'default', event(node, 'n1'), true],
      [['Node:id-*'], 'default', event(node, 'n1', '', ['id-1']), true],
      [['Node:id-2'], 'default', event(node, 'n1', '', ['id-1']), false],
      [['*:n1'], 'default', event(node, 'n1'), true],
      [['*:n1'], 'default', event(node, 'n2'), false],
    ]
    for (const [names, namespace, one, selected] of table) {
      const selection = new Selection(topics, names.map(wanted), namespace)
      t.equal(selection.matches(one), selected, `${names.join(' ')} in ${namespace}: ${one.key}`)
    }
  },
)

void t.test('a snapshot reads what can match, and each row once', async (t) => {
  const partsOf = (names: string[], namespace: string) =>
    new Selection(topics, names.map(wanted), namespace)
      .parts()
      .map(({ topic, range, rowsMax }) => [topic.name, range, rowsMax])
  const prefix = ['default']
  t.same(partsOf(['Node', 'KV'], '*'), [
    ['Node', {}, Infinity],
    ['KV', {}, Infinity],
  ])
  t.same(partsOf(['KV'], 'default'), [['KV', { prefix, startsWith: '' }, Infinity]])
  t.same(partsOf(['KV:a/*', 'KV:a/b/*', 'KV:a/c', 'KV:d'], 'default'), [
    ['KV', { prefix, startsWith: 'a/' }, Infinity],
    ['KV', { prefix, startsWith: 'd' }, 1],
  ])
  t.same(partsOf(['KV:a/b/*', 'KV:a/*'], 'default'), [
    ['KV', { prefix, startsWith: 'a/' }, Infinity],
  ])
  t.same(partsOf(['Node:n1'], 'default'), [['Node', {}, Infinity]], 'by other names too')
})

void t.test('a topic that is not there is refused, and the others are named', async (t) => {
  t.throws(() => new Selection(topics, [wanted('Job')], 'default'), {
    code: 'invalid_argument',
    message: 'topics are KV, Node and *, not "Job"',
  })
  t.throws(() => new Selection(topics, [wanted('KV')], 'not a name'), { code: 'invalid_argument' })
})

void t.test('topics are named that were asked for by name', async (t) => {
  const named = (names: string[]) =>
    new Selection(topics, names.map(wanted), '*').named.map(({ name }) => name)
  t.same(named(['*']), [])
  t.same(named(['*', 'kv:a', 'KV:b']), ['KV'])
})
