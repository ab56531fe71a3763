/** A check as an agent is asked to run it: exactly one kind, and what goes with it. What is wrong is 400 and named. */
import { Fields } from '../../api/fields.ts'
import { formatDurationMs, parseDurationNs } from '../../lib/duration.ts'
import { invalid } from '../../lib/errors.ts'
import {
  intervalMsMin,
  requestBodyBytesMax,
  thresholdMax,
  timeMsMax,
  timeoutMsMax,
  ttlMsMin,
  type Probe,
} from './definition.ts'
import type { InitialCheck } from './local-services.ts'
import { checkNamespace, statusOf } from '../catalog/registration-routes.ts'

/** When none is given. */
const timeoutMs = { network: 10_000, script: 30_000 }

/** Members that say of which kind a check is. */
const kinds = ['TTL', 'HTTP', 'TCP', 'GRPC', 'Args', 'ScriptArgs'] as const
const otherKinds = ['Script', 'UDP', 'H2PING', 'DockerContainerID', 'AliasNode', 'AliasService']

type Named = { readonly id: string; readonly name: string; readonly serviceId: string }

/** A check in the registration of its service; `number`: among several. */
export function checkWithin(
  value: unknown,
  service: { readonly id: string; readonly name: string },
  number: number | null,
): InitialCheck {
  const fields = new Fields(value, { anyCase: true }, 'Check.')
  checkNamespace(fields)
  const named = fields.text('ServiceID') ?? ''
  if (named !== '' && named !== service.id) {
    throw invalid('Check.ServiceID must be the service that is registered')
  }
  const made = number === null ? `service:${service.id}` : `service:${service.id}:${number}`
  const id = fields.text('CheckID') || fields.text('ID') || made
  const name = fields.text('Name') || `Service ${service.name} check`
  return initialCheckOf(fields, { id, name, serviceId: service.id })
}

export function initialCheckOf(fields: Fields, { id, name, serviceId }: Named): InitialCheck {
  const status = fields.text('Status') ?? ''
  const critical = thresholdOf(fields, 'FailuresBeforeCritical') ?? 0
  const deregisterAfterMs = timeOf(fields, 'DeregisterCriticalServiceAfter', 0, timeMsMax)
  return {
    definition: {
      id,
      name,
      notes: fields.text('Notes') ?? '',
      serviceId,
      probe: probeOf(fields),
      successBeforePassing: thresholdOf(fields, 'SuccessBeforePassing') ?? 0,
      failuresBeforeWarning: thresholdOf(fields, 'FailuresBeforeWarning') ?? critical,
      failuresBeforeCritical: critical,
      deregisterAfterMs: deregisterAfterMs || null,
    },
    status: status === '' ? null : statusOf(status),
  }
}

function probeOf(fields: Fields): Probe {
  const other = otherKinds.find((name) => isGiven(fields, name))
  if (other !== undefined) {
    throw invalid(`${other} is no kind of check here: use one of TTL, HTTP, TCP, GRPC, Args`)
  }
  const given = kinds.filter((name) => isGiven(fields, name))
  const [kind] = given
  if (kind === undefined || given.length > 1) {
    throw invalid('a check must be of exactly one kind: TTL, HTTP, TCP, GRPC or Args')
  }
  switch (kind) {
    case 'TTL':
      return { type: 'ttl', ttlMs: timeOf(fields, 'TTL', ttlMsMin, timeMsMax) ?? ttlMsMin }
    case 'HTTP':
      return {
        type: 'http',
        url: fields.text('HTTP') ?? '',
        method: (fields.text('Method') || 'GET').toUpperCase(),
        headers: headersOf(fields),
        body: bodyOf(fields),
        ...tlsOf(fields),
        followRedirects: !(fields.boolean('DisableRedirects') ?? false),
        ...timesOf(fields, timeoutMs.network),
      }
    case 'TCP': {
      const { host, port } = hostPort('TCP', fields.text('TCP') ?? '')
      const { tlsSkipVerify: skipVerify, tlsServerName: serverName } = tlsOf(fields)
      const tls = { skipVerify, ...(serverName !== undefined && { serverName }) }
      return {
        type: 'tcp',
        host,
        port,
        ...((fields.boolean('TCPUseTLS') ?? false) && { tls }),
        ...timesOf(fields, timeoutMs.network),
      }
    }
    case 'GRPC': {
      const text = fields.text('GRPC') ?? ''
      const cut = text.indexOf('/')
      const target = cut < 0 ? text : text.slice(0, cut)
      hostPort('GRPC', target)
      return {
        type: 'grpc',
        target,
        service: cut < 0 ? '' : text.slice(cut + 1),
        tls: fields.boolean('GRPCUseTLS') ?? false,
        ...tlsOf(fields),
        ...timesOf(fields, timeoutMs.network),
      }
    }
    default:
      return {
        type: 'script',
        args: fields.texts(kind) ?? [],
        ...timesOf(fields, timeoutMs.script),
      }
  }
}

function tlsOf(fields: Fields): {
  readonly tlsSkipVerify: boolean
  readonly tlsServerName?: string
} {
  const name = fields.text('TLSServerName') ?? ''
  return {
    tlsSkipVerify: fields.boolean('TLSSkipVerify') ?? false,
    ...(name !== '' && { tlsServerName: name }),
  }
}

/** Clients send what they do not mean as empty. */
function isGiven(fields: Fields, name: string): boolean {
  const value = fields.raw(name)
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== ''
}

function timesOf(fields: Fields, timeoutDefault: number) {
  const intervalMs = timeOf(fields, 'Interval', 0, timeMsMax)
  if (intervalMs === undefined) throw invalid('Interval is missing: a check that runs needs one')
  return {
    // As in Consul: no check runs more often.
    intervalMs: Math.max(intervalMs, intervalMsMin),
    timeoutMs: timeOf(fields, 'Timeout', 1, timeoutMsMax) ?? timeoutDefault,
  }
}

/** Milliseconds of a duration text, or of a number of nanoseconds; absent and empty are undefined. */
function timeOf(fields: Fields, name: string, minMs: number, maxMs: number): number | undefined {
  const value = fields.raw(name)
  if (value === undefined || value === '') return undefined
  const nanoseconds =
    typeof value === 'number'
      ? value
      : typeof value === 'string'
        ? Number(parseDurationNs(value) ?? NaN)
        : NaN
  const milliseconds = nanoseconds / 1e6
  if (!(milliseconds >= minMs && milliseconds <= maxMs)) {
    const bounds = `from ${formatDurationMs(minMs)} to ${formatDurationMs(maxMs)}`
    throw invalid(`${name} must be a duration such as 10s, ${bounds}`)
  }
  return milliseconds
}

function thresholdOf(fields: Fields, name: string): number | undefined {
  const value = fields.integer(name)
  if (value === undefined || (value >= 0 && value <= thresholdMax)) return value
  throw invalid(`${name} must be a whole number from 0 to ${thresholdMax}`)
}

/** `{"name": ["value", ...]}`. */
function headersOf(fields: Fields): readonly (readonly [string, string])[] {
  const headers = fields.object('Header')
  if (headers === undefined) return []
  return headers
    .names()
    .flatMap((name) => (headers.texts(name) ?? []).map((value) => [name, value] as const))
}

function bodyOf(fields: Fields): string {
  const body = fields.text('Body') ?? ''
  if (body.length > requestBodyBytesMax) {
    throw invalid(`Body may have at most ${requestBodyBytesMax} characters`)
  }
  return body
}

function hostPort(name: string, text: string): { readonly host: string; readonly port: number } {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:[\]/]+)):(\d{1,5})$/.exec(text)
  const host = match?.[1] ?? match?.[2] ?? ''
  const port = Number(match?.[3] ?? 0)
  if (host === '' || port < 1 || port > 65_535) throw invalid(`${name} must be host:port`)
  return { host, port }
}
