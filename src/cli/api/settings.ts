/**
 * Which agent a command talks to, and as whom: from options, else from the environment, under Muster's names and under those
 * that users of Nomad's command line have set already.
 */
import { readFile } from 'node:fs/promises'
import { MusterError, textOf } from '../../lib/errors.ts'
import { misused, type FlagTable } from '../flags.ts'
import type { Call, Terminal } from '../verb.ts'
import { storedToken } from './token-file.ts'
import { withoutSlashesAtEnd } from '../../lib/slashes.ts'

export const defaultAddress = 'http://127.0.0.1:4646'

/** Of every command that asks an agent. */
export const connectionFlags: FlagTable = {
  address: {
    summary: `HTTP address, or several [MUSTER_ADDR; ${defaultAddress}]`,
    value: 'URL,...',
  },
  token: { summary: 'The access token [MUSTER_TOKEN]; safer there than here', value: 'TOKEN' },
  region: { summary: 'The region to ask [MUSTER_REGION]', value: 'NAME' },
  'ca-cert': { summary: 'Trust this authority (PEM) [MUSTER_CACERT]', value: 'FILE' },
  'client-cert': { summary: 'Our certificate (PEM) [MUSTER_CLIENT_CERT]', value: 'FILE' },
  'client-key': { summary: 'Its private key (PEM) [MUSTER_CLIENT_KEY]', value: 'FILE' },
  'tls-server-name': {
    summary: 'The name to expect in its certificate [MUSTER_TLS_SERVER_NAME]',
    value: 'NAME',
  },
  'tls-skip-verify': {
    summary: 'Do not verify its certificate [MUSTER_SKIP_VERIFY]; for trials',
    value: null,
  },
}

export const namespaceFlag: FlagTable = {
  namespace: { summary: 'The namespace [MUSTER_NAMESPACE; default]', value: 'NAME' },
}

export type Settings = {
  /** Without a slash at its end; at least one. Those behind the first are asked where one cannot be reached. */
  readonly addresses: readonly [URL, ...URL[]]
  readonly token: string | null
  readonly region: string | null
  readonly namespace: string | null
  readonly tls: {
    readonly ca: string | null
    readonly cert: string | null
    readonly key: string | null
    readonly serverName: string | null
    readonly verify: boolean
  }
}

export async function readSettings(call: Call): Promise<Settings> {
  const { flags, terminal } = call
  const chosen = (flag: string, variable: string): string | null =>
    flags.last(flag) ?? fromEnvironment(terminal, variable) ?? null
  const file = async (flag: string, variable: string): Promise<string | null> => {
    const path = chosen(flag, variable)
    return path === null ? null : readText(path, `-${flag}`)
  }
  const [ca, cert, key] = await Promise.all([
    file('ca-cert', 'CACERT'),
    file('client-cert', 'CLIENT_CERT'),
    file('client-key', 'CLIENT_KEY'),
  ])
  if ((cert === null) !== (key === null)) {
    misused('-client-cert and -client-key belong together: give both or none')
  }
  const token = chosen('token', 'TOKEN') ?? (await storedToken(terminal))
  if (token !== null && !/^[\x21-\x7e]+$/.test(token)) {
    misused('the token holds blanks or characters that no token has')
  }
  const unverified = flags.has('tls-skip-verify') || isTrue(terminal, 'SKIP_VERIFY')
  return {
    addresses: parseAddresses(
      flags.all('address').join(',') || (fromEnvironment(terminal, 'ADDR') ?? defaultAddress),
    ),
    token,
    region: chosen('region', 'REGION'),
    namespace: chosen('namespace', 'NAMESPACE'),
    tls: {
      ca,
      cert,
      key,
      serverName: chosen('tls-server-name', 'TLS_SERVER_NAME'),
      verify: !unverified,
    },
  }
}

/** `-address` may be given for each, or hold a list with commas, as the variable may. */
function parseAddresses(text: string): readonly [URL, ...URL[]] {
  const parts = text.split(',').map((part) => part.trim())
  const [first, ...others] = parts.filter((part) => part !== '').map(parseAddress)
  return first === undefined ? [parseAddress(text)] : [first, ...others]
}

/** Under Muster's name, else under Nomad's. */
export function fromEnvironment(terminal: Terminal, name: string): string | undefined {
  return terminal.env(`MUSTER_${name}`) ?? terminal.env(`NOMAD_${name}`)
}

function isTrue(terminal: Terminal, name: string): boolean {
  return ['1', 't', 'true'].includes((fromEnvironment(terminal, name) ?? '').toLowerCase())
}

/** `host:port` alone means HTTP. */
export function parseAddress(text: string): URL {
  const whole = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`
  const url = URL.canParse(whole) ? new URL(whole) : null
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    return misused(
      `the address ${JSON.stringify(text)} is no HTTP address; it looks like ${defaultAddress}`,
    )
  }
  if (url.username !== '' || url.password !== '') {
    misused('an address carries no user and no password; tokens go into MUSTER_TOKEN')
  }
  url.pathname = withoutSlashesAtEnd(url.pathname)
  url.search = ''
  url.hash = ''
  return url
}

async function readText(path: string, what: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new MusterError('invalid_argument', `${what}: ${textOf(error)}`, { cause: error })
  }
}
