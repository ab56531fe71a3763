/** A server with access control, an orchestrator beside it, and short words for what tests of logins do. */
import { join } from 'node:path'
import type { Test } from 'tap'
import { orchestratorDomain, orchestratorIn } from '../../../src/domains/orchestrator/domain.ts'
import { serverDomains } from '../../../src/domains/registry.ts'
import { serverOfOne, type Answer, type ServerOfOneOptions } from '../server-of-one.ts'
import { reviewServer } from './review-server.ts'
import { pairOf, projected, publicPem, signed } from './tokens.ts'

export type Issued = {
  readonly auth: {
    readonly client_token: string
    readonly accessor: string
    readonly policies: readonly string[]
    readonly metadata: Readonly<Record<string, string>>
    readonly lease_duration: number
    readonly renewable: boolean
  }
}

/** `podFolder`: as if the server ran in a pod; default: there is none. */
export async function serviceOfOne(
  t: Test,
  { podFolder, ...options }: ServerOfOneOptions & { readonly podFolder?: string } = {},
) {
  const pod = podFolder ?? join(t.testdirName, 'no-pod')
  const domains = serverDomains.map((domain) =>
    domain === orchestratorDomain ? orchestratorIn(pod) : domain,
  )
  const server = await serverOfOne(t, { acl: { enabled: true }, domains, ...options })
  const bootstrapped = await server.ask('PUT', '/v1/acl/bootstrap')
  const { SecretID: root } = bootstrapped.json() as { readonly SecretID: string }
  const orchestrator = await reviewServer(t)
  const pair = pairOf('P-256')
  const asRoot = (method: string, url: string, body?: unknown): Promise<Answer> =>
    server.ask(method, url, body, root)
  const config = {
    orchestrator_host: orchestrator.url,
    orchestrator_ca_cert: orchestrator.authority,
    pem_keys: [publicPem(pair).trim()],
  }
  const role = {
    bound_service_account_names: 'till',
    bound_service_account_namespaces: ['shop'],
    token_policies: ['till'],
  }
  return {
    server,
    root,
    asRoot,
    orchestrator,
    pair,
    config,
    role,
    /** Writes configuration and role; what is given goes before the usual. */
    configure: async (moreConfig: object = {}, moreRole: object = {}) => {
      const written = await asRoot('POST', '/v1/auth/orchestrator/config', {
        ...config,
        ...moreConfig,
      })
      const body = { ...role, ...moreRole }
      const roleWritten = await asRoot('POST', '/v1/auth/orchestrator/role/till', body)
      for (const { status, body } of [written, roleWritten]) {
        if (status !== 204 && status !== 200) throw new Error(`${status} ${body}`)
      }
    },
    /** A good token, but for what is given. */
    jwt: (more: object = {}) =>
      signed({ alg: 'ES256' }, { ...projected(Date.now()), ...more }, pair),
    logIn: (jwt: unknown, role: unknown = 'till', mount = 'orchestrator') =>
      server.ask('POST', `/v1/auth/${mount}/login`, { role, jwt }),
  }
}

/** Throws for a refusal. */
export function issued(answer: Answer): Issued['auth'] {
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.body}`)
  return (answer.json() as Issued).auth
}
