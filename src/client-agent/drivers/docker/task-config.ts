/** `config` of a task with the driver docker: what it may say. */
import { Type, type Static, type TSchema } from 'typebox'
import { Check } from 'typebox/schema'
import { parseDurationMs } from '../../../lib/duration.ts'
import { ConfigFault } from '../checked-config.ts'

const listMax = 256
const pullMs = { default: 5 * 60_000, max: 86_400_000 } as const

const closed = { additionalProperties: false } as const

function text(description = 'a text') {
  return Type.String({ maxLength: 4_096, description })
}

function texts(description = 'a list of texts') {
  return Type.Array(text(), { maxItems: listMax, description })
}

function whole(minimum: number, description: string) {
  return Type.Integer({ minimum, maximum: 2 ** 53 - 1, description })
}

const flag = Type.Boolean({ description: 'true or false' })

/** A block of a job file is a list of objects, as one with a name may stand there several times. */
function block<Schema extends TSchema>(schema: Schema, description: string) {
  return Type.Union([schema, Type.Array(schema, { maxItems: listMax })], { description })
}

function textMap(description: string) {
  return block(Type.Record(Type.String(), text()), description)
}

const Auth = Type.Object(
  {
    username: Type.Optional(text()),
    password: Type.Optional(text()),
    server_address: Type.Optional(text()),
  },
  closed,
)
export type Auth = Static<typeof Auth>

const TmpfsOptions = Type.Object(
  { size: Type.Optional(whole(0, 'bytes')), mode: Type.Optional(whole(0, 'a mode')) },
  closed,
)

export const MountConfig = Type.Object(
  {
    type: Type.Optional(Type.Enum(['bind', 'tmpfs'])),
    target: text(),
    source: Type.Optional(text()),
    readonly: Type.Optional(flag),
    tmpfs_options: Type.Optional(block(TmpfsOptions, 'size and mode')),
  },
  closed,
)
export type MountConfig = Static<typeof MountConfig>

const mountWords = 'blocks with type ("bind" or "tmpfs"), target, source, readonly, tmpfs_options'

const imageWords = 'the name of an image, as redis:8'

const members = {
  image: Type.String({
    minLength: 1,
    maxLength: 1_024,
    pattern: '^[A-Za-z0-9][A-Za-z0-9._/:@-]*$',
    description: imageWords,
  }),
  command: Type.Optional(text()),
  args: Type.Optional(texts()),
  entrypoint: Type.Optional(Type.Union([text(), texts()], { description: 'a list of texts' })),
  auth: Type.Optional(block(Auth, 'a block with username, password, server_address')),
  force_pull: Type.Optional(flag),
  image_pull_timeout: Type.Optional(text('a duration such as "5m"')),
  labels: Type.Optional(textMap('a block whose values are texts')),
  hostname: Type.Optional(text()),
  work_dir: Type.Optional(text()),
  network_mode: Type.Optional(
    Type.Enum(['host', 'bridge', 'default', 'none'], { description: '"host", "bridge" or "none"' }),
  ),
  ports: Type.Optional(texts('a list of labels of ports of the group')),
  volumes: Type.Optional(texts('a list of texts such as "local/conf:/etc/web:ro"')),
  mount: Type.Optional(block(MountConfig, mountWords)),
  mounts: Type.Optional(block(MountConfig, mountWords)),
  tmpfs: Type.Optional(texts('a list of texts such as "/tmp:size=64m"')),
  privileged: Type.Optional(flag),
  cap_add: Type.Optional(texts('a list of capabilities')),
  cap_drop: Type.Optional(texts('a list of capabilities')),
  readonly_rootfs: Type.Optional(flag),
  extra_hosts: Type.Optional(texts('a list of texts such as "db:10.0.0.7"')),
  dns_servers: Type.Optional(texts('a list of addresses')),
  pids_limit: Type.Optional(whole(1, 'a whole number above 0')),
  ulimit: Type.Optional(textMap('a block such as { nofile = "2048:4096" }')),
  shm_size: Type.Optional(whole(1, 'a whole number of bytes')),
  init: Type.Optional(flag),
  interactive: Type.Optional(flag),
  tty: Type.Optional(flag),
  memory_hard_limit: Type.Optional(whole(1, 'a whole number of MiB')),
  cpu_hard_limit: Type.Optional(flag),
}

const Config = Type.Object(members, closed)
export type Config = Static<typeof Config>

/** Throws `ConfigFault` that names the member and what it may be. */
export function configOf(config: Readonly<Record<string, unknown>>): Config {
  const known: Readonly<Record<string, TSchema & { description?: string }>> = members
  for (const [name, value] of Object.entries(config)) {
    const schema = Object.hasOwn(known, name) ? known[name] : undefined
    if (schema === undefined) {
      throw wrong(`docker knows no ${name}; it takes ${Object.keys(members).join(', ')}`)
    }
    // Never the value, which may be secret.
    if (!Check(schema, value)) throw wrong(`docker: ${name} must be ${schema.description}`)
  }
  if (Check(Config, config)) return config
  throw wrong(`docker needs image, ${imageWords}`)
}

export function pullMsOf({ image_pull_timeout: written }: Config): number {
  if (written === undefined) return pullMs.default
  const ms = parseDurationMs(written)
  if (ms !== undefined && ms >= 1 && ms <= pullMs.max) return ms
  throw wrong('docker: image_pull_timeout must be a duration such as "5m", of at most 24h')
}

/** The first of a block that may be written several times. */
export function firstOf<Value>(blocks: Value | readonly Value[] | undefined): Value | undefined {
  return allOf(blocks)[0]
}

export function allOf<Value>(blocks: Value | readonly Value[] | undefined): readonly Value[] {
  if (blocks === undefined) return []
  return isList(blocks) ? blocks : [blocks]
}

export function mergedOf(
  blocks:
    | Readonly<Record<string, string>>
    | readonly Readonly<Record<string, string>>[]
    | undefined,
): Readonly<Record<string, string>> {
  return Object.assign({}, ...allOf(blocks)) as Readonly<Record<string, string>>
}

function isList<Value>(value: Value | readonly Value[]): value is readonly Value[] {
  return Array.isArray(value)
}

export function wrong(text: string): ConfigFault {
  return new ConfigFault(text)
}
