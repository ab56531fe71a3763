/** What the renewal of a login's token asks: the method, by its configuration as it is now. */
import type { LeaderContext } from '../../rpc/method.ts'
import { denied } from '../../rpc/refusal.ts'
import type { TokenRow } from '../acl/model.ts'
import type { LoginRenewal } from '../acl/services.ts'
import { renewalOwner } from './issue.ts'
import type { LoginMethod } from './login-type.ts'
import { mountTtls, type MountType } from './model.ts'
import { mountOf, mountStands } from './queries.ts'
import { openSecret } from './secrets.ts'

export function renewalBy(methods: ReadonlyMap<MountType, LoginMethod>): LoginRenewal {
  return {
    mountStands,
    present: async (token: TokenRow, context: LeaderContext) => {
      const mount = mountOf(context.read(), token.issuer?.mountId ?? '')
      const method = mount === null ? undefined : methods.get(mount.type)
      if (mount === null || method === undefined) throw denied('the login method was disabled')
      const secret = openSecret(context, renewalOwner(token.accessor))
      const parameters = await method.renew(context, { mount, token, secret })
      return { parameters, lifetimes: mountTtls(mount) }
    },
  }
}
