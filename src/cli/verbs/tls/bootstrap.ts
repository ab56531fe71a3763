/** `muster tls bootstrap`: all certificates of a cluster at once, and again to renew them. */
import { join, relative, resolve } from 'node:path'
import {
  bootstrapHostsMax,
  bootstrapServersMax,
  bootstrapTls,
  type Bootstrapped,
} from '../../../tls/bootstrap.ts'
import { authorityFile } from '../../../tls/certificates.ts'
import { countFlag, misused } from '../../flags.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'
import { isDnsName, isIpAddress, isRegion } from './names.ts'

const daysDefault = 365
const folderDefault = 'muster-tls'

export const tlsBootstrap: Verb = {
  operands: noOperands,
  about: `
Makes an authority, and a folder of certificate and key for each server and one for all client
agents. An agent needs its folder and one line of configuration, tls { folder = "…" }: then RPC and
the HTTP API speak TLS, and client agents send requests to servers alone. The authority's key stays
where it is made. Run it again in the same place to renew the certificates, or to add servers.
EC P-256.
`,
  flags: {
    servers: {
      summary: `How many servers, 1 to ${bootstrapServersMax}; as many as there are, else 3`,
      value: 'COUNT',
    },
    region: { summary: 'The region; that of what is there, else global', value: 'NAME' },
    host: {
      summary: 'A name or address at which programs reach an agent; repeatable, kept',
      value: 'HOST',
    },
    days: {
      summary: `How long they are valid; ${daysDefault}, never longer than the authority`,
      value: 'COUNT',
    },
    dir: { summary: `The folder for all of it; ${folderDefault}`, value: 'DIR' },
  },
  async run({ flags, terminal }) {
    const servers = countFlag(flags, 'servers', 1) ?? null
    if (servers !== null && servers > bootstrapServersMax) {
      misused(`-servers is 1 to ${bootstrapServersMax}`)
    }
    const region = flags.last('region') ?? null
    if (region !== null && !isRegion(region))
      misused('-region is 1 to 63 letters, digits and dashes')
    const hosts = flags.all('host')
    const bad = hosts.find((host) => !isIpAddress(host) && !isDnsName(host))
    if (bad !== undefined) misused(`${JSON.stringify(bad)} is no DNS name and no IP address`)
    if (hosts.length > bootstrapHostsMax) misused(`at most ${bootstrapHostsMax} times -host`)
    const days = countFlag(flags, 'days', 1) ?? daysDefault
    const folder = flags.last('dir') ?? folderDefault
    const made = await bootstrapTls({
      folder,
      region,
      servers,
      hosts,
      days,
      nowMs: terminal.nowMs(),
    })
    if (made.endsWithAuthority) {
      terminal.err(`They end with their authority: ${made.notAfter.toISOString()}\n`)
    }
    terminal.out(report(made))
    return exits.ok
  },
}

function report(made: Bootstrapped): string {
  const rows = [
    [made.authority, 'the authority: its key stays here, no agent needs it'],
    ...made.servers.map((path) => [path, 'for one server']),
    [made.client, 'for every client agent'],
  ]
  const width = Math.max(...rows.map(([path = '']) => path.length))
  const table = rows.map(([path = '', what]) => `${path.padEnd(width)}  ${what}`).join('\n')
  const until = made.notAfter.toISOString().slice(0, 10)
  const ca = short(join(made.authority, authorityFile))
  const steps = made.isRenewal
    ? `Copy each folder over the one on its machine and send the agent SIGHUP.`
    : `Copy each folder to its machine, readable by the agent's user alone, and add a line to the
agent's configuration that names it:

  tls { folder = "/etc/muster/tls" }

Then ask with the certificate of the authority:

  curl --cacert ${ca} https://127.0.0.1:4646/v1/status/leader
  muster status -address https://127.0.0.1:4646 -ca-cert ${ca}

Run it again to renew them.`
  return `${table}\n\nRegion ${made.region}, valid until ${until}.\n\n${steps}\n`
}

function short(path: string): string {
  const near = relative(process.cwd(), resolve(path))
  return near.startsWith('..') ? path : near
}
