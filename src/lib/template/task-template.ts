/** Templates of tasks: how they are read, at registration and where they run, and how much one may take. */
import type { Json } from '../exact-json.ts'
import { runTemplate } from './evaluate.ts'
import { parseTemplate, type Node } from './parse.ts'
import type { Delims } from './scan.ts'
import { memberOf, noData, taskFunctions, type TaskData } from './task-functions.ts'

/** Letters of a template, and of what becomes of it. */
export const taskTemplateLengthMax = 256 * 1024
const renderedLengthMax = 1024 * 1024
const stepsMax = 1_000_000

const known = taskFunctions(noData)

/** Throws `invalid_argument` with the line; `what` begins the error. */
export function parseTaskTemplate(template: string, delims: Delims, what: string): readonly Node[] {
  const lengthMax = taskTemplateLengthMax
  return parseTemplate(template, { functions: known, delims, lengthMax, what })
}

/** The same for what it meets while it runs. No secret is in the error. */
export function renderTaskTemplate(nodes: readonly Node[], data: TaskData, what: string): string {
  const dot: Json = null
  return runTemplate(nodes, dot, {
    functions: taskFunctions(data),
    stepsMax,
    outputLengthMax: renderedLengthMax,
    absent: 'fault where printed',
    memberOf,
    what,
  })
}
