/** A login method whose directory is a list of names: the password is the name twice. What mounts do is the same for all. */
import { Type } from 'typebox'
import { CoercedFields } from '../../../src/api/coerced-fields.ts'
import {
  authReply,
  envelope,
  keysEnvelope,
  keysReply,
  writtenReply,
} from '../../../src/api/envelope.ts'
import { text } from '../../../src/api/shape.ts'
import {
  noTokenParameters,
  type TokenParameters,
} from '../../../src/domains/acl/token-parameters-model.ts'
import { defineDomain, type Domain } from '../../../src/domains/domain.ts'
import { admitLogin, failedLogin } from '../../../src/domains/logins/guard.ts'
import { issueLogin } from '../../../src/domains/logins/issue.ts'
import { MountId, type MountType } from '../../../src/domains/logins/model.ts'
import { routesAtFirstPath, type LoginType } from '../../../src/domains/logins/mounted-routes.ts'
import { serverDomains } from '../../../src/domains/registry.ts'
import { denied } from '../../../src/rpc/refusal.ts'
import { defineLocalMethod } from '../../../src/rpc/method.ts'

export type FakeDirectory = {
  parameters: TokenParameters
  /** What each login waits for before its password is looked at. */
  answers: Promise<void>
  /** Logins that do so. */
  waiting: number
  /** What renewals were given. */
  readonly renewed: (string | null)[]
}

const wrong = () => denied('the password is wrong')

export function fakeLogin(type: MountType = 'ldap') {
  const directory: FakeDirectory = {
    parameters: noTokenParameters,
    answers: Promise.resolve(),
    waiting: 0,
    renewed: [],
  }
  const login = defineLocalMethod({
    kind: 'local',
    name: 'fake.login',
    args: Type.Object({ mountId: MountId, name: Type.String(), password: Type.String() }),
    requires: () => ({ resource: 'none' }),
    run: async (context, { mountId, name, password }) => {
      const beganMs = context.clock.monotonicMs()
      await admitLogin(context, mountId, name, wrong)
      directory.waiting += 1
      await directory.answers
      directory.waiting -= 1
      if (password !== name + name) {
        await failedLogin(context, mountId, name, beganMs)
        throw wrong()
      }
      return issueLogin(
        context,
        { id: mountId },
        {
          aliases: [{ rule: 'username', name }],
          name,
          path: `login/${name}`,
          metadata: [['username', name]],
          policies: ['people'],
          parameters: directory.parameters,
          lockName: name,
          renewalSecret: password,
        },
      )
    },
  })
  const loginType: LoginType = {
    method: {
      type,
      renew: async (_context, { secret }) => {
        directory.renewed.push(secret)
        return directory.parameters
      },
    },
    routes: [
      {
        method: 'POST',
        path: 'login/*',
        summary: 'Log in',
        permission: 'none',
        params: { '*': text('Name') },
        bodySchema: Type.Object({ password: Type.String() }),
        bodyBytesMax: 65_536,
        reply: authReply,
        example: { url: `/v1/auth/${type}/login/ada`, shownOnly: 'there is no directory' },
        handle: async (request, { mount, tail }) => {
          const password = new CoercedFields(request.json).string('password') ?? ''
          const args = { mountId: mount.id, name: tail, password }
          return envelope(request, await request.call(login, args))
        },
      },
      {
        method: 'LIST',
        path: 'role',
        summary: 'List roles',
        permission: 'any token',
        reply: keysReply,
        errors: ['not_found'],
        example: {},
        handle: (request, { mount }) =>
          keysEnvelope(request, {
            rows: mount.path === 'ldap' ? [] : ['b', mount.path],
            nextToken: null,
          }),
      },
      {
        method: 'PUT',
        path: 'role/:name',
        summary: 'Write a role',
        permission: 'any token',
        params: { name: text('Name') },
        reply: writtenReply,
        example: {},
        handle: (request, at) => envelope(request, { warnings: [at.parameter('name')] }),
      },
    ],
  }
  const domain: Domain = defineDomain({
    name: 'fake',
    methods: [login],
    loginTypes: [loginType],
    routes: routesAtFirstPath(loginType),
  })
  const domains = serverDomains.flatMap((known) =>
    known.name === 'logins' ? [known, domain] : known.loginTypes === undefined ? [known] : [],
  )
  return { directory, domains }
}
