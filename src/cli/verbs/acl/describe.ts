/** What the commands about tokens, policies and roles share: where they are, and how they look. */
import { MusterError } from '../../../lib/errors.ts'
import { integerOf, listOf, objectOf, textOf, textsOf } from '../../api/answer.ts'
import { ApiRefusal, type ApiClient } from '../../api/client.ts'
import type { Json, JsonObject } from '../../../lib/exact-json.ts'
import { pairs } from '../../print/table.ts'
import type { Flags } from '../../flags.ts'

export type Kind = 'token' | 'policy' | 'role'

export function aclPath(kind: Kind, name: string): string {
  return `/v1/acl/${kind}/${encodeURIComponent(name)}`
}

/** The list of a kind. */
export const listPaths = {
  token: '/v1/acl/tokens',
  policy: '/v1/acl/policies',
  role: '/v1/acl/roles',
} as const satisfies Readonly<Record<Kind, string>>

/** Throws `not_found`. */
export async function findOne(client: ApiClient, kind: Kind, name: string): Promise<Json> {
  return client.get(aclPath(kind, name)).catch((error: unknown) => {
    throw unknownOr(error, kind, name)
  })
}

export function unknownOr(error: unknown, kind: Kind, name: string): unknown {
  return error instanceof ApiRefusal && error.status === 404
    ? new MusterError('not_found', `there is no ${kind} ${JSON.stringify(name)}`)
    : error
}

export function describeToken(json: Json): string {
  const row = objectOf(json)
  const secret = 'SecretID' in row ? textOf(row, 'SecretID') : null
  return pairs([
    ['Accessor ID', textOf(row, 'AccessorID')],
    ...(secret === null ? [] : [['Secret ID', secret] as const]),
    ['Name', textOf(row, 'Name')],
    ['Description', textOf(row, 'Description')],
    ['Type', textOf(row, 'Type')],
    ['Policies', textsOf(row, 'Policies').join(', ') || '<none>'],
    ['Roles', namesIn(row, 'Roles').join(', ') || '<none>'],
    ['Create Time', textOf(row, 'CreateTime')],
    ['Expiration', expirationOf(row)],
    ['Create Index', integerOf(row, 'CreateIndex')],
    ['Modify Index', integerOf(row, 'ModifyIndex')],
  ])
}

export function expirationOf(row: JsonObject): string {
  return 'ExpirationTime' in row ? textOf(row, 'ExpirationTime') : '<none>'
}

/** Of a list of `{"Name": …}`. */
export function namesIn(row: JsonObject, member: string): readonly string[] {
  return listOf(row[member]).map((item) => textOf(objectOf(item), 'Name'))
}

/** Options that stand for members of a token; what is not given stays away. */
export function tokenMembers(flags: Flags): JsonObject {
  const policies = flags.all('policy')
  const roles = flags.all('role')
  const type = flags.last('type')
  const name = flags.last('name')
  const description = flags.last('description')
  return {
    ...(name !== undefined && { Name: name }),
    ...(description !== undefined && { Description: description }),
    ...(type !== undefined && { Type: type }),
    ...(policies.length > 0 && { Policies: policies }),
    ...(roles.length > 0 && { Roles: roles.map((role) => ({ Name: role })) }),
  }
}

export const tokenFlags = {
  name: { summary: 'What to call it', value: 'TEXT', empty: true },
  description: { summary: 'What it is for', value: 'TEXT', empty: true },
  type: { summary: 'client or management', value: 'TYPE' },
  policy: { summary: 'One policy it has; repeatable', value: 'NAME' },
  role: { summary: 'One role it has; repeatable', value: 'NAME' },
} as const
