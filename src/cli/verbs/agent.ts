/** `muster agent`: runs a server in this process until a signal ends it. */
import { misused } from '../flags.ts'
import { exits, noOperands, type Verb } from '../verb.ts'

/** What the process that runs an agent is told; `main` hands it to the agent. */
export type AgentArguments = {
  /** Files and folders, later over earlier. */
  readonly configPaths: readonly string[]
  /** One server in a temporary folder that goes when the process ends. */
  readonly dev: boolean
  /** The configuration is read, and no agent started. */
  readonly checkOnly?: true
}

/** `run` resolves once the agent is up; the process ends by a signal. With `checkOnly` it resolves if an agent would take the files. */
export function agentVerb(run: (args: AgentArguments) => Promise<void>): Verb {
  return {
    operands: noOperands,
    flags: {
      config: {
        summary: 'A file (*.hcl, *.json) or a folder of them; repeatable, later over earlier',
        value: 'FILE|DIR',
      },
      check: {
        summary: 'Reads the configuration, says what is wrong with it, and starts nothing',
        value: null,
      },
      dev: {
        summary: 'One server in a temporary folder, on free ports if need be; removed at the end',
        value: null,
      },
    },
    async run({ flags, terminal }) {
      const configPaths = flags.all('config')
      const dev = flags.has('dev')
      if (configPaths.length === 0 && !dev) misused('an agent needs -config FILE|DIR, or -dev')
      if (flags.has('check')) {
        if (dev) misused('-check reads files, and -dev needs none; leave one of them out')
        await run({ configPaths, dev, checkOnly: true })
        terminal.out('The configuration is as it should be\n')
        return exits.ok
      }
      await run({ configPaths, dev })
      return null
    },
  }
}
