/** Who is told of each request at its end, found once for each route and not once for each request. */
import type { Route } from './route.ts'

/**
 * Status 0: the client went away before it got one. `lasting`: the request waited on purpose or streamed, so its duration
 * says nothing about this server. Must not throw.
 */
export type RequestObserver = (status: number, durationMs: number, lasting: boolean) => void

/** null: whatever no route serves. The path is the route's pattern. */
export type ObserverOf = (
  route: { readonly method: string; readonly path: string } | null,
) => RequestObserver

export class RouteObservers {
  readonly #observers: ReadonlyMap<Route, RequestObserver>
  readonly #other: RequestObserver

  constructor(routes: readonly Route[], observerOf: ObserverOf) {
    this.#observers = new Map(routes.map((route) => [route, observerOf(route)]))
    this.#other = observerOf(null)
  }

  of(route: Route): RequestObserver {
    return this.#observers.get(route) ?? this.#other
  }
}
