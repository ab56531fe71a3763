/** `muster watch`: shows a view of the state once, or runs a command with it on each change. */
import { machineClock } from '../../lib/clock.ts'
import { ApiClient } from '../api/client.ts'
import { printJson } from '../../lib/exact-json.ts'
import { Servers } from '../api/servers.ts'
import { connectionFlags, namespaceFlag } from '../api/settings.ts'
import { programOf } from '../program.ts'
import { exits, type Verb } from '../verb.ts'
import { changes } from '../watch/changes.ts'
import { Handler } from '../watch/handler.ts'
import { viewFlags, viewOf, viewTypes } from '../watch/views.ts'

const stopSignals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM']
const passedSignals: readonly NodeJS.Signals[] = [...stopSignals, 'SIGHUP', 'SIGQUIT', 'SIGUSR2']

export const watch: Verb = {
  operands: { usage: '[COMMAND...]', countMin: 0, countMax: Infinity, commandAt: 0 },
  about: `
Prints what a key, a prefix, services, nodes or checks are now. With a command it goes on: the
command is run with it on standard input, as JSON, at once and whenever it has changed, one at a
time; MUSTER_INDEX is the index of it. When several changes come during one run, the next run
gets the last of them.

  muster watch -type key -key app/config 'jq -r .Value | base64 -d >app.conf'
  muster watch -type service -service web -passingonly=true ./balance.sh

While no server answers it tries again, longer and longer apart, up to half a minute. It ends
with exit code 1 when the command fails, and with 0 on SIGINT and SIGTERM, which the command
gets too.
`,
  flags: {
    type: { summary: viewTypes.join(', '), value: 'TYPE' },
    ...viewFlags,
    shell: { summary: 'Run it with $SHELL, or with -shell=false as it is [true]', value: null },
    stale: { summary: 'From the server asked, even if it lags behind', value: null },
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, operands, terminal } = call
    const view = viewOf(flags)
    const clients = await ApiClient.openAll(call)
    const servers = new Servers(clients, machineClock)
    await servers.assertReachable()
    const words = { words: operands, shell: flags.last('shell') !== 'false' }
    const handler = operands.length === 0 ? null : new Handler(programOf(words, terminal))
    const stop = new AbortController()
    const unheard = terminal.onSignals(passedSignals, (signal) => {
      handler?.pass(stop.signal.aborted ? 'SIGKILL' : signal)
      if (stopSignals.includes(signal)) stop.abort()
    })
    try {
      const found = changes({
        servers,
        clock: machineClock,
        view,
        search: {
          namespace: clients[0]?.settings.namespace,
          stale: flags.has('stale') ? '' : null,
        },
        signal: stop.signal,
        warn: (text) => terminal.err(`muster watch: ${text}\n`),
      })
      for await (const change of found) {
        if (handler === null) {
          terminal.out(printJson(change.shown))
          break
        }
        await handler.run(change).catch((error: unknown) => {
          // A user who asked for the end gets it, however the command took it.
          if (!stop.signal.aborted) throw error
        })
      }
    } finally {
      unheard()
    }
    return exits.ok
  },
}
