/** Methods on jobs that are not registered: a job file is parsed, and a job is validated. */
import { Type } from 'typebox'
import { MusterError } from '../../lib/errors.ts'
import { defineLocalMethod } from '../../rpc/method.ts'
import { checkNamespaceName } from '../namespaces/model.ts'
import { namespaceOf } from '../namespaces/queries.ts'
import { withDefaults } from './defaults-model.ts'
import { readJob, type JobDraft } from './draft-model.ts'
import { parseJobFile } from './hcl-job-model.ts'
import { jobBytesMax, type JobSpec } from './model.ts'
import { warningsNow } from './registered-methods.ts'
import { inNamespace } from '../../rpc/requirements.ts'
import { validateJob } from './validate-model.ts'
import { knowsTimeZone } from './zones.ts'

export type ParsedJob =
  | { readonly complete: true; readonly job: JobSpec }
  | { readonly complete: false; readonly job: JobDraft }

const parse = defineLocalMethod({
  kind: 'local',
  name: 'jobs.parse',
  args: Type.Object({
    namespace: Type.String(),
    text: Type.String({ maxLength: jobBytesMax }),
    variables: Type.String({ maxLength: jobBytesMax }),
    complete: Type.Boolean(),
  }),
  requires: ({ namespace }) => inNamespace(namespace, 'parse-job'),
  run: async (_context, { namespace, text, variables, complete }): Promise<ParsedJob> => {
    checkNamespaceName(namespace)
    const { draft, refused } = readJob(parseJobFile(text, variables))
    // They are no part of the job that is answered, so nobody would say so later.
    if (!refused.isEmpty) throw new MusterError('invalid_argument', refused.texts().join('; '))
    return complete ? { complete, job: withDefaults(draft, namespace) } : { complete, job: draft }
  },
})

export type Validated = {
  readonly errors: readonly string[]
  readonly warnings: readonly string[]
}

/** `namespace`: that it is to be registered in, whatever it says itself. */
const validate = defineLocalMethod({
  kind: 'local',
  name: 'jobs.validate',
  args: Type.Object({ namespace: Type.String(), job: Type.Unknown() }),
  requires: ({ namespace }) => inNamespace(namespace, 'read-job'),
  run: async (context, { namespace, job: written }): Promise<Validated> => {
    checkNamespaceName(namespace)
    const { draft, refused } = readJob(written)
    const job = withDefaults({ ...draft, Namespace: namespace }, namespace)
    const problems = validateJob(job, { knowsTimeZone })
    if (namespaceOf(context.read(), namespace).value === null) {
      problems.add('Namespace', `${JSON.stringify(namespace)} does not exist`)
    }
    const warnings = warningsNow(context, job)
    return { errors: [...refused.texts(), ...problems.texts()], warnings }
  },
})

export const jobMethods = { parse, validate }
