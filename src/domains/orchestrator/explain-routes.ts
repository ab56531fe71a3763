/** `POST /v1/sys/auth/<mount>/explain` of an orchestrator mount: what a login is made of, for an operator. */
import { CoercedFields } from '../../api/coerced-fields.ts'
import { envelope } from '../../api/envelope.ts'
import type { LoginType } from '../logins/mounted-routes.ts'
import { orchestratorExplainMethods } from './explain-methods.ts'

export const explainLogin: NonNullable<LoginType['explain']> = async (request, { id, path }) => {
  const fields = new CoercedFields(request.json)
  const args = { role: fields.string('role') ?? '', jwt: fields.string('jwt') ?? '' }
  const found = await request.call(orchestratorExplainMethods.explain, {
    at: { id, path },
    ...args,
  })
  const { account } = found
  const data = {
    type: 'orchestrator',
    allowed: found.allowed,
    refused_by: found.rule,
    reason: found.reason,
    address_allowed: found.addressAllowed,
    steps: found.steps.map(({ step, passed, ms }) => ({ step, passed, milliseconds: ms })),
    service_account: account === null ? null : shownAccount(account),
    review: {
      url: found.url,
      authority_from: found.authorityFrom,
      reviewer_from: found.reviewerFrom,
    },
    policies: found.policies,
  }
  return envelope(request, { data })
}

function shownAccount({ namespace, name, uid }: Record<'namespace' | 'name' | 'uid', string>) {
  return { namespace, name, uid }
}
