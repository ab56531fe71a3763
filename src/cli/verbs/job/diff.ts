/** What differs between two versions of a job, as text: a line each, with what it is within. */
import { countsOf, listOf, objectOf, textOf, textsOf } from '../../api/answer.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import { visible } from '../../print/table.ts'

const marks: Readonly<Record<string, string>> = {
  Added: '+',
  Deleted: '-',
  Edited: '+/-',
  None: '',
}

export function diffText(job: JsonObject): string {
  const groups = listOf(job['TaskGroups']).map(objectOf)
  const lines = [
    line(0, job, `Job: ${JSON.stringify(textOf(job, 'ID'))}`),
    ...partsOf(job, 1),
    ...groups.flatMap((group) => groupLines(group)),
  ]
  return lines.map((text) => `${visible(text)}\n`).join('')
}

function groupLines(group: JsonObject): readonly string[] {
  const updates = countsOf(group, 'Updates').map(([what, count]) => `${count} ${what}`)
  const name = JSON.stringify(textOf(group, 'Name'))
  return [
    line(0, group, `Task Group: ${name}${inBrackets(updates)}`),
    ...partsOf(group, 1),
    ...listOf(group['Tasks'])
      .map(objectOf)
      .flatMap((task) => [
        line(1, task, `Task: ${JSON.stringify(textOf(task, 'Name'))}${annotations(task)}`),
        ...partsOf(task, 2),
      ]),
  ]
}

function partsOf(part: JsonObject, depth: number): readonly string[] {
  return [
    ...listOf(part['Fields'])
      .map(objectOf)
      .map((field) => fieldLine(field, depth)),
    ...listOf(part['Objects'])
      .map(objectOf)
      .flatMap((object) => [
        line(depth, object, textOf(object, 'Name')),
        ...partsOf(object, depth + 1),
      ]),
  ]
}

function fieldLine(field: JsonObject, depth: number): string {
  const quoted = (name: string): string => JSON.stringify(textOf(field, name))
  const type = textOf(field, 'Type')
  const values =
    type === 'Added'
      ? quoted('New')
      : type === 'Deleted'
        ? quoted('Old')
        : `${quoted('Old')} => ${quoted('New')}`
  return line(depth, field, `${textOf(field, 'Name')}: ${values}${annotations(field)}`)
}

function annotations(part: JsonObject): string {
  return part['Annotations'] === null ? '' : inBrackets(textsOf(part, 'Annotations'))
}

function inBrackets(words: readonly string[]): string {
  return words.length === 0 ? '' : ` (${words.join(', ')})`
}

function line(depth: number, part: JsonObject, text: string): string {
  const mark = marks[textOf(part, 'Type')] ?? ''
  return `${'  '.repeat(depth)}${mark === '' ? '' : `${mark} `}${text}`
}
