/** `/v1/agent/service`, `/v1/agent/check`, `/v1/agent/services` and `/v1/agent/checks`. */
import { Fields } from '../../api/fields.ts'
import type { ApiReply, Route } from '../../api/route.ts'
import { MusterError } from '../../lib/errors.ts'
import { localServiceMethods } from './methods.ts'
import { checkWithin, initialCheckOf } from './check-routes.ts'
import type { CheckStatus } from '../catalog/model.ts'
import { checkNamespace, serviceOf, statusOf } from '../catalog/registration-routes.ts'
import { filterOf, listed, named, scopedRoutes } from '../catalog/scope-routes.ts'

const done: ApiReply = { status: 200 }

const route = scopedRoutes()
const report = (word: string, status: CheckStatus): Route => ({
  ...route('PUT', `/v1/agent/check/${word}/:id`, async (request) => {
    const id = named(request, 'id', 'check ID')
    await request.call(localServiceMethods.report, {
      id,
      status,
      output: request.search.text('note') ?? '',
    })
    return done
  }),
  body: 'none',
})

export const localServiceRoutes: readonly Route[] = [
  route('GET', '/v1/agent/services', async (request) =>
    listed(await request.call(localServiceMethods.services, { filter: filterOf(request) })),
  ),
  route('GET', '/v1/agent/checks', async (request) =>
    listed(await request.call(localServiceMethods.checks, { filter: filterOf(request) })),
  ),
  route('PUT', '/v1/agent/service/register', async (request) => {
    const fields = new Fields(request.json, { anyCase: true })
    const service = serviceOf(fields, 'Name')
    const one = fields.raw('Check')
    const many = [...(one === undefined ? [] : [one]), ...(fields.list('Checks') ?? [])]
    const checks = many.map((value, position) =>
      checkWithin(value, service, many.length === 1 ? null : position + 1),
    )
    const replacesChecks = request.search.flag('replace-existing-checks')
    await request.call(localServiceMethods.registerService, { service, checks, replacesChecks })
    return done
  }),
  {
    ...route('PUT', '/v1/agent/service/deregister/:id', async (request) => {
      await request.call(localServiceMethods.deregisterService, {
        id: named(request, 'id', 'service ID'),
      })
      return done
    }),
    body: 'none',
  },
  route('PUT', '/v1/agent/check/register', async (request) => {
    const fields = new Fields(request.json, { anyCase: true })
    checkNamespace(fields)
    const name = fields.text('Name') ?? ''
    if (name === '') throw new MusterError('invalid_argument', 'Missing Name of the check')
    const id = fields.text('ID') || fields.text('CheckID') || name
    const serviceId = fields.text('ServiceID') ?? ''
    await request.call(
      localServiceMethods.registerCheck,
      initialCheckOf(fields, { id, name, serviceId }),
    )
    return done
  }),
  {
    ...route('PUT', '/v1/agent/check/deregister/:id', async (request) => {
      await request.call(localServiceMethods.deregisterCheck, {
        id: named(request, 'id', 'check ID'),
      })
      return done
    }),
    body: 'none',
  },
  report('pass', 'passing'),
  report('warn', 'warning'),
  report('fail', 'critical'),
  route('PUT', '/v1/agent/check/update/:id', async (request) => {
    const id = named(request, 'id', 'check ID')
    const fields = new Fields(request.json, { anyCase: true })
    const status = fields.text('Status') ?? ''
    if (status === '') throw new MusterError('invalid_argument', 'Missing Status')
    const output = fields.text('Output') ?? ''
    await request.call(localServiceMethods.report, { id, status: statusOf(status), output })
    return done
  }),
]
