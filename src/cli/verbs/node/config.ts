/** `muster node config`: the servers that a client agent knows. */
import { textsOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { misused } from '../../flags.ts'
import { visible } from '../../print/table.ts'
import { exits, type Verb } from '../../verb.ts'

export const nodeConfig: Verb = {
  operands: { usage: '[HOST:PORT...]', countMin: 0, countMax: 32 },
  about: `
Shows the servers that a client agent knows, or names others: it asks those until gossip has news.
`,
  flags: {
    servers: { summary: 'List them', value: null },
    'update-servers': { summary: 'Replace them by those that follow', value: null },
    ...connectionFlags,
  },
  async run(call) {
    const { flags, operands, terminal } = call
    if (flags.has('servers') === flags.has('update-servers')) {
      misused('say one of -servers and -update-servers')
    }
    const client = await ApiClient.open(call)
    if (flags.has('servers')) {
      if (operands.length > 0) misused('-servers takes no words')
      const servers = textsOf({ servers: await client.get('/v1/agent/servers') }, 'servers')
      terminal.out(servers.map((server) => `${visible(server)}\n`).join(''))
      return exits.ok
    }
    if (operands.length === 0) misused('-update-servers needs addresses, as in 10.0.0.1:4646')
    await client.ask('PUT', '/v1/agent/servers', { search: { address: operands } })
    terminal.out(`Updated the servers\n`)
    return exits.ok
  },
}
