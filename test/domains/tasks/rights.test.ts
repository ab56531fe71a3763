/** What an agent tells whoever may not ask of an allocation: nothing of whether it runs it, or in which namespace. */
import t from 'tap'
import { Search } from '../../../src/api/search.ts'
import type { ApiRequest } from '../../../src/api/route.ts'
import { execMethods } from '../../../src/domains/tasks/exec-methods.ts'
import { fileRoutes } from '../../../src/domains/tasks/file-routes.ts'
import { taskMethods } from '../../../src/domains/tasks/methods.ts'
import { taskRoutes } from '../../../src/domains/tasks/routes.ts'
import type { AnyLocalMethod } from '../../../src/rpc/method.ts'
import { mustMay } from '../../../src/rpc/refusal.ts'

const tasks = { namespaceOf: (id: string) => (id === 'known' ? 'hidden-ns' : null) }
const service = () => tasks
const nobody = { may: ({ resource }: { resource: string }) => resource === 'none' }

/** At an agent, by a caller without any right. The query and the body are wrong. */
function requestOf(allocation: string): ApiRequest {
  const call = async (method: AnyLocalMethod, args: unknown) => {
    mustMay(nobody, method.requires(args as never, service as never), method.missing)
    return method.run({ ...nobody, service } as never, args as never)
  }
  return {
    service,
    call,
    open: call,
    parameter: () => allocation,
    search: new Search('type=x&origin=x&offset=x&limit=x&task='),
    fields: () => {
      throw new Error('the body was read')
    },
    json: 'wrong',
  } as unknown as ApiRequest
}

t.test('a refusal is the same of every allocation, before the rest is looked at', async (t) => {
  const routes = [...fileRoutes, ...taskRoutes].filter(({ path }) => path.includes(':alloc_id'))
  t.ok(routes.length >= 8)
  for (const route of routes) {
    const { method, path, permission } = route
    for (const allocation of ['known', 'absent']) {
      const text = new RegExp(`'${permission}' on the allocation's namespace$`)
      const refused = { code: 'permission_denied', message: text }
      const name = `${method} ${path} of ${allocation}`
      await t.rejects(async () => route.handle(requestOf(allocation)), refused, name)
    }
  }
})

t.test('the methods themselves say no more', async (t) => {
  const { list, stat, read, logs, restart, signal, usage } = taskMethods
  for (const method of [list, stat, read, logs, restart, signal, usage, execMethods.exec]) {
    t.match(method.missing, /^'namespace:[a-z-]+' on the allocation's namespace$/, method.name)
  }
})
