/** `muster tls cert create`: the name in a certificate says what its holder is, and in which region. */
import { join } from 'node:path'
import { countFlag, misused, type Flags } from '../../flags.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'
import {
  authorityFile,
  authorityKeyFile,
  lifeOf,
  makeLeaf,
  readAuthority,
  refuseTaken,
  writePair,
} from '../../../tls/certificates.ts'
import { isDnsName, isIpAddress, isRegion } from './names.ts'

const daysDefault = 365
const namesMax = 64

const kinds = ['server', 'client', 'cli'] as const
type Kind = (typeof kinds)[number]

export const tlsCertCreate: Verb = {
  operands: noOperands,
  about: `
Makes a certificate for a server (server.<region>.muster), a client agent (client.<region>.muster)
or the command line (cli.<region>.muster), signed by the authority of 'muster tls ca create'.
Servers and clients also bear localhost and 127.0.0.1. The files are <region>-<kind>-muster.pem and
<region>-<kind>-muster-key.pem. EC P-256.
`,
  flags: {
    server: { summary: 'For a server', value: null },
    client: { summary: 'For a client agent', value: null },
    cli: { summary: 'For the command line', value: null },
    region: { summary: 'The region; global', value: 'NAME' },
    days: {
      summary: `How long it is valid; ${daysDefault}, never longer than the authority`,
      value: 'COUNT',
    },
    'additional-dnsname': { summary: 'One DNS name more; repeatable', value: 'NAME' },
    'additional-ipaddress': { summary: 'One IP address more; repeatable', value: 'ADDRESS' },
    ca: { summary: `The authority; ${authorityFile} in the folder`, value: 'FILE' },
    key: { summary: `Its private key; ${authorityKeyFile} in the folder`, value: 'FILE' },
    dir: { summary: 'The folder for the files; the current one', value: 'DIR' },
  },
  async run({ flags, terminal }) {
    const kind = kindOf(flags)
    const region = flags.last('region') ?? 'global'
    if (!isRegion(region)) misused('-region is 1 to 63 letters, digits and dashes')
    const days = countFlag(flags, 'days', 1) ?? daysDefault
    const names = namesOf(flags, kind, region)
    const folder = flags.last('dir') ?? '.'
    const files = { cert: `${region}-${kind}-muster.pem`, key: `${region}-${kind}-muster-key.pem` }
    await refuseTaken({ cert: join(folder, files.cert), key: join(folder, files.key) })
    const authority = await readAuthority(
      flags.last('ca') ?? join(folder, authorityFile),
      flags.last('key') ?? join(folder, authorityKeyFile),
      terminal.nowMs(),
    )
    const wanted = lifeOf(terminal.nowMs(), days)
    const cut = authority.notAfter < wanted.notAfter
    const life = cut ? { ...wanted, notAfter: authority.notAfter } : wanted
    const pem = await makeLeaf(authority, names, { serves: kind !== 'cli' }, life)
    const paths = await writePair(folder, files, pem)
    if (cut) terminal.err(`It ends with its authority: ${authority.notAfter.toISOString()}\n`)
    terminal.out(`Certificate: ${paths.cert}\nIts private key: ${paths.key}\n`)
    return exits.ok
  },
}

function kindOf(flags: Flags): Kind {
  const wanted = kinds.filter((kind) => flags.has(kind))
  const [only] = wanted
  return only === undefined || wanted.length > 1
    ? misused('say what the certificate is for, by one of -server, -client, -cli')
    : only
}

function namesOf(flags: Flags, kind: Kind, region: string) {
  const commonName = `${kind}.${region}.muster`
  const dnsNames = flags.all('additional-dnsname')
  const ipAddresses = flags.all('additional-ipaddress')
  const badName = dnsNames.find((name) => !isDnsName(name))
  if (badName !== undefined) misused(`${JSON.stringify(badName)} is no DNS name`)
  const badAddress = ipAddresses.find((address) => !isIpAddress(address))
  if (badAddress !== undefined) misused(`${JSON.stringify(badAddress)} is no IP address`)
  if (dnsNames.length + ipAddresses.length > namesMax) {
    misused(`a certificate bears at most ${namesMax} more names`)
  }
  const local = kind !== 'cli'
  return {
    commonName,
    dnsNames: [...new Set([commonName, ...(local ? ['localhost'] : []), ...dnsNames])],
    ipAddresses: [...new Set([...(local ? ['127.0.0.1'] : []), ...ipAddresses])],
  }
}
