/** One template of a task: what it is made of, and what becomes of it with what is known. */
import type { Answer, Instance } from '../../../domains/templates/model.ts'
import type { Template } from '../../../domains/jobs/task-model.ts'
import { textOf } from '../../../lib/errors.ts'
import type { Json, JsonObject } from '../../../lib/exact-json.ts'
import type { Node } from '../../../lib/template/parse.ts'
import type { Dependency, TaskData } from '../../../lib/template/task-functions.ts'
import { renderTaskTemplate } from '../../../lib/template/task-template.ts'
import type { FileAccess, TaskPlace } from '../task-files.ts'

export type ReadyTemplate = FileAccess & {
  readonly spec: Template
  /** Where it goes, for people. */
  readonly name: string
  readonly place: TaskPlace
  readonly nodes: readonly Node[]
}

export type Rendering = {
  readonly dependencies: readonly Dependency[]
  readonly outcome:
    | { readonly type: 'rendered'; readonly text: string }
    /** The servers have not said yet what is needed. */
    | { readonly type: 'unknown'; readonly what: readonly string[] }
    /** It waits until something else is so. No secret is in it. */
    | { readonly type: 'waits'; readonly because: readonly string[] }
}

export type Known = {
  /** Null: not known yet. */
  readonly find: (dependency: Dependency) => Answer | null
  readonly env: Readonly<Record<string, string>>
}

export function rendered({ name, nodes }: ReadyTemplate, { find, env }: Known): Rendering {
  const dependencies = new Map<string, Dependency>()
  const unknown = new Set<string>()
  const because = new Set<string>()
  const look = (dependency: Dependency, isLiteral: boolean, isNeeded: boolean): Json => {
    const whole = nameOf(dependency)
    dependencies.set(whole, dependency)
    const what = isLiteral ? whole : computed[dependency.type]
    const answer = find(dependency)
    if (answer === null) unknown.add(what)
    else if (answer.type === 'refused') because.add(`${what}: ${answer.reason}`)
    else if (answer.type === 'none' && isNeeded) because.add(`${what} is not there`)
    return answer === null ? null : valueOf(answer)
  }
  const data: TaskData = {
    needed: (dependency, isLiteral) => look(dependency, isLiteral, true),
    wanted: (dependency, isLiteral) => look(dependency, isLiteral, false),
    env: (variable) => (Object.hasOwn(env, variable) ? (env[variable] ?? null) : null),
  }
  const outcomeOf = (): Rendering['outcome'] => {
    let text = ''
    try {
      text = renderTaskTemplate(nodes, data, name)
    } catch (error) {
      // What is not known yet may have led to it.
      if (unknown.size === 0 && because.size === 0) because.add(textOf(error))
    }
    if (because.size > 0) return { type: 'waits', because: [...because] }
    if (unknown.size > 0) return { type: 'unknown', what: [...unknown] }
    return { type: 'rendered', text }
  }
  const outcome = outcomeOf()
  return { dependencies: [...dependencies.values()], outcome }
}

const names = { key: 'key', keys: 'keys below', variable: 'variable', service: 'service' } as const

/** For people, where the path may be made of a secret. */
const computed = {
  key: 'a key of a computed path',
  keys: 'keys below a computed path',
  variable: 'a variable of a computed path',
  service: 'a service of a computed name',
} as const

function nameOf({ type, path }: Dependency): string {
  return `${names[type]} ${JSON.stringify(path)}`
}

function valueOf(answer: Answer): Json {
  switch (answer.type) {
    case 'key':
      return answer.value
    case 'keys':
      return answer.pairs.map(([Key, Value]) => ({ Key, Value }))
    case 'variable':
      return mapOf(answer.items)
    case 'service':
      return answer.instances.map(instanceOf)
    case 'none':
    case 'refused':
      return null
  }
}

/** `__proto__` is a name like any other. */
function mapOf(items: readonly (readonly [string, string])[]): JsonObject {
  return Object.fromEntries(items)
}

function instanceOf({ id, name, node, nodeAddress, address, port, tags }: Instance): JsonObject {
  return {
    ID: id,
    Name: name,
    Node: node,
    NodeAddress: nodeAddress,
    Address: address,
    Port: port,
    Tags: tags,
  }
}
