/** `muster operator autopilot health`. */
import { flagOf, integerOf, listOf, objectOf, textOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import { connectionFlags } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import type { Style } from '../../print/style.ts'
import { pairs, table } from '../../print/table.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'

/** The status of an answer that tells of a server that is not healthy. */
const unhealthyStatus = 429

export const autopilotHealth: Verb = {
  operands: noOperands,
  about: `
Shows the servers as the leader sees them, and how many voters may fail before the cluster stands
still. The exit code is 1 when one of them is not healthy.
`,
  flags: { ...formatFlags, ...connectionFlags },
  async run(call) {
    formatOf(call.flags)
    const client = await ApiClient.open(call)
    const { json } = await client.ask('GET', '/v1/operator/autopilot/health', {
      also: [unhealthyStatus],
    })
    const answer = objectOf(json)
    const healthy = flagOf(answer, 'Healthy')
    await show(call, json, (style) => {
      const about = pairs([
        ['Healthy', { text: String(healthy), paint: healthy ? style.good : style.bad }],
        ['Failure Tolerance', integerOf(answer, 'FailureTolerance')],
      ])
      return `${about}\n${serverTable(listOf(answer['Servers']).map(objectOf), style)}`
    })
    return healthy ? exits.ok : exits.failed
  },
}

function serverTable(servers: readonly JsonObject[], style: Style): string {
  return table(
    style,
    [
      'Name',
      'ID',
      'Address',
      'Serf',
      'Version',
      'Leader',
      'Voter',
      'Healthy',
      'Last Contact',
      'Last Term',
      'Last Index',
      'Stable Since',
    ],
    servers.map((server) => {
      const healthy = flagOf(server, 'Healthy')
      const contact = textOf(server, 'LastContact')
      return [
        textOf(server, 'Name'),
        textOf(server, 'ID'),
        textOf(server, 'Address'),
        textOf(server, 'SerfStatus'),
        textOf(server, 'Version'),
        String(flagOf(server, 'Leader')),
        String(flagOf(server, 'Voter')),
        { text: String(healthy), paint: healthy ? style.good : style.bad },
        contact.startsWith('-') ? 'never' : contact,
        integerOf(server, 'LastTerm'),
        integerOf(server, 'LastIndex'),
        textOf(server, 'StableSince'),
      ]
    }),
  )
}
