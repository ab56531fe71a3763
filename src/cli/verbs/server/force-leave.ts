/** `muster server force-leave`. */
import { MusterError } from '../../../lib/errors.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'
import { membersOf } from './pool.ts'

export const serverForceLeave: Verb = {
  operands: oneOperand('NODE'),
  about: `
Gives a failed member up for good: it has left, and the leader removes it from the consensus group.
NODE is its name, with or without the region. A member that lives stays: stop it first.
`,
  flags: {
    prune: { summary: 'Take it off the list as well', value: null },
    ...connectionFlags,
  },
  async run(call) {
    const { flags, operands, terminal } = call
    const [node = ''] = operands
    const prune = flags.has('prune')
    const client = await ApiClient.open(call)
    // The API says yes to a name that no member has and for a member that lives: here a person is told.
    const { region, members } = membersOf(await client.get('/v1/agent/members'))
    const found =
      members.find(({ name }) => name === node) ??
      members.find(({ name }) => name === `${node}.${region}`)
    if (found?.status === 'alive') {
      throw new MusterError('conflict', `${found.name} is alive and stays: stop it first`)
    }
    await client.ask('PUT', '/v1/agent/force-leave', {
      search: { node, prune: prune ? '' : null },
    })
    if (found === undefined) {
      terminal.err(`There is no member ${JSON.stringify(node)}: nothing was to be given up\n`)
    } else {
      terminal.out(`Gave up ${found.name}${prune ? ' and took it off the list' : ''}\n`)
    }
    return exits.ok
  },
}
