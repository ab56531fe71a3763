/** What a server reads for a login is as new as the leader's: a finished write is in force whichever server is asked. */
import type { LocalContext } from '../../rpc/method.ts'
import { readBarrier } from '../host.ts'
import { mountIsGone } from './at-mount.ts'
import { mountOf } from './queries.ts'

/** How long a login waits until this server knows all that the leader does. */
const barrierMs = 5_000

/** Resolves once it is so. Rejects where the leader cannot be asked, and with `not_found` where the mount was disabled. */
export async function asTheLeaderKnows(
  context: Pick<LocalContext, 'read' | 'service' | 'signal'>,
  mountId: string,
): Promise<void> {
  await context.service(readBarrier)('leader', barrierMs, context.signal)
  if (mountOf(context.read(), mountId) === null) throw mountIsGone()
}
