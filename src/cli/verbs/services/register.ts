/** `muster services register`. */
import { ApiClient } from '../../api/client.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import { connectionFlags } from '../../api/settings.ts'
import { countFlag, misused, type Flags } from '../../flags.ts'
import { pairsOfFlag } from '../../items.ts'
import { Sources } from '../../source.ts'
import { exits, type Verb } from '../../verb.ts'
import { servicesIn } from './definition.ts'

const filesMax = 256

export const servicesRegister: Verb = {
  operands: { usage: '[FILE|-...]', countMin: 0, countMax: filesMax },
  about: `
Registers services with the agent asked, which runs their checks and brings them back after a
restart. A FILE says all of it, in HCL or JSON:

  service {
    name = "web"
    port = 80
    check { http = "http://127.0.0.1/", interval = "10s" }
  }

Without one, options describe a service without checks.
`,
  flags: {
    name: { summary: 'Its name', value: 'NAME' },
    id: { summary: 'Its ID on this agent [its name]', value: 'ID' },
    'service-address': { summary: 'Where it is [where its node is]', value: 'HOST' },
    port: { summary: 'Its port', value: 'PORT' },
    tag: { summary: 'A tag; repeatable', value: 'TAG' },
    meta: { summary: 'An entry of its meta; repeatable', value: 'KEY=VALUE' },
    ...connectionFlags,
  },
  async run(call) {
    const { flags, operands, terminal } = call
    const sources = new Sources(terminal)
    const fromFlags = serviceOf(flags)
    if ((fromFlags !== null) === operands.length > 0) {
      misused('give either a FILE, or -name and what else there is to say')
    }
    const services = fromFlags === null ? [] : [fromFlags]
    for (const path of operands) services.push(...(await servicesIn(path, sources)))
    const client = await ApiClient.open(call)
    for (const service of services) {
      await client.ask('PUT', '/v1/agent/service/register', { json: service })
      terminal.out(`Registered service ${JSON.stringify(service['name'])}\n`)
    }
    return exits.ok
  },
}

/** Null when no option describes one. */
function serviceOf(flags: Flags): JsonObject | null {
  const given = ['name', 'id', 'service-address', 'port', 'tag', 'meta'].some(
    (name) => flags.last(name) !== undefined,
  )
  if (!given) return null
  const name = flags.last('name') ?? misused('-name is missing')
  const id = flags.last('id')
  const address = flags.last('service-address')
  const port = countFlag(flags, 'port', 0)
  return {
    name,
    tags: [...flags.all('tag')],
    meta: Object.fromEntries(pairsOfFlag(flags, 'meta')),
    ...(id !== undefined && { id }),
    ...(address !== undefined && { address }),
    ...(port !== undefined && { port }),
  }
}
