/** Reads of the storm brake, and of what it goes by: how many nodes are lost, and how many are not. */
import type { Reader } from '../../fsm/domain.ts'
import { workloadsVersion, type EvaluationRow } from '../evaluations/model.ts'
import { openEvaluations } from '../evaluations/queries.ts'
import { defaultBrake, standingEnough, type BrakeRow, type Storm } from './brake-model.ts'
import { brakeKey, stormBrake } from './brake-table.ts'
import { isHeldBack } from './model.ts'
import { nodeById } from './queries.ts'
import { awayPrefix, nodes } from './table.ts'

/** The defaults, of index 0, as long as it never went on and nobody set it. */
export function brakeOf(reader: Pick<Reader, 'get'>): BrakeRow {
  const row = reader.get(stormBrake, brakeKey)
  const none = { storm: 0, on: null, released: null, createIndex: 0, modifyIndex: 0 }
  return row ?? { ...defaultBrake, ...none }
}

/** Number of the storm whose lost nodes it holds the work of; null: it is off. */
export function heldStormOf(reader: Pick<Reader, 'get'>): number | null {
  const { on, storm } = brakeOf(reader)
  return on === null ? null : storm
}

/** `coming`: nodes whose loss the entry, or those right after it, may tell. Null: the cluster has servers that know no brake. */
export async function stormAt(
  reader: Reader,
  nowMs: number,
  coming: number,
): Promise<Storm | null> {
  if (reader.commandVersion < workloadsVersion) return null
  const brake = brakeOf(reader)
  const fromMs = fromOf(brake, nowMs)
  const lost = await lostSince(reader, brake, fromMs)
  const most = lost + coming
  // There is none, whatever stands.
  if (brake.on === null && (brake.sharePercent === 0 || most < brake.nodesMin)) {
    return { brake, fromMs, lost, standing: standingEnough(brake, most) + coming }
  }
  const standing = await standingNodes(reader, standingEnough(brake, most) + coming)
  return { brake, fromMs, lost, standing }
}

/** All of them, for people. */
export async function stormShownAt(reader: Reader, nowMs: number): Promise<Storm> {
  const brake = brakeOf(reader)
  const fromMs = fromOf(brake, nowMs)
  const lost = await lostSince(reader, brake, fromMs)
  return { brake, fromMs, lost, standing: await standingNodes(reader, Infinity) }
}

/** Evaluations that wait for the brake. */
export async function heldEvaluations(reader: Reader): Promise<number> {
  const storm = heldStormOf(reader)
  if (storm === null) return 0
  const nodesHeld = new Map<string, boolean>()
  const isHeld = ({ triggeredBy, nodeId }: EvaluationRow): boolean => {
    if (triggeredBy !== 'node-update' || nodeId === '') return false
    const node = nodesHeld.has(nodeId) ? null : nodeById(reader, nodeId)
    if (node !== null) nodesHeld.set(nodeId, isHeldBack(node, storm))
    return nodesHeld.get(nodeId) === true
  }
  let count = 0
  for await (const page of openEvaluations(reader, 'pending')) count += page.filter(isHeld).length
  return count
}

function fromOf({ on, windowMs }: BrakeRow, nowMs: number): number {
  return on?.fromMs ?? Math.max(0, Math.floor(nowMs) - windowMs)
}

function lostSince(reader: Reader, { storm }: BrakeRow, fromMs: number): Promise<number> {
  const range = { prefix: [storm], from: [storm, fromMs] }
  return counted(reader.keysBy(nodes, 'lost', range), Infinity)
}

/** Not away; at most so many are counted. */
async function standingNodes(reader: Reader, most: number): Promise<number> {
  const away = await counted(reader.keysBy(nodes, 'away', { prefix: awayPrefix }), Infinity)
  const all = await counted(reader.keysBy(nodes, null), away + most)
  return Math.max(0, all - away)
}

async function counted(keys: AsyncIterable<readonly string[]>, most: number): Promise<number> {
  let count = 0
  for await (const page of keys) {
    count += page.length
    if (count >= most) return count
  }
  return count
}
