/** What a configuration says of requests that pages in browsers cause, as the HTTP engine wants it. */
import { hostname } from 'node:os'
import type { BrowserSettings } from '../api/browsers.ts'

export type HttpSettings = {
  readonly http: Pick<BrowserSettings, 'allowedHosts' | 'corsOrigins'>
}

export type NamedProcess = HttpSettings & {
  readonly name: string
  readonly bindAddr: string
  readonly advertiseAddr: string
}

/** The agent's own names: its configured ones, and its machine's with and without the domain. */
export function browserSettingsOf(config: NamedProcess): BrowserSettings {
  const { name, bindAddr, advertiseAddr, http } = config
  const machine = hostname()
  const [short = machine] = machine.split('.')
  return { ownNames: [name, bindAddr, advertiseAddr, machine, short], ...http }
}
