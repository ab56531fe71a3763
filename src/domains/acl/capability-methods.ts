/** What a token may do at paths, as Vault's clients ask: `/v1/sys/capabilities`. */
import { Type } from 'typebox'
import { MusterError } from '../../lib/errors.ts'
import { defineQuery, type QueryContext, type Requirement } from '../../rpc/method.ts'
import { denied } from '../../rpc/refusal.ts'
import type { Reader } from '../../fsm/domain.ts'
import { permissionsOf } from './authorizer.ts'
import { Accessor, endOf, hashLengthMax, type TokenRow } from './model.ts'
import { aclIndex, tokenByAccessor, tokenByHash } from './queries.ts'
import { aclSettings, assertAclEnabled, batchTokens, freshRuleSets } from './services.ts'
import { capabilitiesAt } from './vault-paths.ts'

export const capabilityPathsMax = 256
const pathLengthMax = 1_024

const paths = Type.Immutable(
  Type.Array(Type.String({ maxLength: pathLengthMax }), { maxItems: capabilityPathsMax }),
)

export type PathCapabilities = readonly (readonly [path: string, capabilities: readonly string[]])[]

/** Every token may ask. */
const own = defineQuery({
  kind: 'query',
  name: 'acl.ownCapabilities',
  args: Type.Object({ paths }),
  requires: () => ({ resource: 'none' }),
  query: (reader, args, context) => {
    if (context.service(aclSettings).enabled && context.caller.token === null) {
      throw denied('the request has no token')
    }
    const may = (requirement: Requirement) => context.may(requirement)
    return { value: listed(args.paths, may), index: reader.appliedIndex }
  },
})

const Whose = Type.Union([
  Type.Object({
    by: Type.Literal('token'),
    hash: Type.String({ maxLength: hashLengthMax }),
    /** The secret of a batch token, in which all is that there is of it; null: another token. */
    batch: Type.Union([Type.Null(), Type.String()]),
  }),
  Type.Object({ by: Type.Literal('accessor'), accessor: Accessor }),
])
export type Whose = Type.Static<typeof Whose>

const ofToken = defineQuery({
  kind: 'query',
  name: 'acl.tokenCapabilities',
  args: Type.Object({
    whose: Whose,
    paths,
    /** A token that is over then is none. */
    nowMs: Type.Number(),
  }),
  requires: ({ whose }) => ({
    resource: 'auth',
    path: whose.by === 'token' ? 'sys/capabilities' : 'sys/capabilities-accessor',
    access: 'write',
  }),
  query: async (reader, { whose, paths: asked, nowMs }, context) => {
    assertAclEnabled(context)
    const row = await rowOf(reader, whose, context)
    if (row === null || row.usesLeft === 0 || endOf(row) <= nowMs) {
      throw new MusterError('invalid_argument', `invalid ${whose.by}`)
    }
    const rules = context.service(freshRuleSets)().of(reader, row)
    const { defaultPolicy } = context.service(aclSettings)
    const permissions = permissionsOf(row, rules, defaultPolicy)
    const may = (requirement: Requirement) => permissions.may(requirement)
    return { value: listed(asked, may), index: aclIndex(reader, 'tokens') }
  },
})

export const capabilityMethods = { own, ofToken }

function rowOf(
  reader: Reader,
  whose: Whose,
  { service }: Pick<QueryContext, 'service'>,
): Promise<TokenRow | null> | TokenRow | null {
  if (whose.by === 'accessor') return tokenByAccessor(reader, whose.accessor.toLowerCase())
  if (whose.batch === null) return tokenByHash(reader, whose.hash)
  return service(batchTokens).open(reader, whose.batch)?.row ?? null
}

function listed(
  asked: readonly string[],
  may: (requirement: Requirement) => boolean,
): PathCapabilities {
  return asked.map((path) => [path, capabilitiesAt(may, path)] as const)
}
