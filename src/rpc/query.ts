/** One query: what is asked, how it is run over a view, and what is answered. */
import type { Abortable } from '../lib/lazy-abort.ts'
import { maySeeSome, type Permissions } from './authorizer.ts'
import type {
  AnyQuery,
  Caller,
  QueryContext,
  QueryResult,
  ReadOptions,
  Requirement,
} from './method.ts'
import { lacksAll, mustMay } from './refusal.ts'
import { isAsyncIterable, type SharedResult, type Used } from './shared-reads.ts'
import type { Services } from './services.ts'
import type { RecordingView } from './state.ts'

export type QueryAnswer = QueryResult<unknown> & {
  /** Gives the view back under a value that is read as it streams. The caller calls it at the end; harmless twice. */
  readonly close: () => void
  /** Set when others are given the very same value: what is made of it once is kept there for all. */
  readonly shared: SharedResult | null
}

export type QueryCall = {
  readonly method: AnyQuery
  /** Checked against the method's schema already. While it waits, it has them together with others who gave the same. */
  args: unknown
  readonly caller: Caller
  readonly options: ReadOptions
  /** For the barrier, monotonic ms; waiting for a change is bounded by `options.waitMs` alone. */
  readonly deadlineMs: number
  readonly signal: Abortable
  /** What else the form of its answer follows from. Null: it shares its answer with nobody. */
  shape: string | null
  /** Called once, at its end. Null: it has an answer. Must not throw. */
  ended(error: unknown): void
}

export function mustRead(
  { method, args }: QueryCall,
  permissions: Permissions,
  services: Services,
): void {
  mustMay(permissions, method.requires(args as never, services.get), method.missing)
  if (method.needsLeast === true) mustSeeSome(method, permissions)
}

/** Throws `permission_denied` for a caller that is shown nothing. */
export function mustSeeSome({ least = [] }: AnyQuery, permissions: Permissions): void {
  if (!maySeeSome(permissions, least)) throw lacksAll(permissions, [least])
}

/** The view stays open behind the answer. One that is there at once costs no promise. */
export function runOver(
  view: RecordingView,
  call: QueryCall,
  permissions: Permissions,
  services: Services,
): QueryAnswer | Promise<QueryAnswer> {
  const context: QueryContext = {
    caller: call.caller,
    accessor: permissions.accessor ?? null,
    signal: call.signal,
    may: (requirement: Requirement) => permissions.may(requirement),
    missing: permissions.missing,
    service: services.get,
  }
  try {
    const result = call.method.query(view, call.args as never, context)
    return result instanceof Promise ? answerLater(view, result) : answerOver(view, result)
  } catch (error) {
    view.close()
    throw error
  }
}

async function answerLater(
  view: RecordingView,
  result: Promise<QueryResult<unknown>>,
): Promise<QueryAnswer> {
  try {
    return answerOver(view, await result)
  } catch (error) {
    view.close()
    throw error
  }
}

function answerOver(view: RecordingView, { value, index }: QueryResult<unknown>): QueryAnswer {
  return {
    value,
    index: Math.max(index, view.floorIndex, 1),
    close: () => view.close(),
    shared: null,
  }
}

export function answerOf({ result, release }: Used): QueryAnswer {
  return { value: result.value, index: result.index, close: release, shared: result }
}

/** For the one who asked. Only a value that streams reads on. */
export function released(answer: QueryAnswer): QueryAnswer {
  if (!isAsyncIterable(answer.value)) answer.close()
  return answer
}
