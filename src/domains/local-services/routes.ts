/** `/v1/agent/service`, `/v1/agent/check`, `/v1/agent/services` and `/v1/agent/checks`. */
import { Fields } from '../../api/fields.ts'
import type { ApiReply, DescribedRoute } from '../../api/route.ts'
import { done as doneShape, filterable, flag, ok, optionally, text } from '../../api/shape.ts'
import { MusterError } from '../../lib/errors.ts'
import type { CheckStatus } from '../catalog/model.ts'
import { checkNamespace, givenServiceOf, statusOf } from '../catalog/registration-routes.ts'
import { filterOf, listed, scopedRoutes, tailOf } from '../catalog/scope-routes.ts'
import { checkWithin, initialCheckOf } from './check-routes.ts'
import { localServiceMethods } from './methods.ts'
import {
  AgentCheckBody,
  AgentChecks,
  AgentServiceBody,
  AgentServices,
  CheckUpdateBody,
} from './shapes.ts'
import { refuseUnserved } from './unserved-routes.ts'

const done: ApiReply = { status: 200 }

const route = scopedRoutes()
const ofItsService = 'service:write of its service, else node:write'
const ofCheck = { '*': text('CheckID of the check, slashes included') }

const report = (word: string, status: CheckStatus): DescribedRoute => ({
  ...route(
    'PUT',
    `/v1/agent/check/${word}/*`,
    {
      summary: `Report a TTL check as ${status}`,
      permission: ofItsService,
      params: ofCheck,
      query: optionally({ note: text('Output of the check') }),
      reply: doneShape,
      errors: ['not_found'],
      example: { url: `/v1/agent/check/${word}/beat` },
    },
    async (request) => {
      const id = tailOf(request, 'check ID')
      await request.call(localServiceMethods.report, {
        id,
        status,
        output: request.search.text('note') ?? '',
      })
      return done
    },
  ),
  body: 'none',
})

export const localServiceRoutes: readonly DescribedRoute[] = [
  route(
    'GET',
    '/v1/agent/services',
    {
      summary: 'List the services of this agent',
      permission: 'filtered',
      query: filterable,
      reply: ok(AgentServices),
      example: {},
    },
    async (request) =>
      listed(await request.call(localServiceMethods.services, { filter: filterOf(request) })),
  ),
  route(
    'GET',
    '/v1/agent/checks',
    {
      summary: 'List the checks of this agent',
      permission: 'filtered',
      query: filterable,
      reply: ok(AgentChecks),
      example: {},
    },
    async (request) =>
      listed(await request.call(localServiceMethods.checks, { filter: filterOf(request) })),
  ),
  route(
    'PUT',
    '/v1/agent/service/register',
    {
      summary: 'Register a service with this agent',
      permission: 'service:write',
      query: optionally({
        'replace-existing-checks': flag('Checks of the service that the body does not name go'),
      }),
      bodySchema: AgentServiceBody,
      reply: doneShape,
      example: { body: { Name: 'cache', Port: 6379, Check: { CheckID: 'beat', TTL: '30s' } } },
    },
    async (request) => {
      const fields = new Fields(request.json, { anyCase: true })
      refuseUnserved(fields)
      const service = givenServiceOf(fields, 'Name')
      const one = fields.raw('Check')
      const many = [...(one === undefined ? [] : [one]), ...(fields.list('Checks') ?? [])]
      const checks = many.map((value, position) =>
        checkWithin(value, service, many.length === 1 ? null : position + 1),
      )
      const replacesChecks = request.search.flag('replace-existing-checks')
      await request.call(localServiceMethods.registerService, { service, checks, replacesChecks })
      return done
    },
  ),
  {
    ...route(
      'PUT',
      '/v1/agent/service/deregister/*',
      {
        summary: 'Deregister a service of this agent',
        permission: 'service:write',
        params: { '*': text('ID of the service, slashes included') },
        reply: doneShape,
        errors: ['not_found'],
        example: { url: '/v1/agent/service/deregister/other', status: 404 },
      },
      async (request) => {
        await request.call(localServiceMethods.deregisterService, {
          id: tailOf(request, 'service ID'),
        })
        return done
      },
    ),
    body: 'none',
  },
  route(
    'PUT',
    '/v1/agent/check/register',
    {
      summary: 'Register a check with this agent',
      permission: 'node:write',
      bodySchema: AgentCheckBody,
      reply: doneShape,
      errors: ['not_found'],
      example: { body: { Name: 'disk', TTL: '1m', Status: 'passing' } },
    },
    async (request) => {
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
    },
  ),
  {
    ...route(
      'PUT',
      '/v1/agent/check/deregister/*',
      {
        summary: 'Deregister a check of this agent',
        permission: ofItsService,
        params: ofCheck,
        reply: doneShape,
        errors: ['not_found'],
        example: { url: '/v1/agent/check/deregister/disk' },
      },
      async (request) => {
        await request.call(localServiceMethods.deregisterCheck, {
          id: tailOf(request, 'check ID'),
        })
        return done
      },
    ),
    body: 'none',
  },
  report('pass', 'passing'),
  report('warn', 'warning'),
  report('fail', 'critical'),
  route(
    'PUT',
    '/v1/agent/check/update/*',
    {
      summary: 'Report a TTL check',
      permission: ofItsService,
      params: ofCheck,
      bodySchema: CheckUpdateBody,
      reply: doneShape,
      errors: ['not_found'],
      example: {
        url: '/v1/agent/check/update/beat',
        body: { Status: 'passing', Output: 'all is well' },
      },
    },
    async (request) => {
      const id = tailOf(request, 'check ID')
      const fields = new Fields(request.json, { anyCase: true })
      const status = fields.text('Status') ?? ''
      if (status === '') throw new MusterError('invalid_argument', 'Missing Status')
      const output = fields.text('Output') ?? ''
      await request.call(localServiceMethods.report, { id, status: statusOf(status), output })
      return done
    },
  ),
]
