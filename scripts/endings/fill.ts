/** Makes what is to end, through the API of a cluster or, where it has no endpoint yet, through an archive. */
import type { HttpClient } from '../../test/support/http-client.ts'
import { drawToken, type TokenSpec } from '../../src/domains/acl/issue.ts'
import { AclMachine } from '../../test/domains/acl/acl-machine.ts'
import { archiveOf } from './archive-of.ts'

const writersMax = 32
const keysPerTransaction = 64

/** Runs `one` for each number, several at a time. */
async function each(count: number, one: (at: number) => Promise<void>): Promise<void> {
  let next = 0
  const work = async () => {
    while (next < count) await one(next++)
  }
  await Promise.all(Array.from({ length: writersMax }, work))
}

export async function registerNode(http: HttpClient, node: string): Promise<void> {
  const body = JSON.stringify({ Node: node, Address: '127.0.0.1' })
  await http.json('PUT', '/v1/catalog/register', { body })
}

export async function createSession(http: HttpClient, node: string): Promise<string> {
  const body = JSON.stringify({ Node: node, NodeChecks: [], LockDelay: '1ms' })
  const { ID } = (await http.json('PUT', '/v1/session/create', { body })) as { readonly ID: string }
  return ID
}

export async function lockKeys(http: HttpClient, session: string, count: number): Promise<void> {
  await each(Math.ceil(count / keysPerTransaction), async (at) => {
    const first = at * keysPerTransaction
    const operations = Array.from(
      { length: Math.min(keysPerTransaction, count - first) },
      (_, step) => {
        const Key = `held/${String(first + step).padStart(7, '0')}`
        return { KV: { Verb: 'lock', Key, Value: 'dmFsdWU=', Session: session } }
      },
    )
    await http.json('PUT', '/v1/txn', { body: JSON.stringify(operations), timeoutMs: 60_000 })
  })
}

export async function createSessions(http: HttpClient, node: string, count: number): Promise<void> {
  await each(count, async () => {
    await createSession(http, node)
  })
}

export type LeasedTokens = {
  /** Its pieces. */
  readonly archive: readonly Buffer[]
  readonly root: string
  /** The parent's accessor, and secrets of its children. */
  readonly parent: string
  readonly children: readonly string[]
  /** Of tokens that are no children. */
  readonly others: readonly string[]
}

const entriesPerBatch = 512
const secretsKept = 50_000
const leaseMs = 30 * 24 * 3_600_000

/** Tokens with leases as a login makes them, `count` in all, of which one has so many children. */
export async function leasedTokens(count: number, childCount: number): Promise<LeasedTokens> {
  const ends: (() => unknown)[] = []
  const acl = await AclMachine.open({ teardown: (end) => ends.unshift(end) })
  acl.nowMs = Date.now()
  try {
    await acl.putPolicy('probe', 'key_prefix "" { policy = "write" }')
    const root = await acl.makeToken({ type: 'management' })
    const parent = await acl.makeToken({ policies: ['probe'] })
    const secrets: { children: string[]; others: string[] } = { children: [], others: [] }
    for (let made = 0; made < count; made += entriesPerBatch) {
      const tokens = Array.from({ length: Math.min(entriesPerBatch, count - made) }, (_, step) => {
        const isChild = made + step < childCount
        const { token, secret } = drawToken(
          {
            ...leased(acl.nowMs, made + step),
            ...(isChild ? { parent: parent.accessor } : {}),
          },
          null,
        )
        const kept = isChild ? secrets.children : secrets.others
        if (kept.length < secretsKept) kept.push(secret)
        return token
      })
      const first = acl.machine.appliedIndex + 1
      await acl.machine.apply(
        tokens.map((args, at) => ({
          index: first + at,
          term: 1,
          kind: 'command' as const,
          data: acl.machine.encodeCommand({ type: 'acl.createIssuedToken', args }),
        })),
      )
    }
    const archive = await archiveOf(acl.machine)
    return { archive, root: root.secret, parent: parent.accessor, ...secrets }
  } finally {
    for (const end of ends) await end()
  }
}

function leased(nowMs: number, number: number): TokenSpec {
  return {
    name: `ldap-user${number}`,
    description: '',
    type: 'client',
    policies: ['default', 'probe'],
    roles: [],
    createTimeMs: nowMs,
    // They end one after another.
    expirationTimeMs: nowMs + leaseMs + number,
    lease: {
      ttlMs: leaseMs,
      renewable: true,
      periodMs: null,
      explicitMaxTtlMs: null,
      renewTimeMs: null,
    },
    metadata: [['username', `user${number}`]],
    path: `auth/ldap/login/user${number}`,
  }
}

export type TokenFamily = {
  readonly archive: Buffer
  /** A secret that may do everything. */
  readonly root: string
  /** The parent's accessor, and the secret of one of its children. */
  readonly parent: string
  readonly child: string
}

/** A token with so many children. */
export async function tokenFamily(count: number): Promise<TokenFamily> {
  const ends: (() => unknown)[] = []
  const acl = await AclMachine.open({ teardown: (end) => ends.unshift(end) })
  try {
    const root = await acl.makeToken({ type: 'management' })
    const parent = await acl.makeToken({ type: 'management' })
    let child = ''
    await acl.putPolicy('probe', 'key_prefix "" { policy = "write" }')
    for (let made = 0; made < count; made += 1) {
      const { secret } = await acl.makeChild(parent.accessor, { policies: ['probe'] })
      child = secret
    }
    const archive = Buffer.concat(await archiveOf(acl.machine))
    return { archive, root: root.secret, parent: parent.accessor, child }
  } finally {
    for (const end of ends) await end()
  }
}
