/** What is refused in constraints, affinities and spreads. */
import { codeOf, textOf } from '../../lib/errors.ts'
import { compilePattern } from '../../lib/regex/pattern.ts'
import type { Affinity, Constraint, Spread } from './placement-model.ts'
import type { Problems } from './problem-model.ts'

const comparisons = ['=', '==', 'is', '!=', 'not', '<', '<=', '>', '>=']
const sets = ['set_contains', 'set_contains_all', 'set_contains_any']
const affinityOperands = [...comparisons, 'regexp', 'version', 'semver', ...sets]
const distinct = ['distinct_hosts', 'distinct_property']
const constraintOperands = [...affinityOperands, ...distinct, 'is_set', 'is_not_set']

/** `ofTask`: distinct hosts and properties are matters of whole allocations. */
export function checkConstraint(
  { LTarget, RTarget, Operand }: Constraint,
  path: string,
  problems: Problems,
  ofTask = false,
): void {
  if (!constraintOperands.includes(Operand)) {
    problems.add(`${path}.Operand`, `must be one of ${constraintOperands.join(', ')}`)
    return
  }
  if (ofTask && distinct.includes(Operand)) {
    problems.add(`${path}.Operand`, `${Operand} belongs to the job or the group, not to a task`)
  }
  if (Operand !== 'distinct_hosts' && LTarget === '') {
    problems.add(`${path}.LTarget`, 'is missing: name an attribute, as ${attr.kernel.name}')
  }
  if (Operand === 'is_set' || Operand === 'is_not_set') {
    if (RTarget !== '')
      problems.add(`${path}.RTarget`, `has no meaning with ${Operand}: leave it out`)
    return
  }
  if (Operand === 'distinct_property') {
    if (RTarget !== '' && !/^[1-9]\d{0,8}$/.test(RTarget)) {
      problems.add(`${path}.RTarget`, 'must be how many may share the property, from 1')
    }
    return
  }
  if (Operand !== 'distinct_hosts') checkTarget(Operand, RTarget, `${path}.RTarget`, problems)
}

export function checkAffinity(
  { LTarget, RTarget, Operand, Weight }: Affinity,
  path: string,
  problems: Problems,
): void {
  if (!affinityOperands.includes(Operand)) {
    problems.add(`${path}.Operand`, `must be one of ${affinityOperands.join(', ')}`)
  } else {
    checkTarget(Operand, RTarget, `${path}.RTarget`, problems)
  }
  if (LTarget === '') {
    problems.add(`${path}.LTarget`, 'is missing: name an attribute, as ${attr.kernel.name}')
  }
  if (Weight === 0 || Weight < -100 || Weight > 100) {
    problems.add(`${path}.Weight`, 'must be from -100 to 100, and not 0')
  }
}

export function checkSpread(
  { Attribute, Weight, SpreadTarget }: Spread,
  path: string,
  problems: Problems,
): void {
  if (Attribute === '') {
    problems.add(`${path}.Attribute`, 'is missing: name an attribute, as ${node.datacenter}')
  }
  if (Weight <= 0 || Weight > 100) problems.add(`${path}.Weight`, 'must be from 1 to 100')
  const seen = new Set<string>()
  let sum = 0
  for (const [index, { Value, Percent }] of SpreadTarget.entries()) {
    const at = `${path}.SpreadTarget[${index}]`
    if (seen.has(Value)) problems.add(`${at}.Value`, `${JSON.stringify(Value)} is there already`)
    if (Percent < 0 || Percent > 100) problems.add(`${at}.Percent`, 'must be from 0 to 100')
    seen.add(Value)
    sum += Percent
  }
  if (sum > 100)
    problems.add(`${path}.SpreadTarget`, `has ${sum} percent, at most 100 are possible`)
}

function checkTarget(operand: string, target: string, path: string, problems: Problems): void {
  if (operand === 'regexp') {
    const fault = patternFault(target)
    if (fault !== null) problems.add(path, `is no regular expression: ${fault}`)
  } else if (operand === 'version' || operand === 'semver') {
    const fits = operand === 'version' ? version : semver
    if (!target.split(',').every((part) => fits.test(part.trim()))) {
      problems.add(path, 'must be conditions with commas between, as >= 1.2.0, < 2.0.0')
    }
  } else if (target === '') {
    problems.add(path, `is missing: ${operand} compares with it`)
  }
}

const version = /^(=|!=|>=|<=|>|<|~>)? *v?\d{1,9}(\.\d{1,9}){0,8}(-[\w.-]+)?(\+[\w.-]+)?$/
const semver = /^(=|!=|>=|<=|>|<)? *v?\d{1,9}(\.\d{1,9}){0,2}(-[\w.-]+)?(\+[\w.-]+)?$/

function patternFault(pattern: string): string | null {
  try {
    compilePattern(pattern)
    return null
  } catch (error) {
    if (codeOf(error) !== 'invalid_argument') throw error
    return textOf(error)
  }
}
