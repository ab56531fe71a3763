/** `POST /v1/sys/auth/<mount>/explain` of a directory mount: what a login is made of, for an operator. */
import { CoercedFields } from '../../api/coerced-fields.ts'
import { envelope } from '../../api/envelope.ts'
import { dateText } from '../../lib/date-text.ts'
import { MusterError } from '../../lib/errors.ts'
import type { LoginType } from '../logins/mounted-routes.ts'
import { ldapExplainMethods } from './explain-methods.ts'
import { loginMsMax, passwordLengthMax } from './login-methods.ts'
import { nameLengthMax } from './model.ts'

/** What counting a failure may take beside the directory. */
const countMsMax = 30_000

export const explainLogin: NonNullable<LoginType['explain']> = async (request, { id, path }) => {
  const fields = new CoercedFields(request.json)
  const username = fields.string('username', nameLengthMax) ?? ''
  const password = fields.string('password') ?? null
  if (password !== null && password.length > passwordLengthMax) {
    throw new MusterError('invalid_argument', 'the password is too long')
  }
  const found = await request.call(
    ldapExplainMethods.explain,
    { at: { id, path }, username, password },
    { timeoutMs: loginMsMax + countMsMax },
  )
  const { identity } = found
  const data = {
    type: 'ldap',
    allowed: found.allowed,
    refused_by: found.rule,
    reason: found.reason,
    bind_tried: found.bindTried,
    locked_until: found.lockedUntilMs === null ? null : dateText(found.lockedUntilMs),
    steps: found.steps.map(({ ms, failure, found: entries, ...asked }) => ({
      ...asked,
      passed: failure === null,
      milliseconds: ms,
      entries,
      failure,
    })),
    user_dn: identity?.userDn ?? null,
    alias: identity?.aliases[0].name ?? null,
    groups: identity?.groups ?? [],
    mappings: found.sources,
    configured_policies: found.configured,
    policies: found.policies,
  }
  return envelope(request, { data, warnings: found.warnings })
}
