/** `/v1/sys/policies/acl` and `/v1/sys/policy`: policies under the names that clients of Vault know. */
import { Type } from 'typebox'
import { CoercedFields } from '../../api/coerced-fields.ts'
import { dataReply, envelope, keysReply, nothingThere, writtenReply } from '../../api/envelope.ts'
import type { ApiRequest, DescribedRoute } from '../../api/route.ts'
import { consistency, text } from '../../api/shape.ts'
import { codeOf, MusterError } from '../../lib/errors.ts'
import { withoutSlashesAtEnd } from '../../lib/slashes.ts'
import { builtInPolicy, defaultPolicyName, rootPolicy } from './built-in-policy-model.ts'
import { aclNameLengthMax, assertVaultNameIsKnown, checkVaultPolicyName } from './model.ts'
import { policyMethods } from './policy-methods.ts'
import { commandVersionAt } from './services.ts'
import { warningsOfPolicy } from './policy-model.ts'
import { policyBodyBytesMax } from './policy-routes.ts'

const named = { '*': text('Name of the policy, slashes included') }
const Names = Type.Array(Type.String())
const firstPage = { prefix: '', filter: '', nextToken: null, perPage: null }

/** By the older of the two names the text is `rules`. */
function routesAt(path: string, member: 'policy' | 'rules'): readonly DescribedRoute[] {
  // Clients of the older name read what is beside `data`.
  const isOlder = member === 'rules'
  const shown = (request: ApiRequest, data: Readonly<Record<string, unknown>>) =>
    envelope(request, { data, ...(isOlder && { beside: data }) })
  const list = {
    path,
    summary: 'List policies by name',
    permission: 'acl:read',
    query: consistency,
    reply: isOlder ? dataReply(Type.Object({ keys: Names, policies: Names }), Names) : keysReply,
    example: {},
    handle: async (request: ApiRequest) => {
      const { value } = await request.query(policyMethods.listPolicies, firstPage)
      const keys = listed(value.rows.map(({ Name }) => Name))
      return shown(request, isOlder ? { keys, policies: keys } : { keys })
    },
  } as const
  return [
    { ...list, method: 'LIST' },
    { ...list, method: 'GET' },
    {
      method: 'GET',
      path: `${path}/*`,
      summary: 'Read a policy',
      permission: 'acl:read',
      params: named,
      query: consistency,
      reply: dataReply(
        Type.Object({ name: Type.String(), [member]: Type.String() }),
        isOlder ? Type.String() : undefined,
      ),
      errors: ['not_found'],
      example: { url: `${path}/default` },
      handle: async (request) => {
        const name = nameOf(request)
        const { value } = await request.query(policyMethods.readPolicy, { name })
        const rules = value?.Rules ?? builtInRules(name)
        if (rules === null) throw nothingThere()
        return shown(request, { name, [member]: rules })
      },
    },
    {
      method: 'PUT',
      path: `${path}/*`,
      summary: 'Write a policy',
      permission: 'acl:write',
      params: named,
      bodySchema: Type.Object({ policy: text('The text of the policy') }),
      bodyBytesMax: policyBodyBytesMax,
      atLeast: [{ resource: 'acl', access: 'write' }],
      reply: writtenReply,
      example: {
        url: `${path}/people`,
        body: { policy: 'path "auth/token/lookup-self" { capabilities = ["read"] }' },
        status: 204,
      },
      handle: async (request) => {
        const name = lowerName(request)
        if (name === rootPolicy) throw fixed(name, 'written')
        const fields = new CoercedFields(request.json)
        const rules = fields.string('policy') ?? fields.string('rules')
        if (rules === undefined) throw new MusterError('invalid_argument', 'policy is missing')
        checkVaultPolicyName(name)
        assertVaultNameIsKnown(name, commandVersionAt(request))
        const policy = { name, description: '', rules, isVaultName: true }
        await request.call(policyMethods.putPolicy, policy)
        return envelope(request, { warnings: warningsOfPolicy(rules) })
      },
    },
    {
      method: 'DELETE',
      path: `${path}/*`,
      summary: 'Delete a policy',
      permission: 'acl:write',
      params: named,
      reply: { 204: {} },
      example: { url: `${path}/people`, status: 204 },
      handle: async (request) => {
        const name = nameOf(request)
        try {
          await request.call(policyMethods.deletePolicy, { name })
        } catch (error) {
          if (codeOf(error) !== 'not_found') throw error
          // An operator's policy of such a name was deleted above; what is left cannot be.
          if (name === rootPolicy || builtInPolicy(name) !== null) throw fixed(name, 'deleted')
        }
        return envelope(request, {})
      },
    },
  ]
}

export const sysPolicyRoutes: readonly DescribedRoute[] = [
  ...routesAt('/v1/sys/policies/acl', 'policy'),
  ...routesAt('/v1/sys/policy', 'rules'),
]

/** Sorted; `root`, which everything is allowed to, stands last. */
function listed(names: readonly string[]): readonly string[] {
  const others = new Set([defaultPolicyName, ...names])
  others.delete(rootPolicy)
  return [...[...others].sort(), rootPolicy]
}

/** null: the name stands for nothing that nobody wrote. The text of `root` is empty: it is no list of rules. */
function builtInRules(name: string): string | null {
  return name === rootPolicy ? '' : (builtInPolicy(name)?.rules ?? null)
}

function fixed(name: string, what: 'written' | 'deleted'): MusterError {
  return new MusterError('invalid_argument', `the policy ${name} is built in and cannot be ${what}`)
}

/** Names of policies have no capitals there, and a slash at the end changes nothing. */
function lowerName({ tail }: ApiRequest): string {
  return withoutSlashesAtEnd(tail).toLowerCase()
}

/** Throws 404 for what no policy is named. */
function nameOf(request: ApiRequest): string {
  const name = lowerName(request)
  if (name.length > aclNameLengthMax) throw nothingThere()
  return name
}
