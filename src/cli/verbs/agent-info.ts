/** `muster agent-info`: the figures of the agent asked, by section. */
import { objectOf, pairsOf } from '../api/answer.ts'
import { ApiClient } from '../api/client.ts'
import { connectionFlags } from '../api/settings.ts'
import { formatFlags, formatOf, show } from '../print/format.ts'
import { visible } from '../print/table.ts'
import { exits, noOperands, type Verb } from '../verb.ts'

export const agentInfo: Verb = {
  operands: noOperands,
  about: `
Shows the figures of the agent asked. -json and -t have its configuration, without secrets, and its
gossip member as well.
`,
  flags: { ...formatFlags, ...connectionFlags },
  async run(call) {
    formatOf(call.flags)
    const client = await ApiClient.open(call)
    const json = await client.get('/v1/agent/self')
    await show(call, json, (style) => {
      const stats = objectOf(objectOf(json)['stats'])
      // The server's own section comes a second time under Nomad's name, for Nomad's tools.
      const isTwin = (name: string) => name === 'nomad' && Object.hasOwn(stats, 'muster')
      const sections = Object.keys(stats)
        .filter((name) => !isTwin(name))
        .toSorted()
      return sections
        .map((name) => {
          const lines = pairsOf(stats, name)
            .toSorted(([left], [right]) => (left < right ? -1 : 1))
            .map(([key, value]) => `  ${visible(key)} = ${visible(value)}\n`)
          return `${style.heading(visible(name))}\n${lines.join('')}`
        })
        .join('')
    })
    return exits.ok
  },
}
