/**
 * Services and checks that are defined in configuration files, with Consul's names of fields. What a check of which kind
 * needs is judged where it becomes one, by the same code as a registration over HTTP.
 */
import Type from 'typebox'

/** Of one agent's files; as many as it may have at all. */
export const DEFINITIONS_MAX = 4096
/** Checks within one service; as many as one registration over HTTP may bring. */
export const SERVICE_CHECKS_MAX = 64

const closed = { additionalProperties: false } as const
const text = Type.Optional(Type.String({ description: 'text' }))
const texts = Type.Optional(Type.Array(Type.String(), { description: 'a list of texts' }))
const flag = Type.Optional(Type.Boolean({ description: 'true or false' }))
const whole = Type.Optional(Type.Integer({ description: 'a whole number' }))
const pairs = Type.Optional(
  Type.Record(Type.String(), Type.String(), { description: 'an object whose values are texts' }),
)

const checkFields = {
  id: text,
  check_id: text,
  name: text,
  notes: text,
  status: text,
  ttl: text,
  http: text,
  method: text,
  header: Type.Optional(
    Type.Record(Type.String(), Type.Array(Type.String()), {
      description: 'an object whose values are lists of texts',
    }),
  ),
  body: text,
  tls_skip_verify: flag,
  disable_redirects: flag,
  tcp: text,
  grpc: text,
  grpc_use_tls: flag,
  args: texts,
  interval: text,
  timeout: text,
  success_before_passing: whole,
  failures_before_warning: whole,
  failures_before_critical: whole,
  deregister_critical_service_after: text,
}

const serviceChecks = Type.Optional(
  Type.Array(Type.Object(checkFields, closed), {
    maxItems: SERVICE_CHECKS_MAX,
    description: `at most ${SERVICE_CHECKS_MAX} checks`,
  }),
)

const service = Type.Object(
  {
    id: text,
    name: text,
    tags: texts,
    address: text,
    port: whole,
    meta: pairs,
    tagged_addresses: Type.Optional(
      Type.Record(Type.String(), Type.Object({ address: text, port: whole }, closed), {
        description: 'an object whose values have address and port',
      }),
    ),
    weights: Type.Optional(Type.Object({ passing: whole, warning: whole }, closed)),
    enable_tag_override: flag,
    check: serviceChecks,
    checks: serviceChecks,
  },
  closed,
)

export const servicesSchema = Type.Optional(
  Type.Array(service, {
    maxItems: DEFINITIONS_MAX,
    description: `at most ${DEFINITIONS_MAX} services`,
  }),
)

export const checksSchema = Type.Optional(
  Type.Array(Type.Object({ ...checkFields, service_id: text }, closed), {
    maxItems: DEFINITIONS_MAX,
    description: `at most ${DEFINITIONS_MAX} checks`,
  }),
)

type ServiceFile = Type.Static<typeof service>

type DefinitionFiles = {
  readonly service?: readonly ServiceFile[]
  readonly services?: readonly ServiceFile[]
  readonly check?: readonly object[]
  readonly checks?: readonly object[]
}

/** Singular and plural together, in that order; fields keep their names. */
export function definitionsOf({ service, services, check, checks }: DefinitionFiles) {
  return {
    services: [...(service ?? []), ...(services ?? [])].map(
      ({ check, checks, ...fields }: ServiceFile) => ({
        fields,
        checks: [...(check ?? []), ...(checks ?? [])],
      }),
    ),
    checks: [...(check ?? []), ...(checks ?? [])],
  }
}

export type ScriptChecks = 'none' | 'files' | 'all'

/** Consul's two keys: the wider one includes the other. */
export function scriptChecksOf(file: {
  readonly enable_script_checks?: boolean
  readonly enable_local_script_checks?: boolean
}): ScriptChecks {
  if (file.enable_script_checks === true) return 'all'
  return file.enable_local_script_checks === true ? 'files' : 'none'
}
