/** A cluster with access control, and what tests of tokens ask of it: each request with a token of its own, at a server of choice. */
import type { Test } from 'tap'
import { startCluster, type Cluster, type ClusterOptions } from './cluster.ts'
import { eventually } from './eventually.ts'
import type { Servers } from './servers.ts'

export type Answered = { readonly status: number; readonly body: string }

export type Auth = {
  readonly client_token: string
  readonly accessor: string
  readonly policies: readonly string[]
  readonly lease_duration: number
}

export class TokenCluster<C extends Servers = Cluster> {
  readonly cluster: C
  /** A management token. */
  readonly root: string

  constructor(cluster: C, root: string) {
    this.cluster = cluster
    this.root = root
  }

  /** `of`: method and path. Rejects where no whole answer came. */
  ask(at: number, token: string | null, of: string, body?: unknown): Promise<Answered> {
    return ask(this.cluster, at, token, of, body)
  }

  /** The body of a 200 or 204; tried again while there is no leader, no key or no answer. */
  settled(at: number, token: string | null, of: string, body?: unknown): Promise<string> {
    return settled(this.cluster, at, token, of, body)
  }

  asRoot(of: string, body?: unknown): Promise<string> {
    const at = this.cluster.all.find((server) => this.cluster.server(server).running) ?? 0
    return this.settled(at, this.root, of, body)
  }

  /** A token made by the root token. */
  async made(at: number, body: object): Promise<Auth> {
    return authOf(await this.settled(at, this.root, 'POST /v1/auth/token/create', body))
  }

  async login(at: number, mount: string, name: string, password: string): Promise<Auth> {
    const of = `POST /v1/auth/${mount}/login/${name}`
    return authOf(await this.settled(at, null, of, { password }))
  }
}

export function authOf(body: string): Auth {
  return (JSON.parse(body) as { readonly auth: Auth }).auth
}

/** Its first token is the management token. */
export async function startTokenCluster(t: Test, options: ClusterOptions): Promise<TokenCluster> {
  const config = { acl: { enabled: true }, ...options.config }
  return withFirstToken(await startCluster(t, { ...options, config, writeFirst: false }))
}

/** Of servers with access control, and no token yet. */
export async function withFirstToken<C extends Servers>(cluster: C): Promise<TokenCluster<C>> {
  const made = await settled(cluster, await cluster.follower(), null, 'PUT /v1/acl/bootstrap')
  return new TokenCluster(cluster, (JSON.parse(made) as { readonly SecretID: string }).SecretID)
}

async function ask(
  cluster: Servers,
  at: number,
  token: string | null,
  of: string,
  body?: unknown,
): Promise<Answered> {
  const [method = '', path = ''] = of.split(' ')
  const reply = await cluster.http(at).request(method, path, {
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(token !== null && { headers: { 'x-service-token': token } }),
  })
  return { status: reply.status, body: reply.body.toString() }
}

async function settled(
  cluster: Servers,
  at: number,
  token: string | null,
  of: string,
  body?: unknown,
): Promise<string> {
  const answer = await eventually(of, async () => {
    const found = await ask(cluster, at, token, of, body)
    return found.status >= 500 ? undefined : found
  })
  if (answer.status === 200 || answer.status === 204) return answer.body
  throw new Error(`${of}: ${answer.status} ${answer.body}`)
}
