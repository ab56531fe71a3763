/** `muster job validate`. */
import { objectOf, textOf, textsOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { exits, type Verb } from '../../verb.ts'
import { fileOperand, jobOf, readSource, variableFlags } from './source.ts'

export const jobValidate: Verb = {
  operands: fileOperand,
  about: `
Has the agent read a job file, HCL or JSON, and check the job. Nothing is registered. The exit code
is 1 where something is wrong with it.
`,
  flags: {
    ...variableFlags,
    ...formatFlags,
    ...connectionFlags,
  },
  async run(call) {
    formatOf(call.flags)
    const source = await readSource(call)
    const client = await ApiClient.open(call)
    const Job = await jobOf(client, source, { canonicalize: false })
    const { json } = await client.ask('PUT', '/v1/validate/job', { json: { Job } })
    const answer = objectOf(json)
    const errors = answer['ValidationErrors'] === null ? [] : textsOf(answer, 'ValidationErrors')
    await show(call, json, (style) => {
      const warnings = textOf(answer, 'Warnings')
      const remarks = warnings === '' ? '' : `${style.heading('Job warnings')}\n${warnings}\n\n`
      if (errors.length === 0) return `${remarks}Job validation successful\n`
      const list = errors.map((error) => `* ${error}\n`).join('')
      return `${remarks}${style.heading('Job validation errors')}\n${list}`
    })
    return errors.length === 0 ? exits.ok : exits.failed
  },
}
