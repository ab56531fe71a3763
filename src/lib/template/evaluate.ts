/** Runs a template over JSON. It reads what it was given and nothing else, and ends: no loop is without data. */
import { isObject, type Json } from '../exact-json.ts'
import { functionNames, functions, isTrue } from './functions.ts'
import { parseTemplate, type Assignment, type Node, type Operand, type Pipe } from './parse.ts'
import { plain } from './printf.ts'
import { refuse } from './scan.ts'

/** Nodes run, for ranges within ranges. */
const stepsMax = 10_000_000
const outputLengthMax = 256 * 1024 * 1024

export function renderTemplate(template: string, value: Json): string {
  const run = new Run(value)
  run.nodes(parseTemplate(template), value)
  return run.output()
}

type Flow = 'on' | 'break' | 'continue'

class Run {
  readonly #parts: string[] = []
  /** Innermost last; a block drops what it declared. */
  readonly #variables: { name: string; value: Json }[]
  #length = 0
  #steps = 0

  constructor(value: Json) {
    this.#variables = [{ name: '', value }]
  }

  output(): string {
    return this.#parts.join('')
  }

  nodes(nodes: readonly Node[], dot: Json): Flow {
    for (const node of nodes) {
      this.#steps += 1
      if (this.#steps > stepsMax) refuse(`it takes more than ${stepsMax} steps`)
      const flow = this.#node(node, dot)
      if (flow !== 'on') return flow
    }
    return 'on'
  }

  #node(node: Node, dot: Json): Flow {
    switch (node.type) {
      case 'text':
        this.#write(node.text)
        return 'on'
      case 'break':
      case 'continue':
        return node.type
      case 'print': {
        const value = this.#pipe(node.pipe, dot)
        if (node.assignment === null) this.#write(value === null ? '<no value>' : plain(value))
        else this.#assign(node.assignment, [value])
        return 'on'
      }
      case 'if':
      case 'with':
        return this.#scope(() => {
          const value = this.#pipe(node.pipe, dot)
          if (node.assignment !== null) this.#assign(node.assignment, [value])
          if (!isTrue(value)) return this.nodes(node.otherwise, dot)
          return this.nodes(node.body, node.type === 'with' ? value : dot)
        })
      case 'range':
        return this.#range(node, dot)
    }
  }

  #range(node: Extract<Node, { body: readonly Node[] }>, dot: Json): Flow {
    const entries = entriesOf(this.#pipe(node.pipe, dot))
    if (entries.length === 0) return this.#scope(() => this.nodes(node.otherwise, dot))
    for (const [key, value] of entries) {
      const flow = this.#scope(() => {
        const { assignment } = node
        if (assignment !== null) {
          this.#assign(assignment, assignment.names.length === 1 ? [value] : [key, value])
        }
        return this.nodes(node.body, value)
      })
      if (flow === 'break') break
    }
    return 'on'
  }

  #scope(run: () => Flow): Flow {
    const depth = this.#variables.length
    try {
      return run()
    } finally {
      this.#variables.length = depth
    }
  }

  #assign({ names, declares }: Assignment, values: readonly Json[]): void {
    for (const [position, name] of names.entries()) {
      const value = values[position] ?? null
      if (declares) this.#variables.push({ name, value })
      else this.#variable(name).value = value
    }
  }

  #variable(name: string): { value: Json } {
    const found = this.#variables.findLast((variable) => variable.name === name)
    return found ?? refuse(`there is no variable $${name}`)
  }

  #pipe(pipe: Pipe, dot: Json): Json {
    let value: Json | undefined
    for (const stage of pipe) {
      if (value !== undefined && stage.type !== 'call') refuse('after | comes a function')
      value = this.#operand(stage, dot, value)
    }
    return value ?? null
  }

  /** `piped` is the last argument of a call. */
  #operand(operand: Operand, dot: Json, piped?: Json): Json {
    switch (operand.type) {
      case 'value':
        return operand.value
      case 'field':
        return walk(dot, operand.path)
      case 'variable':
        return walk(this.#variable(operand.name).value, operand.path)
      case 'pipe':
        return walk(this.#pipe(operand.pipe, dot), operand.path)
      case 'call':
        return this.#call(operand.name, operand.args, dot, piped)
    }
  }

  #call(name: string, operands: readonly Operand[], dot: Json, piped?: Json): Json {
    const count = operands.length + (piped === undefined ? 0 : 1)
    if (name === 'and' || name === 'or') {
      if (count === 0) refuse(`${name} needs an argument`)
      let value: Json = null
      for (const operand of operands) {
        value = this.#operand(operand, dot)
        if (isTrue(value) === (name === 'or')) return value
      }
      return piped ?? value
    }
    const called = functions[name]
    if (called === undefined) {
      return refuse(`there is no function ${name}; there are ${functionNames.join(', ')}`)
    }
    if (count < called.argsMin || count > called.argsMax) {
      refuse(`${name} does not take ${count} arguments`)
    }
    const args = operands.map((operand) => this.#operand(operand, dot))
    return called.run(piped === undefined ? args : [...args, piped])
  }

  #write(text: string): void {
    this.#length += text.length
    if (this.#length > outputLengthMax) refuse(`it prints more than ${outputLengthMax} letters`)
    this.#parts.push(text)
  }
}

/** Own members only: nothing of JavaScript's is reached. */
function walk(value: Json, path: readonly string[]): Json {
  let found = value
  for (const name of path) {
    if (!isObject(found)) {
      return refuse(`.${name} is asked of ${Array.isArray(found) ? 'a list' : plain(found)}`)
    }
    if (!Object.hasOwn(found, name)) {
      const known = Object.keys(found).map((key) => `.${key}`)
      return refuse(`there is no field .${name}; there are ${known.join(', ')}`)
    }
    found = found[name] ?? null
  }
  return found
}

function entriesOf(value: Json): readonly (readonly [Json, Json])[] {
  if (value === null) return []
  if (Array.isArray(value)) {
    return (value as readonly Json[]).map((member, position) => [position, member])
  }
  if (isObject(value)) return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return refuse(`range needs a list or a map, not ${plain(value)}`)
}
