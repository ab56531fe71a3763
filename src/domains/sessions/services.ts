/** What the methods and duties of sessions use besides the state. */
import { serviceKey } from '../../rpc/services.ts'
import type { AppliedSource, SessionDeadlines } from './deadlines.ts'
import type { Renewals } from './renewals.ts'

/** Provided by the server: the commands that are applied here. */
export const appliedCommands = serviceKey<AppliedSource>('sessions.applied')

export const sessionDeadlines = serviceKey<SessionDeadlines>('sessions.deadlines')
export const sessionRenewals = serviceKey<Renewals>('sessions.renewals')
