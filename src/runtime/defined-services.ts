/**
 * Services and checks that configuration files define, as this agent runs them: read by the code that reads
 * registrations over HTTP. The names of fields differ only in case and underscores (`service_id`, `ServiceID`).
 */
import { Fields } from '../api/fields.ts'
import { checkDefinition } from '../domains/local-services/definition.ts'
import type { Definitions, InitialCheck } from '../domains/local-services/local-services.ts'
import { checkWithin, initialCheckOf } from '../domains/local-services/check-routes.ts'
import { checkService } from '../domains/catalog/model.ts'
import { givenServiceOf } from '../domains/catalog/registration-routes.ts'
import { MusterError, textOf } from '../lib/errors.ts'

/** Of the files, with Consul's names of fields. */
export type DefinitionSettings = {
  readonly services: readonly { readonly fields: object; readonly checks: readonly object[] }[]
  readonly checks: readonly object[]
}

/** Throws `invalid_argument`, naming the service or check. */
export function definedServices({ services, checks }: DefinitionSettings): Definitions {
  return {
    services: services.map(({ fields, checks }) =>
      named('service', fields, () => {
        const service = checkService(givenServiceOf(fieldsOf(fields), 'Name'))
        const several = checks.length > 1
        return {
          service,
          checks: checks.map((check, at) =>
            checked(checkWithin(withoutUnderscores(check), service, several ? at + 1 : null)),
          ),
        }
      }),
    ),
    checks: checks.map((check) =>
      named('check', check, () => {
        const fields = fieldsOf(check)
        const name = fields.text('Name') ?? ''
        if (name === '') throw new MusterError('invalid_argument', 'Missing Name of the check')
        const id = fields.text('ID') || fields.text('CheckID') || name
        const serviceId = fields.text('ServiceID') ?? ''
        return checked(initialCheckOf(fields, { id, name, serviceId }))
      }),
    ),
  }
}

function checked({ definition, status }: InitialCheck): InitialCheck {
  return { definition: checkDefinition(definition), status }
}

function fieldsOf(definition: object): Fields {
  return new Fields(withoutUnderscores(definition), { anyCase: true })
}

function withoutUnderscores(definition: object): object {
  return Object.fromEntries(
    Object.entries(definition).map(([name, value]) => [name.replaceAll('_', ''), value]),
  )
}

function named<T>(kind: string, definition: object, read: () => T): T {
  try {
    return read()
  } catch (error) {
    const fields = new Fields(definition)
    const name = fields.text('id') || fields.text('name') || '(without a name)'
    throw new MusterError(
      'invalid_argument',
      `the configuration's ${kind} ${JSON.stringify(name)}: ${textOf(error)}`,
      { cause: error },
    )
  }
}
