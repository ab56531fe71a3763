/** What one reader asked for: topics, keys and prefixes of them, a namespace. */
import type { Range } from '../../fsm/domain.ts'
import { MusterError } from '../../lib/errors.ts'
import { allNamespaces, checkNamespaceName } from '../namespaces/model.ts'
import type { AnyTopic, TopicEvent } from './topic.ts'

export { defaultNamespace } from '../namespaces/model.ts'

/** Topics and keys that one reader may name. */
export const wantedMax = 64
/** Characters of a key: those of the longest there are. */
export const wantedKeyLengthMax = 4_000

const everyTopic = '*'
const shownLengthMax = 100

/** `topic` in any letter case, `*` for all of them; `prefix`: all keys that begin with `key`. */
export type Wanted = { readonly topic: string; readonly key: string; readonly prefix: boolean }

class Keys {
  readonly exact = new Set<string>()
  prefixes: readonly string[] = []

  add({ key, prefix }: Wanted): void {
    if (!prefix) this.exact.add(key)
    else if (!this.prefixes.some((wider) => key.startsWith(wider))) {
      this.prefixes = [...this.prefixes.filter((other) => !other.startsWith(key)), key]
    }
  }

  has(key: string): boolean {
    return this.exact.has(key) || this.prefixes.some((prefix) => key.startsWith(prefix))
  }
}

/** A part of a topic's table to be read for a snapshot. `rowsMax`: no more than the first rows of it can match. */
export type Part = { readonly topic: AnyTopic; readonly range: Range; readonly rowsMax: number }

export class Selection {
  readonly #namespace: string
  readonly #keys = new Map<AnyTopic, Keys>()
  readonly #topicOfTable = new Map<string, AnyTopic>()
  /** Topics that were asked for by their names. */
  readonly named: readonly AnyTopic[]

  /** Throws `invalid_argument`. */
  constructor(topics: readonly AnyTopic[], wanted: readonly Wanted[], namespace: string) {
    if (namespace !== allNamespaces) checkNamespaceName(namespace)
    this.#namespace = namespace
    const named = new Set<AnyTopic>()
    for (const one of wanted) {
      for (const topic of topicsNamed(topics, one.topic)) {
        if (one.topic !== everyTopic) named.add(topic)
        let keys = this.#keys.get(topic)
        if (keys === undefined) {
          keys = new Keys()
          this.#keys.set(topic, keys)
          this.#topicOfTable.set(topic.table.name, topic)
        }
        keys.add(one)
      }
    }
    this.named = [...named]
  }

  /** All topics that were asked for. */
  get asked(): readonly AnyTopic[] {
    return [...this.#keys.keys()]
  }

  /** Null: none of what is asked for. */
  topicOf(table: string): AnyTopic | null {
    return this.#topicOfTable.get(table) ?? null
  }

  matches({ topic, key, namespace, filterKeys }: TopicEvent): boolean {
    const inNamespace =
      this.#namespace === allNamespaces || namespace === '' || namespace === this.#namespace
    if (!inNamespace) return false
    const keys = this.#keys.get(topic)
    if (keys === undefined) return false
    return keys.has(key) || filterKeys.some((name) => keys.has(name))
  }

  /** What must be read to find all that matches, each row once at most. */
  parts(): readonly Part[] {
    return [...this.#keys].flatMap(([topic, { exact, prefixes }]) => {
      if (!topic.inKeyOrder || this.#namespace === allNamespaces) {
        return [{ topic, range: {}, rowsMax: Infinity }]
      }
      const prefix = [this.#namespace]
      const single = [...exact].filter(
        (key) => !prefixes.some((covering) => key.startsWith(covering)),
      )
      return [
        ...prefixes.map((start) => ({
          topic,
          range: { prefix, startsWith: start },
          rowsMax: Infinity,
        })),
        // A key stands before all that only begin with it.
        ...single.map((key) => ({ topic, range: { prefix, startsWith: key }, rowsMax: 1 })),
      ]
    })
  }
}

function topicsNamed(topics: readonly AnyTopic[], name: string): readonly AnyTopic[] {
  if (name === everyTopic) return topics
  const lower = name.toLowerCase()
  const found = topics.filter((topic) => topic.name.toLowerCase() === lower)
  if (found.length > 0) return found
  const known = topics.map((topic) => topic.name).join(', ')
  const shown = JSON.stringify(name.slice(0, shownLengthMax))
  throw new MusterError('invalid_argument', `topics are ${known} and *, not ${shown}`)
}
