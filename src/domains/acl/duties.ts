/**
 * What the leader does for tokens: removes those whose time is over (they are refused from that moment on anyway), with
 * what hangs on them, and makes the first token of the configuration where there is none yet.
 */
import type { Command, Reader } from '../../fsm/domain.ts'
import type { Clock } from '../../lib/clock.ts'
import { codeOf, textOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import type { Proposed } from '../../rpc/consensus.ts'
import type { DeleteTokens } from './commands.ts'
import { bootstrapWith } from './methods.ts'
import { bootstrapOf, expiredTokens, tokensPerEntryMax } from './queries.ts'

/** A token's sessions end at most this much later than the token, and a turn of work. */
const roundMs = 500
const retryMs = 2_000

export type AclDutyContext = {
  /** Of the configuration; null: none. */
  readonly bootstrapToken: string | null
  readonly view: () => Reader & { close(): void }
  readonly propose: (command: Command) => Promise<Proposed>
  readonly clock: Clock
  readonly log: Logger
}

export function startAclDuties(context: AclDutyContext): { stop(): Promise<void> } {
  const stop = new AbortController()
  const running = run(context, stop.signal)
  return {
    async stop() {
      stop.abort()
      await running
    },
  }
}

async function run(context: AclDutyContext, signal: AbortSignal): Promise<void> {
  let begun = context.bootstrapToken === null
  while (!signal.aborted) {
    let pauseMs = roundMs
    try {
      if (!begun) {
        await begin(context)
        begun = true
      }
      if (await removeExpired(context)) pauseMs = 0
    } catch (error) {
      pauseMs = retryMs
      const level = codeOf(error) === 'internal' ? 'error' : 'warn'
      context.log[level]('a round of access control duties failed', { error: textOf(error) })
    }
    await sleep(context.clock, pauseMs, signal)
  }
}

async function begin({ bootstrapToken, view, propose, clock, log }: AclDutyContext): Promise<void> {
  const reader = view()
  const before = bootstrapOf(reader)
  reader.close()
  if (before !== null || bootstrapToken === null) return
  try {
    const { row } = await bootstrapWith({ clock, propose }, bootstrapToken, null)
    log.info('access control began with the token of the configuration', {
      accessor: row.accessor,
    })
  } catch (error) {
    // Somebody was faster, or the secret is one that no token can have: another round would not change that.
    if (codeOf(error) !== 'invalid_argument') throw error
    log.warn('the token of the configuration was not used', { reason: textOf(error) })
  }
}

/** True: there may be more. */
async function removeExpired({ view, propose, clock, log }: AclDutyContext): Promise<boolean> {
  const nowMs = Math.floor(clock.wallMs())
  const reader = view()
  const rows = await expiredTokens(reader, nowMs).finally(() => reader.close())
  if (rows.length === 0) return false
  const accessors = rows.map(({ accessor }) => accessor)
  const args: DeleteTokens = { accessors, nowMs, expiredOnly: true }
  await propose({ type: 'acl.deleteTokens', args })
  log.info('tokens expired and were removed', { tokens: rows.length })
  return rows.length === tokensPerEntryMax
}

async function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = clock.setTimer(delayMs, resolve)
  const wake = () => resolve()
  signal.addEventListener('abort', wake)
  await promise
  signal.removeEventListener('abort', wake)
  timer.cancel()
}
