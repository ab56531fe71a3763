/** `muster job inspect`. */
import { MusterError } from '../../../lib/errors.ts'
import { integerOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { printJson, type JsonObject } from '../../../lib/exact-json.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { countFlag } from '../../flags.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'
import { findJob, type FoundJob } from './find.ts'
import { readVersions } from './versions.ts'

export const jobInspect: Verb = {
  operands: oneOperand('JOB'),
  about: `
Prints a job as it was registered, with its defaults, as JSON that job run takes. A template is
given the job itself.
`,
  flags: {
    version: { summary: 'This version, of those in job history [the newest]', value: 'NUMBER' },
    ...formatFlags,
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    const { type } = formatOf(call.flags)
    const version = countFlag(call.flags, 'version', 0)
    const [given = ''] = call.operands
    const client = await ApiClient.open(call)
    const found = await findJob(client, given)
    const Job = version === undefined ? found.job : await versionOf(client, found, version)
    await show(call, type === 'template' ? Job : { Job }, () => printJson({ Job }))
    return exits.ok
  },
}

async function versionOf(
  client: ApiClient,
  { id, namespace }: FoundJob,
  version: number,
): Promise<JsonObject> {
  const versions = await readVersions(client, { id, namespace })
  const job = versions.find((row) => integerOf(row, 'Version') === String(version))
  if (job !== undefined) return job
  const kept = versions.map((row) => integerOf(row, 'Version')).join(', ')
  throw new MusterError(
    'not_found',
    `job ${JSON.stringify(id)} has no version ${version}; there are ${kept}`,
  )
}
