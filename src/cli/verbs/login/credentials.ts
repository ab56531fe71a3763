/** What a user logs in with, from KEY=VALUE, the environment, a prompt, or the files of a pod. */
import { readFile } from 'node:fs/promises'
import { escapePath } from '../../api/client.ts'
import { misused } from '../../flags.ts'
import { itemOf } from '../../items.ts'
import type { Sources } from '../../source.ts'
import type { Call } from '../../verb.ts'

/** Where a pod has the token of its service account. */
const podTokenFile = '/var/run/secrets/kubernetes.io/serviceaccount/token'

const passwordVariables = ['MUSTER_LDAP_PASSWORD', 'SERVICE_LDAP_PASSWORD', 'VAULT_LDAP_PASSWORD']

export type Credentials<Password> =
  | { readonly type: 'ldap'; readonly username: string; readonly password: Password }
  | { readonly type: 'orchestrator'; readonly role: string; readonly jwt: string }

/** `asks`: a password that is nowhere is asked for; else it is null. */
export async function credentialsOf<Asks extends boolean>(
  call: Call,
  method: string,
  sources: Sources,
  asks: Asks,
): Promise<Credentials<Asks extends true ? string : string | null>>
export async function credentialsOf(
  call: Call,
  method: string,
  sources: Sources,
  asks: boolean,
): Promise<Credentials<string | null>> {
  const given = new Map<string, string>()
  for (const word of call.operands) {
    const [key, value] = await itemOf(word, sources)
    given.set(key, value)
  }
  switch (method) {
    case 'ldap': {
      const username = given.get('username') ?? call.terminal.env('USER') ?? ''
      if (username === '') misused('who logs in? username=NAME')
      const known = given.get('password') ?? passwordFrom(call)
      const password = known ?? (asks ? await secret(call, `Password of ${username}`) : null)
      return { type: 'ldap', username, password }
    }
    case 'orchestrator':
    case 'kubernetes': {
      const role = given.get('role') ?? misused('as which role? role=NAME')
      return { type: 'orchestrator', role, jwt: (given.get('jwt') ?? (await podToken())).trim() }
    }
    default:
      return misused(`-method is token, ldap, orchestrator or kubernetes, not ${method}`)
  }
}

/** As a path of the API has it. */
export function mountOf({ flags }: Call, method: string): string {
  return escapePath((flags.last('path') ?? method).replace(/^\/+|\/+$/g, ''))
}

function passwordFrom({ terminal }: Call): string | null {
  for (const name of passwordVariables) {
    const password = terminal.env(name)
    if (password !== undefined) return password
  }
  return null
}

/** Asked for without being shown. */
export async function secret({ terminal }: Call, what: string): Promise<string> {
  if (!terminal.inIsTerminal) misused(`${what}: there is no terminal to ask; see help login`)
  terminal.err(`${what} (hidden): `)
  try {
    return await terminal.secret()
  } finally {
    terminal.err('\n')
  }
}

async function podToken(): Promise<string> {
  try {
    return await readFile(podTokenFile, 'utf8')
  } catch {
    return misused(`jwt=@FILE is missing, and there is none in ${podTokenFile}`)
  }
}
