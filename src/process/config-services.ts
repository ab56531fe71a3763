/**
 * Services and checks that are defined in configuration files, with Consul's names of fields. What a check of which kind
 * needs is judged where it becomes one, by the same code as a registration over HTTP.
 */
import Type, { type TObject } from 'typebox'
import { closed, flag } from './config-values.ts'

/** Of one agent's files; as many as it may have at all. */
export const DEFINITIONS_MAX = 4096
/** Checks within one service; as many as one registration over HTTP may bring. */
export const SERVICE_CHECKS_MAX = 64

const text = Type.Optional(Type.String({ description: 'text' }))
const texts = Type.Optional(Type.Array(Type.String(), { description: 'a list of texts' }))
const whether = Type.Optional(flag())
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
  tls_skip_verify: whether,
  tls_server_name: text,
  disable_redirects: whether,
  tcp: text,
  tcp_use_tls: whether,
  grpc: text,
  grpc_use_tls: whether,
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
    enable_tag_override: whether,
    check: serviceChecks,
    checks: serviceChecks,
  },
  closed,
)

function definitions<Fields extends TObject>(fields: Fields, plural: string, about: string) {
  return Type.Array(fields, {
    maxItems: DEFINITIONS_MAX,
    description: `at most ${DEFINITIONS_MAX} ${plural}`,
    default: [],
    shown: 'none',
    about,
  })
}

const check = Type.Object({ ...checkFields, service_id: text }, closed)

export const definitionKeys = {
  service: definitions(service, 'services', 'blocks: [services of this agent](catalog.md)'),
  services: definitions(service, 'services', 'another name of `service`'),
  check: definitions(check, 'checks', 'blocks: [checks of this agent](catalog.md)'),
  checks: definitions(check, 'checks', 'another name of `check`'),
}

export const scriptCheckKeys = {
  enable_script_checks: flag({
    default: false,
    about:
      'checks may run commands, also those registered over HTTP; see [the catalog](catalog.md)',
  }),
  enable_local_script_checks: flag({
    default: false,
    about: 'checks that the configuration files define may run commands',
  }),
}

type ServiceFile = Type.Static<typeof service>

type DefinitionFiles = {
  readonly service: readonly ServiceFile[]
  readonly services: readonly ServiceFile[]
  readonly check: readonly object[]
  readonly checks: readonly object[]
}

/** Singular and plural together, in that order; fields keep their names. */
export function definitionsOf({ service, services, check, checks }: DefinitionFiles) {
  return {
    services: [...service, ...services].map(({ check, checks, ...fields }: ServiceFile) => ({
      fields,
      checks: [...(check ?? []), ...(checks ?? [])],
    })),
    checks: [...check, ...checks],
  }
}

export type ScriptChecks = 'none' | 'files' | 'all'

/** Consul's two keys: the wider one includes the other. */
export function scriptChecksOf(file: {
  readonly enable_script_checks: boolean
  readonly enable_local_script_checks: boolean
}): ScriptChecks {
  if (file.enable_script_checks) return 'all'
  return file.enable_local_script_checks ? 'files' : 'none'
}
