/** `muster monitor`: the log of a server as it is written, until Ctrl-C or until its reader is gone. */
import { MusterError } from '../../lib/errors.ts'
import { logLevels } from '../../lib/log.ts'
import { ApiClient } from '../api/client.ts'
import { textOfFrames } from '../api/frames.ts'
import { connectionFlags } from '../api/settings.ts'
import { misused, type Flags } from '../flags.ts'
import { visibleByLine } from '../print/table.ts'
import { exits, noOperands, type Verb } from '../verb.ts'

export const monitor: Verb = {
  operands: noOperands,
  about: `
Follows the log of the agent asked, or of another server, until Ctrl-C. The level is the reader's
own and may be below the server's. The exit code is 1 when the server ends the log, as it does when
it stops.
`,
  flags: {
    'log-level': { summary: `${logLevels.join(', ')} [info]`, value: 'LEVEL' },
    'server-id': {
      summary: 'Of this server: its ID, its name, name.region, or leader',
      value: 'SERVER',
    },
    'node-id': { summary: 'Of the client agent of this node, by its whole ID', value: 'NODE' },
    json: { summary: 'Each line a JSON object', value: null },
    'log-json': { summary: 'The same as -json', value: null },
    ...connectionFlags,
  },
  async run(call) {
    const { flags, terminal } = call
    const level = levelOf(flags)
    const client = await ApiClient.open(call)
    // In frames, not plain: they come each second, so that silence means that the agent is gone.
    const body = await client.download('/v1/agent/monitor', {
      log_level: level,
      log_json: String(flags.has('json') || flags.has('log-json')),
      server_id: flags.last('server-id'),
      node_id: flags.last('node-id'),
    })
    for await (const text of textOfFrames(body)) {
      if (terminal.outIsGone()) return exits.ok
      if (text !== '') terminal.out(visibleByLine(text))
    }
    throw new MusterError('unavailable', 'the agent ended the log; did the server stop?')
  },
}

function levelOf(flags: Flags): string {
  const text = flags.last('log-level') ?? 'info'
  const level = logLevels.find((known) => known === text.toLowerCase())
  return (
    level ?? misused(`-log-level is one of ${logLevels.join(', ')}, not ${JSON.stringify(text)}`)
  )
}
