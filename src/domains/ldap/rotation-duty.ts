/**
 * When passwords of service accounts are replaced: by period or schedule, and wherever an attempt's outcome is not known. An
 * attempt that fails is made again later; a scheduled one only within its window, where there is one.
 */
import { lastFireMs } from '../../lib/cron.ts'
import { codeOf, textOf } from '../../lib/errors.ts'
import { periodic, type Running } from '../../lib/periodic.ts'
import type { Reader } from '../../fsm/domain.ts'
import { allOf } from '../../lib/pages.ts'
import type { Services } from '../../rpc/services.ts'
import type { DutyContext } from '../duty.ts'
import { onView } from '../host.ts'
import type { ConfigRow } from './model.ts'
import { rotatePassword } from './rotation.ts'
import { scheduleOf } from './schedule.ts'
import { directories } from './services.ts'
import { ldapConfigs } from './table.ts'

const roundMs = 1_000
const firstRetryMs = 5_000
const retryMsMax = 300_000

type Failed = { readonly failures: number; readonly againMs: number }

export function startRotation(
  context: DutyContext & { readonly service: Services['get'] },
): Running {
  const failed = new Map<string, Failed>()
  return periodic({
    ...context,
    failure: 'a round of password rotations failed',
    everyMs: roundMs,
    retryMs: firstRetryMs,
    async round(signal) {
      const nowMs = context.clock.wallMs()
      for (const row of await dueRows(context, nowMs)) {
        const { mountId } = row
        if (signal.aborted) return
        if ((failed.get(mountId)?.againMs ?? 0) > context.clock.monotonicMs()) continue
        if (await attempt(context, mountId, signal)) failed.delete(mountId)
        else {
          const failures = (failed.get(mountId)?.failures ?? 0) + 1
          const waitMs = Math.min(retryMsMax, firstRetryMs * 2 ** Math.min(failures - 1, 10))
          failed.set(mountId, { failures, againMs: context.clock.monotonicMs() + waitMs })
        }
      }
    },
  })
}

async function dueRows({ view }: DutyContext, nowMs: number): Promise<readonly ConfigRow[]> {
  const rows = await onView(view, (reader) => allOf(reader.pages(ldapConfigs)))
  return rows.filter((row) => isDue(row, nowMs))
}

/** Also what was begun and is not known to have ended. */
export function isDue(
  { config, hasBindpass, pendingRotation, rotatedMs }: ConfigRow,
  nowMs: number,
) {
  if (config.binddn === '' || !hasBindpass) return false
  if (pendingRotation !== null) return true
  if (config.disableAutomatedRotation) return false
  if (config.rotationPeriodMs > 0) return nowMs >= rotatedMs + config.rotationPeriodMs
  const schedule = config.rotationSchedule === '' ? null : scheduleOf(config.rotationSchedule)
  const fireMs = schedule === null ? null : lastFireMs(schedule, nowMs)
  if (fireMs === null || fireMs <= rotatedMs) return false
  return config.rotationWindowMs === 0 || nowMs <= fireMs + config.rotationWindowMs
}

async function attempt(
  { view, propose, clock, log, service }: Parameters<typeof startRotation>[0],
  mountId: string,
  signal: AbortSignal,
): Promise<boolean> {
  const open: (Reader & { close(): void })[] = []
  const read = (): Reader => {
    const reader = view()
    open.push(reader)
    return reader
  }
  try {
    await service(directories).alone(mountId, () =>
      rotatePassword({ read, propose, clock, log, service, signal }, mountId),
    )
    return true
  } catch (error) {
    // One that an operator began is under way.
    if (codeOf(error) === 'conflict') return true
    log.warn('the password of a service account could not be replaced', { error: textOf(error) })
    return false
  } finally {
    for (const reader of open) reader.close()
  }
}
