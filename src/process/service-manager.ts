/**
 * Tells systemd how this process fares, where a unit of `Type=notify` runs it: ready, reading again, stopping. The socket is a
 * datagram socket of the Unix domain, which Node.js cannot open, so that systemd's own program sends the message; the unit has
 * to say `NotifyAccess=all`.
 */
import { execFile } from 'node:child_process'
import { textOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'

const PROGRAM = 'systemd-notify'
/** A message is written in milliseconds; what hangs must not keep the next one. */
const SEND_MS_MAX = 5_000

export type ServiceManager = {
  ready(): void
  reloading(): void
  stopping(): void
}

/** Sends one message. Rejects when it could not. */
export type SendWords = (words: readonly string[]) => Promise<void>

/** Messages leave one after the other, in order. Without `send` it tells nothing. */
export function serviceManager(
  send: SendWords | null,
  { logger, monotonicUs }: { readonly logger: Logger; readonly monotonicUs: () => number },
): ServiceManager {
  let last: Promise<void> = Promise.resolve()
  const tell = (...words: readonly string[]): void => {
    if (send === null) return
    last = last
      .then(() => send(words))
      .catch((error: unknown) => {
        logger.warn('systemd was not told', { words: words.join(' '), reason: textOf(error) })
      })
  }
  return {
    ready: () => tell('READY=1'),
    reloading: () => tell('RELOADING=1', `MONOTONIC_USEC=${monotonicUs()}`),
    stopping: () => tell('STOPPING=1'),
  }
}

/**
 * The way to the socket that systemd named, null without one. Takes the name out of `env`: the commands of checks must not speak
 * for this process.
 */
export function systemdSocket(env: NodeJS.ProcessEnv): SendWords | null {
  const socket = env['NOTIFY_SOCKET']
  delete env['NOTIFY_SOCKET']
  if (socket === undefined || socket === '') return null
  const { pid } = process
  return (words) =>
    new Promise((resolve, reject) => {
      const options = { env: { ...env, NOTIFY_SOCKET: socket }, timeout: SEND_MS_MAX }
      execFile(PROGRAM, [`--pid=${pid}`, ...words], options, (error) => {
        if (error === null) resolve()
        else reject(error)
      })
    })
}
