/** `muster job init`. */
import { writeFile } from 'node:fs/promises'
import { MusterError, systemCodeOf, textOf } from '../../../lib/errors.ts'
import { exits, type Verb } from '../../verb.ts'
import { longExample, shortExample } from './example.ts'

const defaultFile = 'example.nomad.hcl'

export const jobInit: Verb = {
  operands: { usage: '[FILE]', countMin: 0, countMax: 1 },
  about: `
Writes an example of a job file, ${defaultFile} unless said. A file that is there stays as it is.
Its driver is raw_exec, which the configuration of a client agent has to enable. Asks no agent.
`,
  flags: {
    short: { summary: 'Without remarks, and with the least that a job needs', value: null },
  },
  async run(call) {
    const [file = defaultFile] = call.operands
    try {
      await writeFile(file, call.flags.has('short') ? shortExample : longExample, { flag: 'wx' })
    } catch (error) {
      const reason = systemCodeOf(error) === 'EEXIST' ? 'the file exists already' : textOf(error)
      throw new MusterError('invalid_argument', `${file}: ${reason}`, { cause: error })
    }
    call.terminal.out(`Wrote an example job to ${file}\n`)
    return exits.ok
  },
}
