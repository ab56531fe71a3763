/** What a start reads besides the configuration itself, before it opens a port or writes: `muster agent -check` reads it too. */
import { Listeners } from '../runtime/listeners.ts'
import { Reloadable } from '../runtime/reload.ts'
import type { ClientConfig } from './client-config.ts'
import { ServerTrust } from './server-trust.ts'

export type ReadAtStart = {
  readonly reloadable: Reloadable
  readonly listeners: Listeners
  readonly trust: ServerTrust
}

/** Throws `invalid_argument` for wrong services and checks, and for certificates that do not fit. */
export async function readAtStart(config: ClientConfig): Promise<ReadAtStart> {
  const reloadable = new Reloadable(config)
  const listeners = await Listeners.prepare(config.listeners)
  return { reloadable, listeners, trust: await ServerTrust.load(config.tls, config.region) }
}
