/** `muster services deregister`. */
import { textOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { misused } from '../../flags.ts'
import { Sources } from '../../source.ts'
import { exits, type Verb } from '../../verb.ts'
import { servicesIn } from './definition.ts'

const filesMax = 256

export const servicesDeregister: Verb = {
  operands: { usage: '[FILE|-...]', countMin: 0, countMax: filesMax },
  about: `
Takes services from the agent they were registered with, and their checks with them: by -id, or
those that a FILE describes.
`,
  flags: {
    id: { summary: 'The ID of a service', value: 'ID' },
    ...connectionFlags,
  },
  async run(call) {
    const { flags, operands, terminal } = call
    const sources = new Sources(terminal)
    const id = flags.last('id')
    if ((id !== undefined) === operands.length > 0) misused('give either a FILE or -id')
    const ids = id === undefined ? [] : [id]
    for (const path of operands) {
      for (const service of await servicesIn(path, sources)) {
        ids.push(textOf(service, 'id' in service ? 'id' : 'name'))
      }
    }
    const client = await ApiClient.open(call)
    for (const one of ids) {
      await client.ask('PUT', `/v1/agent/service/deregister/${encodeURIComponent(one)}`)
      terminal.out(`Deregistered service ${JSON.stringify(one)}\n`)
    }
    return exits.ok
  },
}
