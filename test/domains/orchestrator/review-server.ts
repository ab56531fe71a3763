/** The token-review endpoint of an orchestrator, over HTTPS with an authority of its own. What it answers is the test's choice. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:https'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { SecureVersion, TLSSocket } from 'node:tls'
import type { Test } from 'tap'
import { lifeOf, makeAuthority, makeLeaf, type Pem } from '../../../src/tls/certificates.ts'
import { account, type Account } from './tokens.ts'

export type Reviewed = {
  readonly method: string
  readonly url: string
  readonly authorization: string | undefined
  readonly contentType: string | undefined
  readonly body: {
    readonly kind: string
    readonly apiVersion: string
    readonly spec: { readonly token: string; readonly audiences?: readonly string[] }
  }
  readonly tls: string | null
}

type Handler = (reviewed: Reviewed, response: ServerResponse) => void

export type ReviewServer = {
  /** `https://127.0.0.1:port` */
  readonly url: string
  /** The authority of its certificate, in PEM. */
  readonly authority: string
  readonly port: number
  readonly reviews: readonly Reviewed[]
  /** Connections that were ever made. */
  readonly connections: () => number
  readonly server: Server
  /** From now on; without: the account is who it says it is. */
  answer(handler: Handler): void
  /** From now on with a certificate of another authority, which it resolves with. */
  replaceAuthority(): Promise<string>
}

export type ReviewServerOptions = {
  readonly account?: Account
  readonly maxVersion?: SecureVersion
  /** In the certificate; default 127.0.0.1 and localhost. */
  readonly names?: { readonly dnsNames: readonly string[]; readonly ipAddresses: readonly string[] }
}

/** A review that says: it is this account, for whatever audiences were asked for. */
export function goodReview({ namespace, name, uid }: Account, audiences?: readonly string[]) {
  return {
    kind: 'TokenReview',
    apiVersion: 'authentication.k8s.io/v1',
    status: {
      authenticated: true,
      user: {
        username: `system:serviceaccount:${namespace}:${name}`,
        uid,
        groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
      },
      ...(audiences === undefined ? {} : { audiences }),
    },
  }
}

export function sendJson(response: ServerResponse, value: unknown, status = 201): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(typeof value === 'string' ? value : JSON.stringify(value))
}

export async function reviewServer(
  t: Test,
  options: ReviewServerOptions = {},
): Promise<ReviewServer> {
  const made = await certificate(options)
  const reviews: Reviewed[] = []
  const good: Handler = ({ body }, response) =>
    sendJson(response, goodReview(options.account ?? account, body.spec.audiences))
  let handler = good
  let connections = 0
  const { maxVersion } = options
  const server = createServer(
    {
      ...made.leaf,
      ...(maxVersion === undefined
        ? {}
        : { maxVersion, minVersion: 'TLSv1', ciphers: 'DEFAULT:@SECLEVEL=0' }),
    },
    (request, response) => {
      void read(request).then((text) => {
        const reviewed: Reviewed = {
          method: request.method ?? '',
          url: request.url ?? '',
          authorization: request.headers.authorization,
          contentType: request.headers['content-type'],
          body: JSON.parse(text),
          tls: (request.socket as TLSSocket).getProtocol(),
        }
        reviews.push(reviewed)
        handler(reviewed, response)
      })
    },
  )
  server.on('connection', () => {
    connections += 1
  })
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `https://127.0.0.1:${port}`,
    authority: made.authority,
    port,
    reviews,
    connections: () => connections,
    server,
    answer: (given) => {
      handler = given
    },
    replaceAuthority: async () => {
      const next = await certificate(options)
      server.setSecureContext(next.leaf)
      return next.authority
    },
  }
}

async function certificate({
  names = { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] },
}: ReviewServerOptions): Promise<{ authority: string; leaf: Pem }> {
  const life = lifeOf(Date.now(), 1)
  const authority = await makeAuthority(`orchestrator ${Math.random()}`, life)
  const subject = { commonName: names.dnsNames[0] ?? 'o.test', ...names }
  const leaf = await makeLeaf(authority, subject, { serves: true }, life)
  return { authority: authority.cert, leaf }
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
