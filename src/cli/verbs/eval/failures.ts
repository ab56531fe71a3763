/** Why allocations have no place, in words. */
import { countOf, countsOf, membersOf } from '../../api/answer.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import { visible } from '../../print/table.ts'

export function hasFailures(evaluation: JsonObject): boolean {
  return membersOf(evaluation, 'FailedTGAllocs').length > 0
}

/** A line for each group of an evaluation that has no place for some, and below it a line for each reason. */
export function failureText(evaluation: JsonObject): string {
  return membersOf(evaluation, 'FailedTGAllocs')
    .map(([group, metrics]) => {
      const count = 1 + countOf(metrics, 'CoalescedFailures')
      const head = `Group ${quoted(group)}: no place for ${counted(count, 'allocation')}`
      return [head, ...reasonsOf(metrics).map((reason) => `  * ${reason}`)]
    })
    .flat()
    .map((line) => `${visible(line)}\n`)
    .join('')
}

export function reasonsOf(metrics: JsonObject): readonly string[] {
  const deserted = countsOf(metrics, 'NodesAvailable').filter(([, count]) => count === 0)
  const dimensions = countsOf(metrics, 'DimensionExhausted')
  const exhausted = countOf(metrics, 'NodesExhausted')
  const reasons = [
    ...deserted.map(([name]) => `Datacenter ${quoted(name)} has no node that takes work`),
    ...countsOf(metrics, 'ClassFiltered').map(
      ([name, count]) => `Class ${quoted(name)} rules out ${counted(count, 'node')}`,
    ),
    ...countsOf(metrics, 'ConstraintFiltered').map(
      ([text, count]) => `Constraint ${quoted(text)} rules out ${counted(count, 'node')}`,
    ),
    ...countsOf(metrics, 'ClassExhausted').map(
      ([name, count]) => `${counted(count, 'node')} of class ${quoted(name)} without room`,
    ),
    ...dimensions.map(([name, count]) => `${counted(count, 'node')} without room: ${name}`),
  ]
  if (exhausted > 0 && dimensions.length === 0) {
    reasons.push(`${counted(exhausted, 'node')} without room`)
  }
  if (reasons.length > 0 || countOf(metrics, 'NodesEvaluated') > 0) return reasons
  return ["No node of the job's datacenters takes work"]
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function quoted(text: string): string {
  return JSON.stringify(text)
}
