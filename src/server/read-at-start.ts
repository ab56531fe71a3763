/** What a start reads besides the configuration itself, before it opens a port or writes: `muster agent -check` reads it too. */
import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../lib/log.ts'
import { Listeners } from '../runtime/listeners.ts'
import { Reloadable } from '../runtime/reload.ts'
import type { WireTls } from '../wire/tls.ts'
import { loadRpcTls } from './rpc-tls.ts'
import type { ServerConfig } from './server-config.ts'

export type ReadAtStart = {
  readonly reloadable: Reloadable
  readonly listeners: Listeners
  /** Between servers; null: plain. */
  readonly tls: WireTls | null
}

/** Throws `invalid_argument` for wrong services and checks, and for certificates that do not fit. */
export async function readAtStart(
  config: ServerConfig,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Promise<ReadAtStart> {
  const { region, tls } = config
  const reloadable = new Reloadable(config)
  const listeners = await Listeners.prepare(config.listeners)
  if (tls.rpc === null) return { reloadable, listeners, tls: null }
  const options = { region, clock, logger: logger.named('tls') }
  return { reloadable, listeners, tls: await loadRpcTls({ settings: tls.rpc, ...options }) }
}
