/**
 * What later domains make of tokens that go: sessions made with one end, and their locks are free, in the very entry
 * that removes it. The catalogue gives the list to `aclCommands`.
 */
import type { ApplyContext, Change, Reader } from '../../fsm/domain.ts'

export type TokenCascade = {
  /** Called with at least one accessor, each once. Sees the state before the entry. */
  readonly load: (reader: Reader, accessors: readonly string[]) => unknown
  /** Pure; `loaded` is what `load` resolved with. `nowMs`: wall time, chosen by the proposer. */
  readonly apply: (
    context: ApplyContext & { readonly nowMs: number },
    loaded: never,
  ) => readonly Change[]
}

/** In the order of `cascades`. */
export async function loadTokenCascades(
  cascades: readonly TokenCascade[],
  reader: Reader,
  accessors: readonly string[],
): Promise<readonly unknown[]> {
  if (accessors.length === 0) return []
  const loaded: unknown[] = []
  for (const cascade of cascades) loaded.push(await cascade.load(reader, accessors))
  return loaded
}

export function applyTokenCascades(
  cascades: readonly TokenCascade[],
  context: ApplyContext & { readonly nowMs: number },
  loaded: readonly unknown[],
): readonly Change[] {
  return loaded.flatMap((part, position) => [
    ...(cascades[position]?.apply(context, part as never) ?? []),
  ])
}
