/** What kind of run a seed stands for: sizes, speeds, and how much goes wrong. */
import type { Random } from '../../src/lib/random.ts'
import type { RaftLimits, RaftTiming } from '../../src/raft/raft.ts'
import type { DurableLogOptions } from '../../src/raft/storage/durable-log.ts'
import { between, happens, integer, pick, spread, streamOf, weighted } from './randomness.ts'
import type { Durability } from './machine.ts'
import type { Weather } from './network.ts'

export const faultNames = [
  'partition',
  'weather',
  'crash',
  'stop',
  'pause',
  'disk',
  'transfer',
  'membership',
  'gone',
  'burst',
  'lease',
  'load',
] as const
export type FaultName = (typeof faultNames)[number]

export type Plan = {
  readonly seed: number
  readonly servers: number
  readonly clients: number
  /** Faults happen up to here; then all is healed and the cluster has to come together. */
  readonly troubleMs: number
  readonly timing: RaftTiming
  /** Servers have timeouts of their own, this many times those of `timing` at most; 1: all have the same. */
  readonly unevenness: number
  readonly limits: RaftLimits
  readonly leaseReads: boolean
  readonly log: DurableLogOptions
  readonly durability: Durability
  readonly weather: Weather
  /** Milliseconds of one write or sync, about. */
  readonly diskMs: number
  readonly applyMs: number
  readonly thinkMs: number
  /** A client waits for one answer at most this long. */
  readonly patienceMs: number
  readonly paddingBytes: number
  readonly keys: number
  readonly clockDrift: number
  readonly snapshotBreakRate: number
  /** Share of the delicate moments (an election won, a snapshot put in place, a file renamed) that end in a crash. */
  readonly ambushRate: number
  /** Mean time between two faults. */
  readonly faultGapMs: number
  readonly faults: Readonly<Record<FaultName, number>>
}

/**
 * Most seeds mix everything; some look into one corner, where it takes many ingredients to go wrong. `installs`, `members`
 * and `handovers` are looked into only when they are named: shares of their own would change what every other seed stands for.
 */
const corners = {
  mixed: 8,
  divergence: 1,
  lease: 1,
  installs: 0,
  members: 0,
  handovers: 0,
  court: 1,
}
export type Corner = keyof typeof corners

export function isCorner(name: string): name is Corner {
  return name in corners
}

/** With a `corner` all seeds look there. */
export function planOf(seed: number, servers: number | null, corner: Corner | null = null): Plan {
  const random = streamOf(seed, 'plan')
  const plan = mixed(seed, servers, random)
  // Many clients at one key, on fast disks and a fast network: between two faults much can be seen.
  const keen = {
    ...plan,
    clients: 5,
    thinkMs: 5,
    keys: 1,
    diskMs: 0.1,
    weather: { ...plan.weather, lossRate: 0, latencyMs: 0.2, jitterMs: 0.2 },
    faultGapMs: 1_500,
  }
  const drawn = weighted(random, corners)
  switch (corner ?? drawn) {
    case 'mixed':
      return plan
    case 'divergence':
      // Long tails that must be cut off, while what they part from is compacted away.
      return {
        ...plan,
        clients: 5,
        thinkMs: 5,
        paddingBytes: 600,
        limits: { ...plan.limits, compactBytes: 2_000 },
        log: { ...plan.log, segmentBytes: 4096, retainBytes: 0, retainEntries: 0 },
        faultGapMs: 500,
        faults: { ...noFaults, burst: 1, crash: 0.2, partition: 0.1 },
      }
    case 'installs':
      // Disks that stall while a snapshot waits to be put in place, and a leader that compacts beyond it meanwhile.
      return {
        ...plan,
        clients: 5,
        thinkMs: 5,
        paddingBytes: 600,
        applyMs: 0.2,
        diskMs: 1,
        limits: { ...plan.limits, compactBytes: 2_000 },
        log: { ...plan.log, segmentBytes: 4096, retainBytes: 0, retainEntries: 0 },
        faultGapMs: 200,
        faults: { ...noFaults, disk: 1, pause: 0.5, partition: 0.3 },
      }
    case 'members':
      // A leader that is cut off changes its members all the same, and others cut that entry off.
      return {
        ...plan,
        faultGapMs: 150,
        faults: { ...noFaults, membership: 2, partition: 1, crash: 0.1 },
      }
    case 'handovers':
      // A successor whose own disk is slower than the others': they answer for what it has not applied.
      return {
        ...plan,
        clients: 5,
        thinkMs: 3,
        applyMs: 1,
        diskMs: 8,
        faultGapMs: 80,
        faults: { ...noFaults, transfer: 3, disk: 1 },
      }
    case 'court':
      // A leader that does not know yet that it was replaced, and readers who ask those that still follow it.
      return {
        ...keen,
        servers: servers ?? 5,
        patienceMs: 60,
        leaseReads: false,
        faults: { ...noFaults, partition: 1 },
      }
    case 'lease':
      // Who waits for a leader that stands still sees nothing of the next one: clients give up soon.
      return {
        ...keen,
        patienceMs: 60,
        leaseReads: true,
        ambushRate: 0,
        unevenness: pick(streamOf(seed, 'unevenness'), [1, 3, 5]),
        faultGapMs: 600,
        faults: { ...noFaults, lease: 1 },
      }
  }
}

export const noFaults = Object.fromEntries(faultNames.map((name) => [name, 0])) as Record<
  FaultName,
  number
>

function mixed(seed: number, servers: number | null, random: Random): Plan {
  const electionMs = pick(random, [150, 250, 400])
  const faults = Object.fromEntries(
    // Some runs know one or two kinds of fault only, so that these meet each other more often.
    faultNames.map((name) => [name, happens(random, 0.6) ? spread(random, 0.2, 3) : 0]),
  ) as Record<FaultName, number>
  faults.crash += 0.1
  const leaseReads = happens(random, 0.35)
  if (leaseReads) faults.lease += 1.5
  return {
    seed,
    servers: servers ?? (happens(random, 0.6) ? 3 : 5),
    clients: integer(random, 2, 5),
    troubleMs: between(random, 40, 90) * electionMs * 0.4,
    unevenness: 1,
    timing: timingOf(electionMs, Math.round(electionMs / pick(random, [4, 6, 8])), seed),
    limits: {
      appendBytesMax: pick(random, [200, 2_000, 100_000]),
      inflightMessagesMax: pick(random, [1, 3, 64]),
      inflightBytesMax: pick(random, [1_000, 100_000]),
      uncommittedBytesMax: pick(random, [3_000, 1_000_000]),
      cacheBytesMax: pick(random, [0, 500, 5_000, 1_000_000]),
      compactBytes: pick(random, [2_000, 8_000, 50_000]),
    },
    leaseReads,
    log: {
      segmentBytes: pick(random, [4096, 4096, 8192]),
      retainBytes: pick(random, [0, 0, 6_000]),
      retainEntries: pick(random, [0, 5, 50]),
      tailBytesMax: pick(random, [0, 1_000, 100_000]),
    },
    durability: happens(random, 0.6) ? 'prefix' : 'all',
    weather: weatherOf(random, happens(random, 0.3)),
    diskMs: spread(random, 0.1, 4),
    applyMs: spread(random, 0.05, 3),
    thinkMs: spread(random, 5, 60),
    patienceMs: 1_200,
    paddingBytes: pick(random, [0, 150, 600]),
    keys: integer(random, 2, 6),
    clockDrift: between(random, 0, 0.03),
    snapshotBreakRate: pick(random, [0, 0.05, 0.3]),
    ambushRate: happens(random, 0.5) ? spread(random, 0.01, 0.5) : 0,
    faultGapMs: spread(random, 100, 1_200),
    faults,
  }
}

/** In two runs of three the timeout follows what heartbeats show. Of a stream of its own, so that the rest stays as it is. */
function timingOf(electionMs: number, heartbeatMs: number, seed: number): RaftTiming {
  const random = streamOf(seed, 'timing')
  if (happens(random, 1 / 3)) return { electionMs, heartbeatMs, adaptive: null }
  const minMs = Math.max(2 * heartbeatMs, electionMs * between(random, 0.3, 1))
  return { electionMs, heartbeatMs, adaptive: { minMs, maxMs: electionMs * 2 } }
}

/** `foul`: messages get lost, doubled and overtaken, not only late. */
export function weatherOf(random: Random, foul: boolean): Weather {
  const share = (rates: readonly number[]) => (foul ? pick(random, rates) : 0)
  return {
    latencyMs: spread(random, 0.1, 3),
    jitterMs: spread(random, 0.1, foul ? 20 : 3),
    lossRate: share([0, 0.01, 0.05, 0.2]),
    duplicateRate: share([0, 0.02, 0.2]),
    reorderRate: share([0, 0.05, 0.3]),
    reorderMs: spread(random, 5, 150),
    holdRate: pick(random, [0, 0.3, 1]),
  }
}

/** How the world is when everything is well again. */
export function calm(weather: Weather): Weather {
  return { ...weather, jitterMs: 1, latencyMs: 1, lossRate: 0, duplicateRate: 0, reorderRate: 0 }
}
