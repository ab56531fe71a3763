/** For domains that issue tokens: the entity of an alias that an operator gives with a token. */
import { randomUUID } from 'node:crypto'
import type { LeaderContext } from '../../rpc/method.ts'
import { identify } from './commands.ts'
import { tokenAliases } from './model.ts'
import { knownEntity } from './queries.ts'

/** `alias`: lower-case. Made if it is new. Throws `not_implemented` while a server runs a program that knows no entities. */
export async function entityOfToken(
  context: Pick<LeaderContext, 'clock' | 'propose' | 'read'>,
  alias: string,
): Promise<string> {
  const aliases = [{ rule: 'name', name: alias }]
  const known = knownEntity(context.read(), tokenAliases, aliases)
  if (known !== null) return known
  const nowMs = Math.floor(context.clock.wallMs())
  const identity = { mountId: tokenAliases, aliases, id: randomUUID(), nowMs }
  const { outcome } = await context.propose(identify, identity)
  return outcome.entityId
}
