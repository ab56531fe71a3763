/** Runs a template over JSON. It reads what it was given and nothing else, and ends: no loop is without data. */
import { isObject, type Json } from '../exact-json.ts'
import { refuse, toldAt } from './fault.ts'
import { functions, isTrue, sizeOf, type Functions } from './functions.ts'
import { parseTemplate, type Assignment, type Node, type Operand, type Pipe } from './parse.ts'
import { kind, plain } from './printf.ts'

export type RunOptions = {
  readonly functions: Functions
  /** Nodes, for ranges within ranges, and texts, lists and maps that functions work on. */
  readonly stepsMax: number
  /** Of all that is printed, and of each text that a function makes. */
  readonly outputLengthMax: number
  /** Of a member that a map has not: it is a fault at once, or only where it would be printed or gone over. */
  readonly absent: 'fault' | 'fault where printed'
  /** What a value has besides the members of its own; undefined: nothing of that name. */
  readonly memberOf?: (value: Json, name: string) => Json | undefined
  /** Begins an error. */
  readonly what?: string
}

/** Letters that count as one step. */
const lettersPerStep = 64

const ofCommands: RunOptions = {
  functions,
  stepsMax: 50_000_000,
  outputLengthMax: 256 * 1024 * 1024,
  absent: 'fault',
}

/** Throws `invalid_argument` where `renderTemplate` would whatever the data. */
export function checkedTemplate(template: string): void {
  parseTemplate(template, { functions })
}

/** As commands print their data. */
export function renderTemplate(template: string, value: Json): string {
  return runTemplate(parseTemplate(template, { functions }), value, ofCommands)
}

/** Throws `invalid_argument` with the line. */
export function runTemplate(nodes: readonly Node[], value: Json, options: RunOptions): string {
  const run = new Run(value, options)
  return toldAt(
    options.what ?? 'the template',
    () => run.line,
    () => {
      run.nodes(nodes, value)
      return run.output()
    },
  )
}

type Flow = 'on' | 'break' | 'continue'

class Run {
  /** Of what ran last. */
  line = 1
  readonly #options: RunOptions
  readonly #parts: string[] = []
  /** Innermost last; a block drops what it declared. */
  readonly #variables: { name: string; value: Json }[]
  #length = 0
  #steps = 0
  /** A member was asked for that is not there. */
  #isAbsent = false

  constructor(value: Json, options: RunOptions) {
    this.#options = options
    this.#variables = [{ name: '', value }]
  }

  output(): string {
    return this.#parts.join('')
  }

  nodes(nodes: readonly Node[], dot: Json): Flow {
    for (const node of nodes) {
      this.#spend(1)
      const flow = this.#node(node, dot)
      if (flow !== 'on') return flow
    }
    return 'on'
  }

  #spend(steps: number): void {
    const { stepsMax } = this.#options
    this.#steps += steps
    if (this.#steps > stepsMax) refuse(`it takes more than ${stepsMax} steps`)
  }

  #node(node: Node, dot: Json): Flow {
    if ('line' in node) this.line = node.line
    switch (node.type) {
      case 'text':
        this.#write(node.text)
        return 'on'
      case 'break':
      case 'continue':
        return node.type
      case 'print': {
        const value = this.#pipe(node.pipe, dot)
        if (node.assignment !== null) this.#assign(node.assignment, [value])
        else if (value !== null) this.#write(plain(value))
        else if (this.#options.absent === 'fault') this.#write('<no value>')
        else refuse(`there is no ${nameOf(node.pipe)}`)
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
    this.#isAbsent = false
    const value = this.#pipe(node.pipe, dot)
    // Nothing at all would come of a name that is wrong. An `else` says what to do without.
    if (value === null && this.#isAbsent && node.otherwise.length === 0) {
      refuse(`there is no ${nameOf(node.pipe)}`)
    }
    // To sort a map is work, also where the first turn is the last one.
    if (isObject(value)) this.#spend(sizeOf(value))
    let isEmpty = true
    for (const [key, member] of entriesOf(value)) {
      isEmpty = false
      this.#spend(1)
      const flow = this.#scope(() => {
        const { assignment } = node
        if (assignment !== null) {
          this.#assign(assignment, assignment.names.length === 1 ? [member] : [key, member])
        }
        return this.nodes(node.body, member)
      })
      if (flow === 'break') break
    }
    return isEmpty ? this.#scope(() => this.nodes(node.otherwise, dot)) : 'on'
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
    for (const stage of pipe) value = this.#operand(stage, dot, value)
    return value ?? null
  }

  /** `piped` is the last argument of a call. */
  #operand(operand: Operand, dot: Json, piped?: Json): Json {
    switch (operand.type) {
      case 'value':
        return operand.value
      case 'field':
        return this.#walk(dot, operand.path)
      case 'variable':
        return this.#walk(this.#variable(operand.name).value, operand.path)
      case 'pipe':
        return this.#walk(this.#pipe(operand.pipe, dot), operand.path)
      case 'call':
        return this.#call(operand.name, operand.args, dot, piped)
    }
  }

  #call(name: string, operands: readonly Operand[], dot: Json, piped?: Json): Json {
    if (name === 'and' || name === 'or') {
      let value: Json = null
      for (const operand of operands) {
        value = this.#operand(operand, dot)
        if (isTrue(value) === (name === 'or')) return value
      }
      return piped ?? value
    }
    const called = this.#options.functions[name]
    if (called === undefined) return refuse(`there is no function ${name}`)
    const args = operands.map((operand) => this.#operand(operand, dot))
    if (piped !== undefined) args.push(piped)
    for (const arg of args) {
      if (typeof arg === 'string' || called.looksAtFew !== true) this.#spendOn(arg)
    }
    const isLiteral = operands[0]?.type === 'value'
    const result = called.run(args, (steps) => this.#spend(steps), isLiteral)
    if (called.looksAtFew === true) this.#spendOnMembers(result)
    else this.#spendOn(result)
    return result
  }

  /** A step for each member, within members too. */
  #spendOn(value: Json): void {
    this.#spendOnMembers(value)
    if (Array.isArray(value)) {
      for (const member of value as readonly Json[]) this.#spendOn(member)
    } else if (isObject(value)) {
      for (const [name, member] of Object.entries(value)) {
        this.#spendOnMembers(name)
        this.#spendOn(member)
      }
    }
  }

  /** Without what is within members. */
  #spendOnMembers(value: Json): void {
    if (typeof value === 'string') {
      this.#bounded(value.length)
      this.#spend(value.length / lettersPerStep)
    } else if (Array.isArray(value)) {
      this.#spend(value.length)
    } else if (isObject(value)) {
      this.#spend(sizeOf(value))
    } else if (typeof value === 'bigint' && BigInt.asIntN(64, value) !== value) {
      // To print it takes more than its length.
      this.#spend(value.toString(16).length)
    }
  }

  #bounded(length: number): void {
    const { outputLengthMax } = this.#options
    if (length > outputLengthMax) refuse(`it makes more than ${outputLengthMax} letters`)
  }

  #write(text: string): void {
    this.#length += text.length
    this.#bounded(this.#length)
    this.#parts.push(text)
  }

  /** Own members only: nothing of JavaScript's is reached. */
  #walk(value: Json, path: readonly string[]): Json {
    let found = value
    for (const name of path) {
      if (isObject(found) && Object.hasOwn(found, name)) {
        found = found[name] ?? null
        continue
      }
      const member = this.#options.memberOf?.(found, name)
      if (member !== undefined) {
        this.#spendOn(member)
        found = member
        continue
      }
      // Nothing has no members, and `if` may ask for one.
      if (this.#options.absent !== 'fault' && (found === null || isObject(found))) {
        this.#isAbsent = true
        return null
      }
      if (!isObject(found)) return refuse(`.${name} is asked of a ${kind(found)}`)
      const known = Object.keys(found).map((key) => `.${key}`)
      return refuse(`there is no field .${name}; there are ${known.join(', ')}`)
    }
    return found
  }
}

/** What was to be printed, for people. */
function nameOf(pipe: Pipe): string {
  const last = pipe.at(-1)
  switch (last?.type) {
    case 'field':
      return `.${last.path.join('.')}`
    case 'variable':
      return ['$' + last.name, ...last.path].join('.')
    default:
      return 'value'
  }
}

/** Of a list one after the other: a loop may end at its first. */
function entriesOf(value: Json): Iterable<readonly [Json, Json]> {
  if (value === null) return []
  if (Array.isArray(value)) return (value as readonly Json[]).entries()
  if (isObject(value)) return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return refuse(`range needs a list or a map, not a ${kind(value)}`)
}
