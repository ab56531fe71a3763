/**
 * Tokens, policies and roles in Consul's shapes. There policies and roles have UUIDs; here their names are their keys, and the
 * id is derived from the name: the same on every server, and over a restore. A policy that is made again under a name has the
 * id that the one before had.
 */
import { createHash } from 'node:crypto'
import type { ShownToken } from './shown.ts'

/** Consul's own: everything is allowed. Here it is the type of a token. */
export const managementPolicy = 'global-management'
export const managementPolicyId = '00000000-0000-0000-0000-000000000001'
/** Consul's own, of requests that carry none. Here it is the policy `anonymous`. */
export const anonymousAccessor = '00000000-0000-0000-0000-000000000002'

export type Named = 'policy' | 'role'

/** A UUID of version 8. */
export function idOf(what: Named, name: string): string {
  if (what === 'policy' && name === managementPolicy) return managementPolicyId
  const bytes = createHash('sha256').update(`muster ${what} ${name}`).digest()
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex', 0, 16)
  return [8, 12, 16, 20, 32].map((end, at) => hex.slice([0, 8, 12, 16, 20][at], end)).join('-')
}

type Plain = Readonly<Record<string, unknown>> & {
  readonly Name: string
  readonly Description: string
  readonly CreateIndex: number
  readonly ModifyIndex: number
}

/** Also of a list, whose entries have no Rules. */
export function policyInConsul(shown: Plain) {
  const { Name, Description, CreateIndex, ModifyIndex } = shown
  return {
    ID: idOf('policy', Name),
    Name,
    Description,
    ...(typeof shown['Rules'] === 'string' && { Rules: shown['Rules'] }),
    Datacenters: null,
    Hash: null,
    CreateIndex,
    ModifyIndex,
  }
}

export const managementInConsul = {
  ID: managementPolicyId,
  Name: managementPolicy,
  Description: 'Everything is allowed to tokens of this kind',
  Rules: 'acl = "write"',
  Datacenters: null,
  Hash: null,
  CreateIndex: 1,
  ModifyIndex: 1,
}

export function roleInConsul(
  shown: Plain & { readonly Policies: readonly { readonly Name: string }[] },
) {
  const { Name, Description, Policies, CreateIndex, ModifyIndex } = shown
  return {
    ID: idOf('role', Name),
    Name,
    Description,
    Policies: Policies.map((link) => ({ ID: idOf('policy', link.Name), Name: link.Name })),
    Hash: null,
    CreateIndex,
    ModifyIndex,
  }
}

/** `secret`: known only where the token was just made, or to the client that asks with it. */
export function tokenInConsul(shown: ShownToken, secret = '') {
  const isManager = shown.Type === 'management'
  const policies = isManager ? [managementPolicy, ...shown.Policies] : shown.Policies
  return {
    AccessorID: shown.AccessorID,
    SecretID: secret,
    // Tokens of Consul have no name.
    Description: shown.Description === '' ? shown.Name : shown.Description,
    Policies: policies.map((Name) => ({ ID: idOf('policy', Name), Name })),
    Roles: shown.Roles.map(({ Name }) => ({ ID: idOf('role', Name), Name })),
    Local: false,
    CreateTime: shown.CreateTime,
    ...(shown.ExpirationTime !== undefined && { ExpirationTime: shown.ExpirationTime }),
    Hash: null,
    CreateIndex: shown.CreateIndex,
    ModifyIndex: shown.ModifyIndex,
  }
}
