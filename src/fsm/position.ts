/**
 * How far a store's state is, read from its own rows; and the first rows of a new one.
 */
import { setImmediate } from 'node:timers/promises'
import { MusterError } from '../lib/errors.ts'
import type { SnapshotMeta } from '../raft/state-machine.ts'
import { firstCommandVersion } from './cluster-version.ts'
import { generationPrefix, kind } from './keys.ts'
import {
  appliedRow,
  commandVersionRow,
  configurationRow,
  counterFloorRow,
  generationsRow,
  installedRow,
  noConfiguration,
} from './meta.ts'
import type { Position } from './state.ts'
import type { Store, StoreSnapshot } from './store.ts'

/** Before the first entry: the tables' first generation, empty. */
export const firstPosition: Position = {
  appliedIndex: 0,
  appliedTerm: 0,
  configuration: noConfiguration.configuration,
  configurationIndex: 0,
  generations: { current: 1, newest: 1, staging: null },
  commandVersion: firstCommandVersion,
  counterFloor: 0,
  floorIndex: 0,
  tableIndexes: new Map(),
}

/** As of `snapshot`, or now on a store without a writer. Throws `corrupt` when a row is missing or damaged. */
export async function readPosition(
  store: Store,
  snapshot: StoreSnapshot | null,
): Promise<Position> {
  const applied = store.get(appliedRow.key, snapshot)
  const generationsBytes = store.get(generationsRow.key, snapshot)
  if (applied === undefined || generationsBytes === undefined) {
    throw new MusterError('corrupt', `the state in ${store.folder} does not say how far it is`)
  }
  const [appliedIndex, appliedTerm] = appliedRow.decode(applied)
  const generations = generationsRow.decode(generationsBytes)
  const stored = store.get(configurationRow.key, snapshot)
  const { index: configurationIndex, configuration } =
    stored === undefined ? noConfiguration : configurationRow.decode(stored)
  const front = generationPrefix(generations.current)
  const floor = store.get(front + kind.floor, snapshot)
  const counterFloor = store.get(counterFloorRow.key, snapshot)
  return {
    appliedIndex,
    appliedTerm,
    configuration,
    configurationIndex,
    generations,
    commandVersion: readCommandVersion(store, snapshot),
    counterFloor: counterFloor === undefined ? 0 : counterFloorRow.decode(counterFloor),
    floorIndex: floor === undefined ? 0 : decodeNumber(floor),
    tableIndexes: await readTableIndexes(store, snapshot, front),
  }
}

export function metaOf(position: Position): SnapshotMeta {
  return {
    index: position.appliedIndex,
    term: position.appliedTerm,
    configuration: position.configuration,
    configurationIndex: position.configurationIndex,
  }
}

/** That the cluster runs at whose state it is, see `cluster-version.ts`. */
export function readCommandVersion(store: Store, snapshot: StoreSnapshot | null): number {
  const bytes = store.get(commandVersionRow.key, snapshot)
  return bytes === undefined ? firstCommandVersion : commandVersionRow.decode(bytes)
}

/** The index of the snapshot that the store came from, 0 for none. */
export function readInstalled(store: Store): number {
  const bytes = store.get(installedRow.key)
  return bytes === undefined ? 0 : installedRow.decode(bytes)
}

async function readTableIndexes(
  store: Store,
  snapshot: StoreSnapshot | null,
  front: string,
): Promise<ReadonlyMap<string, number>> {
  const prefix = front + kind.tableIndex
  const found = new Map<string, number>()
  const iterator = store.iterator({ from: prefix, prefix, keys: true, snapshot })
  try {
    for (;;) {
      const page = await store.nextPage(iterator)
      if (page.length === 0) return found
      for (const [key, value] of page) {
        // The name is between the prefix and the two characters that end a string part.
        found.set(key.toString().slice(prefix.length, -2), decodeNumber(value))
      }
      await setImmediate()
    }
  } finally {
    await iterator.close()
  }
}

/** The other way of `encodeNumber`, from bytes. */
function decodeNumber(bytes: Uint8Array): number {
  return bytes.reduce((value, byte) => value * 128 + byte, 0)
}
