/** What the methods and routes of logins use besides the state. */
import { serviceKey } from '../../rpc/services.ts'
import type { FailedLogins, LoginSources, RefusalTimes } from './failures.ts'
import type { LoginMethod } from './login-type.ts'
import type { MountType } from './model.ts'
import type { Mounts } from './mounts.ts'

export const loginMounts = serviceKey<Mounts>('logins.mounts')

/** The login methods of this program. */
export const loginMethods = serviceKey<ReadonlyMap<MountType, LoginMethod>>('logins.methods')

/** Counted while this server leads. */
export const failedLogins = serviceKey<FailedLogins>('logins.failed')
/** Counted by this server alone. */
export const loginSources = serviceKey<LoginSources>('logins.sources')
/** Of refused logins at this server. */
export const refusalTimes = serviceKey<RefusalTimes>('logins.refusalTimes')
