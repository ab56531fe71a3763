/**
 * What later domains make of a loss in the catalog: sessions end in the very entry in which the check they are bound to
 * turns critical or goes. The catalogue gives the list to `catalogCommands`.
 */
import type { ApplyContext, Change, Reader } from '../../fsm/domain.ts'

/** What one entry takes from a node. Names are in lower case, as they stand in keys. */
export type Loss = {
  readonly node: string
  /** Checks that turned critical or are gone; `all`: the node is gone, with whatever lives on it. */
  readonly checkIds: readonly string[] | 'all'
}

export type LossCascade = {
  /** Called with at least one loss, each node at most once. Sees the state before the entry. */
  readonly load: (reader: Reader, losses: readonly Loss[]) => unknown
  /** Pure; `loaded` is what `load` resolved with. `nowMs`: wall time, chosen by the proposer. */
  readonly apply: (
    context: ApplyContext & { readonly nowMs: number },
    loaded: never,
  ) => readonly Change[]
}

export type LoadedCascades = readonly unknown[]

/** In the order of `cascades`; nothing is loaded without a loss. */
export async function loadCascades(
  cascades: readonly LossCascade[],
  reader: Reader,
  losses: readonly Loss[],
): Promise<LoadedCascades> {
  if (losses.length === 0) return []
  const loaded: unknown[] = []
  for (const cascade of cascades) loaded.push(await cascade.load(reader, losses))
  return loaded
}

export function applyCascades(
  cascades: readonly LossCascade[],
  context: ApplyContext & { readonly nowMs: number },
  loaded: LoadedCascades,
): readonly Change[] {
  return loaded.flatMap((part, position) => [
    ...(cascades[position]?.apply(context, part as never) ?? []),
  ])
}
