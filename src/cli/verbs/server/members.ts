/** `muster server members`: the gossip pool as the agent asked sees it. */
import { ApiClient, ApiRefusal } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { visible } from '../../print/table.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'
import { detailedTable, membersOf, memberTable, suspicionTable } from './pool.ts'

export const serverMembers: Verb = {
  operands: noOperands,
  about: `
Lists the members of the gossip pool as the agent asked sees them. With -detailed also whether UDP
reaches each one, its tags, and the newest doubt about it: when, by whom, over which path, why, and
the result.
`,
  flags: {
    detailed: { summary: 'Also tags, UDP and suspicions', value: null },
    ...formatFlags,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, terminal } = call
    const { type } = formatOf(flags)
    const client = await ApiClient.open(call)
    const json = await client.get('/v1/agent/members')
    const { members } = membersOf(json)
    const detailed = flags.has('detailed')
    const leader = type === 'table' ? await leaderOf(client) : ''
    await show(call, json, (style) => {
      if (!detailed) return memberTable(members, leader, style)
      const doubts = suspicionTable(members, style)
      return detailedTable(members, leader, style) + (doubts === '' ? '' : `\n${doubts}`)
    })
    if (type !== 'table') return exits.ok
    if (leader === '') terminal.err('The agent knows no leader\n')
    for (const { name } of members.filter(({ udpBlocked }) => udpBlocked)) {
      terminal.err(`${visible(name)} answers over TCP alone: its UDP is blocked on the way\n`)
    }
    return exits.ok
  },
}

/** Its RPC address; empty when there is none, which leaves the members worth showing. */
async function leaderOf(client: ApiClient): Promise<string> {
  try {
    const leader = await client.get('/v1/status/leader', { stale: '' })
    return typeof leader === 'string' ? leader : ''
  } catch (error) {
    if (error instanceof ApiRefusal) return ''
    throw error
  }
}
