/** `muster agent`: runs a server in this process until a signal ends it. */
import { misused } from '../flags.ts'
import { noOperands, type Verb } from '../verb.ts'

/** What the process that runs an agent is told; `main` hands it to the agent. */
export type AgentArguments = {
  /** Files and folders, later over earlier. */
  readonly configPaths: readonly string[]
  /** One server in a temporary folder that goes when the process ends. */
  readonly dev: boolean
}

/** `run` resolves once the agent is up; the process ends by a signal. */
export function agentVerb(run: (args: AgentArguments) => Promise<void>): Verb {
  return {
    operands: noOperands,
    flags: {
      config: {
        summary: 'A file (*.hcl, *.json) or a folder of them; repeatable, later over earlier',
        value: 'FILE|DIR',
      },
      dev: {
        summary: 'One server in a temporary folder, on free ports if need be; removed at the end',
        value: null,
      },
    },
    async run({ flags }) {
      const configPaths = flags.all('config')
      const dev = flags.has('dev')
      if (configPaths.length === 0 && !dev) misused('an agent needs -config FILE|DIR, or -dev')
      await run({ configPaths, dev })
      return null
    },
  }
}
