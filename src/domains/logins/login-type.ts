/** What a login method gives to `logins` besides its routes: what it is, and by what its tokens are renewed. */
import type { TokenRow } from '../acl/model.ts'
import type { TokenParameters } from '../acl/token-parameters-model.ts'
import type { LeaderContext } from '../../rpc/method.ts'
import type { MountRow, MountType } from './model.ts'

export type RenewedLogin = {
  readonly mount: MountRow
  readonly token: TokenRow
  /** What the grant of the login gave as `renewalSecret`; null: nothing, or it cannot be opened any more. */
  readonly secret: string | null
}

export type LoginMethod = {
  readonly type: MountType
  /**
   * At the leader: the token parameters as they are now. Rejects where a login would be refused now; the token then stays as
   * it is, until its time is over.
   */
  renew(context: LeaderContext, login: RenewedLogin): Promise<TokenParameters>
  /** A name as its logins are counted and locked by it. Absent: as it was sent. */
  nameAtLogin?(name: string): string
}
