/**
 * The part of the catalog that one agent keeps: services and checks registered with it, run by it, and kept in its data
 * folder.
 *
 * This file: what a check is and what it may ask for. Times in milliseconds.
 */
import { Type, type Static } from 'typebox'
import { Compile } from 'typebox/schema'
import { invalid } from '../../lib/errors.ts'
import { checkName, notesBytesMax, ServiceSpec } from '../catalog/model.ts'

export const intervalMsMin = 1_000
export const timeMsMax = 30 * 24 * 3_600_000
export const timeoutMsMax = 600_000
export const ttlMsMin = 1
export const headersMax = 64
export const scriptArgsMax = 64
export const textLengthMax = 4_096
export const requestBodyBytesMax = 64 * 1024
export const thresholdMax = 1_000
/** As in Consul: a service that is critical for a moment only, as while it starts, does not go. */
export const deregisterAfterMsMin = 60_000

const Text = Type.String({ maxLength: textLengthMax })
const Every = {
  intervalMs: Type.Number({ minimum: intervalMsMin, maximum: timeMsMax }),
  timeoutMs: Type.Number({ minimum: 1, maximum: timeoutMsMax }),
}

const Ttl = Type.Object({
  type: Type.Literal('ttl'),
  ttlMs: Type.Number({ minimum: ttlMsMin, maximum: timeMsMax }),
})
const Http = Type.Object({
  type: Type.Literal('http'),
  url: Text,
  method: Type.String({ maxLength: 16 }),
  headers: Type.Immutable(
    Type.Array(Type.Immutable(Type.Tuple([Text, Text])), { maxItems: headersMax }),
  ),
  body: Type.String({ maxLength: requestBodyBytesMax }),
  tlsSkipVerify: Type.Boolean(),
  /** Whose certificate it must be; absent: that of the address. */
  tlsServerName: Type.Optional(Text),
  followRedirects: Type.Boolean(),
  ...Every,
})
const Tcp = Type.Object({
  type: Type.Literal('tcp'),
  host: Text,
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  /** With a handshake; absent: without. */
  tls: Type.Optional(Type.Object({ skipVerify: Type.Boolean(), serverName: Type.Optional(Text) })),
  ...Every,
})
const Grpc = Type.Object({
  type: Type.Literal('grpc'),
  /** host:port */
  target: Text,
  /** '': the server as a whole. */
  service: Text,
  tls: Type.Boolean(),
  tlsSkipVerify: Type.Boolean(),
  /** Whose certificate it must be; absent: that of the address. */
  tlsServerName: Type.Optional(Text),
  ...Every,
})
const Script = Type.Object({
  type: Type.Literal('script'),
  args: Type.Immutable(Type.Array(Text, { minItems: 1, maxItems: scriptArgsMax })),
  ...Every,
})

/** A look inside of a task. What runs there is not said here: who registers a check of this kind says it of no task but its own. */
const InTask = Type.Object({ type: Type.Literal('task'), ...Every })

/** Critical for as long as it is there. */
const Maintenance = Type.Object({ type: Type.Literal('maintenance') })

export const Probe = Type.Union([Ttl, Http, Tcp, Grpc, Script, InTask, Maintenance])

const Threshold = Type.Integer({ minimum: 0, maximum: thresholdMax })

export const CheckDefinition = Type.Object({
  id: Type.String(),
  name: Type.String(),
  notes: Type.String(),
  /** '': a check of the node. */
  serviceId: Type.String(),
  probe: Probe,
  successBeforePassing: Threshold,
  failuresBeforeWarning: Threshold,
  failuresBeforeCritical: Threshold,
  /** A service that is critical for so long is deregistered; null: never. */
  deregisterAfterMs: Type.Union([Type.Null(), Type.Number({ minimum: 1, maximum: timeMsMax })]),
})

const accepts = Compile(CheckDefinition)

export const AgentService = ServiceSpec

export type Probe = Static<typeof Probe>
export type CheckDefinition = Static<typeof CheckDefinition>
export type AgentService = Static<typeof AgentService>

/** What runs by itself, at an interval. */
export type ActiveProbe = Exclude<Probe, { readonly type: 'ttl' | 'maintenance' }>

/** What is carried out by this domain. */
export type OwnProbe = Exclude<ActiveProbe, { readonly type: 'task' }>

/** As the catalog shows it: where a script runs is no other kind. */
export function shownType({ type }: Probe): string {
  return type === 'task' ? 'script' : type
}

/** Throws `invalid_argument`: an agent could not read back what the schema does not take. */
export function checkDefinition(definition: CheckDefinition): CheckDefinition {
  const { name, notes, probe } = definition
  if (!accepts.Check(definition)) {
    throw invalid(
      `check ${JSON.stringify(name)} is beyond what an agent runs: intervals from 1s to 720h, timeouts of at most 10m, thresholds of at most ${thresholdMax}, texts of at most ${textLengthMax} characters`,
    )
  }
  if (Buffer.byteLength(notes) > notesBytesMax) {
    throw invalid(`Notes may have at most ${notesBytesMax} bytes`)
  }
  if (probe.type === 'http') checkHttp(probe)
  return {
    ...definition,
    // Clients send it with checks of nodes too, where there is no service to deregister.
    deregisterAfterMs: definition.serviceId === '' ? null : definition.deregisterAfterMs,
    id: checkName('CheckID', definition.id),
    name: checkName('Name of the check', name),
    notes: notes.toWellFormed(),
  }
}

/** What is too short for a service to be deregistered after is raised; the same object where nothing is. */
export function withRaisedTimes(definition: CheckDefinition): CheckDefinition {
  const { deregisterAfterMs } = definition
  if (deregisterAfterMs === null || deregisterAfterMs >= deregisterAfterMsMin) return definition
  return { ...definition, deregisterAfterMs: deregisterAfterMsMin }
}

function checkHttp({ url, method, headers }: Extract<Probe, { type: 'http' }>): void {
  const parsed = URL.parse(url)
  if (parsed === null || !['http:', 'https:'].includes(parsed.protocol)) {
    throw invalid('HTTP must be a URL that begins with http:// or https://')
  }
  if (!/^[A-Z]{1,16}$/.test(method)) throw invalid('Method must be an HTTP method such as GET')
  for (const [name, value] of headers) {
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || /[^\t\x20-\x7e\x80-\xff]/.test(value)) {
      throw invalid('Header must hold names and values that HTTP allows')
    }
  }
}
