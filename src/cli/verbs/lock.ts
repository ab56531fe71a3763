/** `muster lock`: a command that runs while a lock is held, and is dead before another client can hold it. */
import { machineClock } from '../../lib/clock.ts'
import { MusterError, textOf } from '../../lib/errors.ts'
import { ApiClient } from '../api/client.ts'
import { connectionFlags, namespaceFlag } from '../api/settings.ts'
import { watchdogWord } from '../cli.ts'
import { countFlag, durationFlag, misused, type FlagTable, type Flags } from '../flags.ts'
import { Entries } from '../lock/entries.ts'
import type { Exclusion } from '../lock/exclusion.ts'
import { Guard } from '../lock/guard.ts'
import { runHolding, type HolderOptions, type Outcome } from '../lock/holder.ts'
import { leaseOf, ttlMsDefault, type Lease } from '../lock/lease.ts'
import { Mutex } from '../lock/mutex.ts'
import { holdersMax, Semaphore, semaphoreListKey } from '../lock/semaphore.ts'
import { Servers } from '../api/servers.ts'
import { exits, type Terminal, type Verb } from '../verb.ts'

/** Of a session's name; the rest of a long command line says no more. */
const nameLengthMax = 256
/** With `-child-exit-code`, as in Consul. */
const childFailed = 2

const lockFlags: FlagTable = {
  n: { summary: `How many may hold it at a time, to ${holdersMax} [1]`, value: 'COUNT' },
  name: { summary: "The session's name [made of the command]", value: 'NAME' },
  timeout: { summary: 'Give up when it is not to be had for so long', value: 'DURATION' },
  try: { summary: 'The same as -timeout', value: 'DURATION' },
  'session-ttl': { summary: "The session's time to live, 10s to 60s [15s]", value: 'DURATION' },
  'lock-delay': {
    summary: 'How long nobody gets it after its session, to 60s [15s, or the TTL]',
    value: 'DURATION',
  },
  'monitor-retry': {
    summary: 'Failed looks at it in a row to ride out [as many as come]',
    value: 'COUNT',
  },
  'child-exit-code': { summary: `Exit ${childFailed} when the command failed`, value: null },
  'pass-stdin': { summary: 'Hand standard input to the command', value: null },
  shell: { summary: 'Run it with $SHELL, or with -shell=false as it is [true]', value: null },
  verbose: { summary: 'Say what happens', value: null },
}

export const lock: Verb = {
  operands: {
    usage: 'PREFIX COMMAND...',
    countMin: 2,
    countMax: Infinity,
    commandAt: 1,
  },
  about: `
Waits for the lock at PREFIX/.lock and runs the command while it is held. With -n it is a
semaphore. The command is told to end (SIGTERM, then SIGKILL), with all it started, before
the lock can be granted to anyone else: when no server acknowledges that its session lives,
when the session is ended, when this process is paused or killed. An election, or a server
that is down, it outlives: name several with -address.

The command finds MUSTER_LOCK_KEY, MUSTER_LOCK_INDEX and MUSTER_LOCK_SESSION in its
environment. A write that must not come too late names the lock it depends on:

  muster kv put -lock "$MUSTER_LOCK_KEY" -lock-index "$MUSTER_LOCK_INDEX" app/state new

Signals are handed to the command; 5 seconds after SIGINT or SIGTERM it is killed. The exit
code is 0 when the command has ended, however, and 1 when the lock was not to be had or was
lost.
`,
  flags: { ...lockFlags, ...namespaceFlag, ...connectionFlags },
  async run(call) {
    const { flags, operands, terminal } = call
    const [given = '', ...words] = operands
    const prefix = given.replace(/^\/+|\/+$/g, '')
    if (prefix === '') misused('PREFIX is empty')
    const count = countFlag(flags, 'n', 1) ?? 1
    if (count > holdersMax) misused(`-n must be at most ${holdersMax}`)
    const retries = countFlag(flags, 'monitor-retry', 0) ?? null
    const lease = leaseFrom(flags)
    const waitMsMax = durationFlag(flags, 'timeout') ?? durationFlag(flags, 'try') ?? null
    const clients = await ApiClient.openAll(call)
    const namespace = clients[0]?.settings.namespace ?? null
    const clock = machineClock
    const servers = new Servers(clients, clock)
    await servers.assertReachable()
    const entries = new Entries(servers, namespace)
    const key = semaphoreListKey(prefix)
    const outcome = await runHolding({
      terminal,
      clock,
      lease,
      session: {
        servers,
        namespace,
        name: flags.last('name') ?? nameOf(words, prefix),
        behavior: count === 1 ? 'release' : 'delete',
      },
      exclusion: (keeper): Exclusion =>
        count === 1
          ? new Mutex({ clock, entries, key, retries, isAlive: (signal) => keeper.isAlive(signal) })
          : new Semaphore({ clock, entries, prefix, holdersMax: count, retries }),
      guard: await Guard.start([...terminal.self, watchdogWord]),
      command: {
        words,
        shell: flags.last('shell') !== 'false',
        stdin: flags.has('pass-stdin') ? 'inherit' : 'ignore',
      },
      waitMsMax,
      say: (text) => {
        if (flags.has('verbose')) terminal.err(`muster lock: ${text}\n`)
      },
    } satisfies HolderOptions)
    return exitCodeOf(outcome, terminal, flags)
  },
}

function leaseFrom(flags: Flags): Lease {
  const ttlMs = durationFlag(flags, 'session-ttl') ?? ttlMsDefault
  const lockDelayMs = durationFlag(flags, 'lock-delay') ?? Math.max(ttlMsDefault, ttlMs)
  try {
    return leaseOf(ttlMs, lockDelayMs)
  } catch (error) {
    if (error instanceof MusterError) misused(textOf(error))
    throw error
  }
}

function nameOf(words: readonly string[], prefix: string): string {
  return `Muster lock for '${words.join(' ')}' at '${prefix}'`.slice(0, nameLengthMax)
}

function exitCodeOf(outcome: Outcome, terminal: Terminal, flags: Flags): number {
  switch (outcome.type) {
    case 'notHeld':
      throw new MusterError(
        'timeout',
        outcome.reason === 'stopped'
          ? 'stopped before it had the lock'
          : 'the lock was not to be had in time',
      )
    case 'lost':
      return exits.failed
    case 'ended': {
      const { ended, release } = outcome
      const isFailed = ended.code !== 0
      if (isFailed) {
        const how = ended.code === null ? `by ${ended.signal}` : `with exit code ${ended.code}`
        terminal.err(`muster lock: the command ended ${how}\n`)
      }
      if (release !== null) {
        terminal.err(
          `muster lock: the lock was not released, it ends with its session: ${release}\n`,
        )
        return exits.failed
      }
      return isFailed && flags.has('child-exit-code') ? childFailed : exits.ok
    }
  }
}
