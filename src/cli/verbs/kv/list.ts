/** `muster kv list`. */
import { listOf } from '../../api/answer.ts'
import { ApiClient, ApiRefusal, escapePath } from '../../api/client.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { visible } from '../../print/table.ts'
import { exits, type Verb } from '../../verb.ts'

export const kvList: Verb = {
  operands: { usage: '[PREFIX]', countMin: 0, countMax: 1 },
  about: `
Lists the keys that begin with PREFIX, one a line. With -separator only up to its first
occurrence behind the prefix, as in a folder: muster kv list -separator / app/
`,
  flags: {
    separator: { summary: 'Cut names behind this', value: 'TEXT' },
    stale: { summary: 'From the agent asked, even if it lags behind', value: null },
    ...formatFlags,
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, operands, terminal } = call
    const [prefix = ''] = operands
    formatOf(flags)
    const client = await ApiClient.open(call)
    const names = await client
      .get(`/v1/kv/${escapePath(prefix)}`, {
        keys: '',
        separator: flags.last('separator'),
        stale: flags.has('stale') ? '' : null,
        namespace: client.settings.namespace,
      })
      .catch((error: unknown) => {
        if (error instanceof ApiRefusal && error.status === 404) return []
        throw error
      })
    const list = listOf(names).filter((name) => typeof name === 'string')
    await show(call, [...list], () => list.map((name) => `${visible(name)}\n`).join(''))
    // Beside the output, so that a pipe gets keys and nothing else.
    if (list.length === 0) terminal.err('No keys found\n')
    return exits.ok
  },
}
