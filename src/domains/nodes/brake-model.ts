/**
 * The storm brake: where more than a share of the nodes is lost within a window of time, something larger than their machines is
 * likely at fault, and nothing is placed elsewhere until enough of them are back, the brake is released, or it has held long enough.
 *
 * It goes on and off in the entries that take nodes down and up, so no storm is missed by an election that falls into it. Losses
 * are counted by storms: a storm ends when the brake is released, and what was lost in it counts no more.
 */
import { Type, type Static } from 'typebox'
import { Count, indexes, record } from '../../fsm/row-schema.ts'
import { checkBounds } from '../../lib/bounds.ts'
import { timeAfter, TimeMs } from '../define.ts'

/** Times in milliseconds. */
export const BrakeSettings = Type.Object({
  /** Of the nodes, lost ones among them; more are a storm. 0: there is no brake. */
  sharePercent: Count,
  /** Fewer lost nodes are no storm. */
  nodesMin: Count,
  windowMs: Count,
  /** So long the brake holds at most; 0: until nodes are back or an operator releases it. */
  holdMs: Count,
})
export type BrakeSettings = Readonly<Static<typeof BrakeSettings>>

export const brakeCauses = ['returned', 'time', 'operator', 'settings'] as const
export type BrakeCause = (typeof brakeCauses)[number]

const Held = Type.Object({
  sinceMs: TimeMs,
  /** Nodes that were lost from here on count. */
  fromMs: TimeMs,
  /** null: there is no such time. */
  untilMs: Type.Union([Type.Null(), TimeMs]),
  /** When it went on: nodes that were lost, and all nodes. */
  lost: Count,
  nodes: Count,
})

const Release = Type.Object({
  timeMs: TimeMs,
  cause: Type.Enum([...brakeCauses]),
  /** Of the token that asked; '': there was none. */
  accessor: Type.String({ maxLength: 64 }),
})

export const BrakeRow = record({
  ...BrakeSettings.properties,
  /** Number of the storm that nodes are lost in now. */
  storm: Count,
  /** null: it is off. */
  on: Type.Union([Type.Null(), Held]),
  /** The last one; null: there was none. */
  released: Type.Union([Type.Null(), Release]),
  ...indexes,
})
export type BrakeRow = Readonly<Static<typeof BrakeRow>>

export const defaultBrake: BrakeSettings = {
  sharePercent: 30,
  nodesMin: 5,
  windowMs: 600_000,
  holdMs: 600_000,
}

const dayMs = 24 * 60 * 60_000
const nodesMax = 100_000

/** Throws `invalid_argument`. */
export function checkBrake(settings: BrakeSettings): BrakeSettings {
  checkBounds([
    ['SharePercent', settings.sharePercent, 0, 100, 'a number from 0 to 100'],
    ['MinNodes', settings.nodesMin, 1, nodesMax, `a number from 1 to ${nodesMax}`],
    ['Window', settings.windowMs, 1_000, dayMs, 'a duration from 1s to 24h'],
    ['MaxHold', settings.holdMs, 0, 7 * dayMs, 'a duration up to 168h, 0 for no end'],
  ])
  return settings
}

/** As an entry finds it. */
export type Storm = {
  readonly brake: BrakeRow
  /** Nodes that were lost from here on count. */
  readonly fromMs: number
  readonly lost: number
  /** That are not away. Where they are more than can matter, not all were counted. */
  readonly standing: number
}

/** So many nodes that are not away are no storm with so many that are lost. */
export function standingEnough({ sharePercent }: BrakeSettings, lost: number): number {
  return sharePercent === 0 ? 0 : Math.ceil((100 * lost) / sharePercent)
}

/** `following`: standing ones whose loss the next entries will tell. */
function isStorm(
  { sharePercent, nodesMin }: BrakeSettings,
  lost: number,
  standing: number,
  following: number,
): boolean {
  const soon = lost + following
  return sharePercent > 0 && soon >= nodesMin && 100 * soon > sharePercent * (lost + standing)
}

type Now = { readonly index: number; readonly nowMs: number }

/** What an entry does to the counts. */
export type StormChange = {
  readonly lost: number
  readonly standing: number
  readonly following: number
}

/** After an entry in which nodes were lost, came back, or went. Null: it stays as it is. */
export function brakeAfter(storm: Storm, change: StormChange, now: Now): BrakeRow | null {
  const { brake, fromMs } = storm
  const lost = Math.max(0, storm.lost + change.lost)
  const standing = Math.max(0, storm.standing + change.standing)
  const holds = isStorm(brake, lost, standing, change.following)
  if (holds === (brake.on !== null)) return null
  if (!holds) {
    // Those that are still lost count on.
    const released = { timeMs: now.nowMs, cause: 'returned' as const, accessor: '' }
    return changed({ ...brake, on: null, released }, now)
  }
  const sinceMs = now.nowMs
  const untilMs = untilOf(brake, sinceMs)
  const on = { sinceMs, fromMs, untilMs, lost, nodes: lost + standing }
  return changed({ ...brake, on }, now)
}

function untilOf({ holdMs }: BrakeSettings, sinceMs: number): number | null {
  return holdMs === 0 ? null : timeAfter(sinceMs, holdMs)
}

/** One that is on stays on, and holds as long as the new settings say, unless they say that there is none. */
export function withSettings(
  brake: BrakeRow,
  { settings, accessor }: { readonly settings: BrakeSettings; readonly accessor: string },
  now: Now,
): BrakeRow {
  const { on } = brake
  const set = { ...brake, ...settings }
  if (on === null) return changed(set, now)
  if (settings.sharePercent === 0) return releasedBrake(set, { cause: 'settings', accessor }, now)
  return changed({ ...set, on: { ...on, untilMs: untilOf(settings, on.sinceMs) } }, now)
}

/** The storm is over, and the next one begins. */
export function releasedBrake(
  brake: BrakeRow,
  { cause, accessor }: { readonly cause: BrakeCause; readonly accessor: string },
  now: Now,
): BrakeRow {
  const released = { timeMs: now.nowMs, cause, accessor }
  return changed({ ...brake, on: null, storm: brake.storm + 1, released }, now)
}

function changed(brake: BrakeRow, { index }: Now): BrakeRow {
  const createIndex = brake.createIndex === 0 ? index : brake.createIndex
  return { ...brake, createIndex, modifyIndex: index }
}
