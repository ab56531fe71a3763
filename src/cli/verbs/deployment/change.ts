/** `muster deployment fail`, `pause`, `resume` and `promote`. */
import { objectOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import type { Json } from '../../../lib/exact-json.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import type { FlagTable } from '../../flags.ts'
import { visible } from '../../print/table.ts'
import { oneOperand, type Call, type Verb } from '../../verb.ts'
import { detachFlags, evaluationIn } from '../job/evaluation.ts'
import { deploymentPath, findDeployment } from './find.ts'

const common: FlagTable = { ...detachFlags, ...namespaceFlag, ...connectionFlags }

export const deploymentFail: Verb = {
  operands: oneOperand('DEPLOYMENT'),
  about: `
Fails a deployment, by its id or the front of it: nothing more is replaced, and canaries stop. Where
a group has auto_revert, the job goes back to its last stable version.
`,
  flags: common,
  run: (call) => change(call, 'fail', 'Failed', (id) => ({ DeploymentID: id })),
}

export const deploymentPause: Verb = {
  operands: oneOperand('DEPLOYMENT'),
  about: `
Pauses a deployment, by its id or the front of it, until muster deployment resume: nothing more is
replaced, and no deadline passes.
`,
  flags: common,
  run: (call) => change(call, 'pause', 'Paused', (id) => ({ DeploymentID: id, Pause: true })),
}

export const deploymentResume: Verb = {
  operands: oneOperand('DEPLOYMENT'),
  about: `
Goes on with a deployment that was paused, by its id or the front of it.
`,
  flags: common,
  run: (call) => change(call, 'pause', 'Resumed', (id) => ({ DeploymentID: id, Pause: false })),
}

export const deploymentPromote: Verb = {
  operands: oneOperand('DEPLOYMENT'),
  about: `
Promotes the canaries of a deployment, by its id or the front of it, once they are healthy: they
replace what was there before, and the rest follows.
`,
  flags: {
    group: { summary: 'Only those of this group; may be repeated', value: 'GROUP' },
    ...common,
  },
  run: (call) => {
    const Groups = call.flags.all('group')
    return change(call, 'promote', 'Promoted canaries of', (id) => ({
      DeploymentID: id,
      ...(Groups.length === 0 ? { All: true } : { Groups: [...Groups] }),
    }))
  },
}

async function change(
  call: Call,
  word: string,
  done: string,
  bodyOf: (id: string) => Json,
): Promise<number> {
  const [given = ''] = call.operands
  const client = await ApiClient.open(call)
  const id = await findDeployment(client, given)
  const { json } = await client.ask('PUT', deploymentPath(id, word), { json: bodyOf(id) })
  const answer = objectOf(json)
  call.terminal.out(`${done} deployment ${visible(JSON.stringify(id))}\n`)
  const back = answer['RevertedJobVersion']
  if (typeof back === 'number' || typeof back === 'bigint') {
    call.terminal.out(`The job goes back to version ${back}\n`)
  }
  return evaluationIn(answer, client, call)
}
