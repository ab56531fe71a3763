/** docs/api.md says what the routes say, and its examples are answered as it says. */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/schema'
import { apiDocument } from '../../scripts/routes/document.ts'
import { dialectHeader } from '../../src/api/dialect.ts'
import type { DescribedRoute } from '../../src/api/route.ts'
import type { Pool } from '../../src/domains/members/pool.ts'
import { serverDomains } from '../../src/domains/registry.ts'
import { serverOfOne } from '../domains/server-of-one.ts'
import { poolMember } from '../support/pool-member.ts'
import { closed } from '../support/reply-shapes.ts'

const routes = serverDomains.flatMap((domain) => domain.routes ?? [])

/** One that lets everything be done to it. */
const pool: Pool = {
  members: () => [poolMember('one.global'), poolMember('web-1.global')],
  coordinates: () =>
    new Map([['web-1.global', { vector: [0.01], error: 0.5, adjustment: 0, height: 0.0001 }]]),
  join: async (addresses) => ({ joined: addresses.length, errors: [] }),
  forceLeave: () => {},
  keyring: {
    everywhere: async () => ({
      members: 2,
      answered: 2,
      errors: new Map(),
      keys: new Map([['a2V5', 2]]),
      primaryKeys: new Map([['a2V5', 2]]),
    }),
  },
}

t.test('docs/api.md is what npm run routes writes', async (t) => {
  const file = fileURLToPath(new URL('../../docs/api.md', import.meta.url))
  const written = await readFile(file, 'utf8')
  const made = await apiDocument(routes, file)
  t.ok(written === made, 'run npm run routes')
})

t.test('every endpoint has an example, which is answered with the status it names', async (t) => {
  const server = await serverOfOne(t, {
    acl: { enabled: true },
    answers: () => true,
    pool,
    userEvents: { fire: () => {}, onEvent: () => () => {} },
  })
  const kept = new Map<string, string>()
  const fill = (text: string) =>
    text.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      const value = kept.get(name)
      if (value === undefined) throw new Error(`no example kept ${name}`)
      return value
    })
  for (const route of inOrder(routes)) {
    const { method, path, dialect, example } = route
    if (example.shownOnly !== undefined) continue
    const url = fill(example.url ?? path)
    const headers = {
      ...(dialect !== undefined && { [dialectHeader]: dialect }),
      ...example.headers,
    }
    const body = filled(example.body, fill)
    const answer = await server.ask(method, url, body, kept.get('secret'), headers)
    const name = `${method} ${url}${dialect === undefined ? '' : ` (${dialect})`}`
    t.equal(answer.status, example.status ?? 200, `${name}: ${answer.body.slice(0, 200)}`)
    for (const [as, member] of Object.entries(example.keeps ?? {})) {
      kept.set(as, String(memberOf(answer.json(), member)))
    }
  }
})

t.test('the body of an example is as its route describes it', async (t) => {
  for (const { method, path, bodySchema, example } of routes) {
    if (bodySchema === undefined || example.body === undefined) continue
    const [fits, faults] = Compile(closed(bodySchema) as TSchema).Errors(example.body)
    t.ok(fits, `${method} ${path}: ${JSON.stringify(faults)}`)
  }
})

/** Texts in the body may name what was kept too. */
function filled(body: unknown, fill: (text: string) => string): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [
      name,
      typeof value === 'string' && /^\{\w+\}$/.test(value) ? fill(value) : value,
    ]),
  )
}

/** `auth.accessor`: a member of a member. */
function memberOf(json: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce((value, name) => (value as Record<string, unknown> | undefined)?.[name], json)
}

/** The first token, then what changes something, what reads, and what deletes. */
function inOrder(all: readonly DescribedRoute[]): readonly DescribedRoute[] {
  const turn = ({ method, path, dialect }: DescribedRoute) => {
    if (path === '/v1/acl/bootstrap' && dialect === undefined) return 0
    return method === 'PUT' || method === 'POST' ? 1 : method === 'DELETE' ? 3 : 2
  }
  return all.toSorted((left, right) => turn(left) - turn(right))
}
