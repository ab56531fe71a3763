/** `muster agent -check`: whether a start would take the files. It reads what a start reads, opens no port and writes nothing. */
import { readAtStart as readOfClient } from '../client-agent/read-at-start.ts'
import type { Clock } from '../lib/clock.ts'
import { silentLogger } from '../lib/log.ts'
import { readAtStart as readOfServer } from '../server/read-at-start.ts'
import { loadFiles, type AgentConfig } from './config.ts'

/** Throws `invalid_argument`, as the start would. */
export async function checkFiles(paths: readonly string[], clock: Clock): Promise<void> {
  const config = withoutMade((await loadFiles(paths)).config)
  const { client } = config
  if (client === null) await readOfServer(config, { clock, logger: silentLogger })
  else await readOfClient({ ...config, client })
}

/** Certificates of `tls.auto` a start makes before it reads them. */
function withoutMade(config: AgentConfig): AgentConfig {
  if (config.tls.auto === null) return config
  return {
    ...config,
    listeners: config.listeners.filter(({ tls }) => tls?.block !== 'tls'),
    tls: { ...config.tls, rpc: null },
  }
}
