/** What answers where no route does: a path that cannot be read, a path that is not there, a method it does not have. */
import { errorBody, hasJsonErrors, HttpRefusal, jsonErrors } from './errors.ts'
import { outOfScope, type OutOfScope } from './out-of-scope.ts'
import { decodePath } from './request-path.ts'
import type { ApiReply, Route } from './route.ts'
import type { RouteTable } from './route-table.ts'

/** The path itself is left out: it may hold a secret, and the client knows it. */
const unknownPath = 'no such path: the HTTP API has no route for it'

/** Stands in for a path that cannot be decoded, so that its request is bounded and answered like any other. */
export const brokenPath: Route = {
  method: 'GET',
  path: '/*',
  body: 'none',
  headDecides: true,
  anyRegion: true,
  handle() {
    throw new HttpRefusal(400, 'the path has a broken percent escape')
  },
}

/** Stands in for paths and methods that no route has. */
export function unknownRoute(table: RouteTable): Route {
  return {
    method: 'GET',
    path: '/*',
    body: 'none',
    headDecides: true,
    anyRegion: true,
    handle(request) {
      const path = decodePath(request.path)
      const allowed = table.methodsOf(request.path, request.dialect)
      if (allowed.length === 0) {
        const area = outOfScope(path)
        return area === null ? notFound(path) : notServed(area)
      }
      const { type, body } = errorBody(path, hasJsonErrors(path) ? '' : 'Invalid method')
      return { status: 405, type, text: body, headers: { Allow: allowed.join(', ') } }
    },
  }
}

function notServed({ reason, isVault }: OutOfScope): ApiReply {
  if (!isVault) return { status: 501, text: reason }
  const { type, body } = jsonErrors(reason)
  return { status: 501, type, text: body }
}

/** Clients of Vault know an empty list of errors. */
function notFound(path: string): ApiReply {
  const { type, body } = errorBody(path, hasJsonErrors(path) ? '' : unknownPath)
  return { status: 404, type, text: body }
}
