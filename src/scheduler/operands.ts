/** The operands of constraints and affinities: whether what a node has is as wanted. */
import { MusterError } from '../lib/errors.ts'
import { LruMap } from '../lib/lru-map.ts'
import { compilePattern, type Pattern } from '../lib/regex/pattern.ts'
import type { Constraint } from '../domains/jobs/placement-model.ts'
import { targetOf } from './node-targets.ts'
import type { ScheduledNode } from './scheduled-node.ts'
import { meetsVersions } from './version-conditions.ts'

const patternsMax = 256

/** Compiled patterns, kept between evaluations: they follow from their texts. */
export class Patterns {
  readonly #compiled = new LruMap<string, Pattern | null>(patternsMax)

  matches(source: string, text: string): boolean {
    let pattern = this.#compiled.get(source)
    if (pattern === undefined) {
      pattern = compiled(source)
      this.#compiled.set(source, pattern)
    }
    return pattern?.test(text) ?? false
  }
}

/** Null: registration refuses what does not compile, so a job that has it came from elsewhere, and it matches nothing. */
function compiled(source: string): Pattern | null {
  try {
    return compilePattern(source)
  } catch (error) {
    if (error instanceof MusterError) return null
    throw error
  }
}

/** Of one that looks at the node alone: those of `distinct_hosts` and `distinct_property` are always met here. */
export function isMet(
  { LTarget, RTarget, Operand }: Constraint,
  node: ScheduledNode,
  patterns: Patterns,
): boolean {
  const left = targetOf(LTarget, node)
  const right = targetOf(RTarget, node)
  switch (Operand) {
    case 'distinct_hosts':
    case 'distinct_property':
      return true
    case 'is_set':
      return left !== undefined
    case 'is_not_set':
      return left === undefined
    case '!=':
    case 'not':
      return left !== right
    default:
      return left !== undefined && right !== undefined && compares(Operand, left, right, patterns)
  }
}

function compares(operand: string, left: string, right: string, patterns: Patterns): boolean {
  switch (operand) {
    case '=':
    case '==':
    case 'is':
      return left === right
    case '<':
      return order(left, right) < 0
    case '<=':
      return order(left, right) <= 0
    case '>':
      return order(left, right) > 0
    case '>=':
      return order(left, right) >= 0
    case 'regexp':
      return patterns.matches(right, left)
    case 'version':
    case 'semver':
      return meetsVersions(left, right, operand)
    case 'set_contains':
    case 'set_contains_all':
      return setOf(right).every((item) => setOf(left).includes(item))
    case 'set_contains_any':
      return setOf(right).some((item) => setOf(left).includes(item))
    default:
      return false
  }
}

/** By value where both are numbers, else by letters. */
function order(left: string, right: string): number {
  const [one, other] = [numberOf(left), numberOf(right)]
  if (one !== null && other !== null) return one - other
  return left < right ? -1 : left === right ? 0 : 1
}

function numberOf(text: string): number | null {
  return /^[+-]?\d+(\.\d+)?$/.test(text) ? Number(text) : null
}

function setOf(text: string): readonly string[] {
  return text.split(',').map((item) => item.trim())
}
