/** The evaluation that a write to a job led to: followed to its end, unless the command line says not to. */
import { textOf } from '../../api/answer.ts'
import type { ApiClient } from '../../api/client.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import type { Flag, FlagTable } from '../../flags.ts'
import { visible } from '../../print/table.ts'
import { exits, type Call } from '../../verb.ts'
import { followEvaluation } from '../eval/follow.ts'

export const detachFlags: FlagTable = {
  detach: { summary: 'Do not follow the evaluation, only name it', value: null },
  verbose: { summary: 'Whole ids', value: null },
}

export const evalPriorityFlag: Flag = {
  summary: 'Of the evaluation, 1 to 100; unless given that of the job',
  value: 'PRIORITY',
}

/** Resolves to the exit code. */
export async function evaluationIn(
  answer: JsonObject,
  client: ApiClient,
  call: Call,
): Promise<number> {
  const id = textOf(answer, 'EvalID')
  if (id === '') return exits.ok
  if (!call.flags.has('detach')) return followEvaluation(client, id, call)
  call.terminal.out(`Evaluation ${visible(id)}\n`)
  return exits.ok
}
