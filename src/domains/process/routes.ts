/** `/v1/agent/*` as far as it concerns one process, and `/v1/regions`. */
import { Type } from 'typebox'
import { warningHeader } from '../../api/headers.ts'
import {
  type ApiReply,
  type ApiRequest,
  type DescribedRoute,
  type PlaceOptions,
  smallBodyBytesMax,
} from '../../api/route.ts'
import {
  bytes,
  count,
  done,
  flag,
  jsonType,
  mapOf,
  frames,
  ok,
  optionally,
  text,
  textType,
} from '../../api/shape.ts'
import { site } from '../../api/site.ts'
import { MusterError } from '../../lib/errors.ts'
import { logLevels, type LogLevel } from '../../lib/log.ts'
import { isUuid } from '../../lib/uuid.ts'
import { logFrames } from './log-frames.ts'
import { profileSecondsMax, processMethods } from './methods.ts'
import { openApi, processInfo } from './services.ts'
import type { AgentHealth, AgentMember } from './process-info.ts'
import { profileSecondsDefault } from './profiles.ts'
import {
  Addresses,
  Health,
  Host,
  LogFrame,
  Schedulers,
  SchedulersBody,
  SchedulersConfig,
  Self,
} from './shapes.ts'

/** What a call may take besides the profile's own time. */
const callMs = 30_000
const shownLengthMax = 100

const ofProcess = optionally({
  server_id: text(
    'The server that answers: id, name or `leader`; or a client agent, by its name among the members',
  ),
  node_id: text('The node whose agent answers, by its UUID'),
})

export const processRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: '/v1/openapi.json',
    summary: 'This API as an OpenAPI 3.1 document',
    permission: 'none',
    reply: ok(mapOf(Type.Unknown(), 'The document')),
    example: {},
    anyRegion: true,
    handle: async (request) => ({ encoded: await request.service(openApi)() }),
  },
  {
    method: 'GET',
    path: '/v1/agent/health',
    summary: 'Health of this agent',
    permission: 'none',
    query: optionally({
      type: text('`server` or `client`, once or several times; what the agent is unless said'),
    }),
    reply: { 200: { [jsonType]: Health }, 500: { [jsonType]: Health } },
    example: {},
    anyRegion: true,
    public: true,
    handle: async (request) => {
      const health = await request.call(processMethods.health, {})
      const sides = healthOf(request.search.all('type'), health)
      const ok = Object.values(sides).every((side) => side.ok)
      return { status: ok ? 200 : 500, json: sides }
    },
  },
  {
    method: 'GET',
    path: '/v1/agent/self',
    summary: 'Configuration and figures of this agent',
    permission: 'agent:read',
    reply: ok(Self),
    example: {},
    anyRegion: true,
    handle: async (request) => {
      const { config, member, stats } = await request.call(processMethods.self, {})
      return { json: { config, member: memberJson(member), stats } }
    },
  },
  {
    method: 'GET',
    path: '/v1/agent/host',
    summary: 'The machine of an agent',
    permission: 'agent:read',
    query: ofProcess,
    reply: ok(Host),
    errors: ['not_found'],
    example: {},
    handle: async (request) => {
      const { agentId, data } = await request.call(processMethods.host, {}, targetOf(request))
      return { json: { AgentID: agentId, HostData: data } }
    },
  },
  {
    method: 'GET',
    path: '/v1/agent/monitor',
    summary: 'Follow the log of an agent',
    permission: 'agent:read',
    query: {
      ...ofProcess,
      ...optionally({
        log_level: text('Least level; `info` unless said'),
        loglevel: text('The same, and `plain`'),
        log_json: flag('Lines are JSON'),
        logjson: flag('The same'),
        plain: flag('Lines as they are instead of frames'),
      }),
    },
    reply: {
      200: {
        [jsonType]: frames(LogFrame, 'Frames, also one a message over WebSocket'),
        [textType]: text('Lines of the log'),
      },
    },
    errors: ['not_found'],
    example: {
      url: '/v1/agent/monitor?log_level=warn&plain=true',
      shownOnly: 'the reply does not end',
    },
    websocket: true,
    handle: async (request) => {
      const { search } = request
      // Tools of Consul say it in one word, and read lines.
      const level = levelOf(search.text('log_level') || search.text('loglevel') || 'info')
      const json = search.boolean('log_json') || search.flag('logjson')
      const plain = search.boolean('plain') || search.has('loglevel')
      const lines = await request.open(processMethods.monitor, { level, json }, targetOf(request))
      return plain
        ? { stream: lines, type: 'text/plain; charset=utf-8' }
        : { stream: logFrames(lines, request.clock), type: 'application/json' }
    },
  },
  {
    method: 'GET',
    path: '/v1/agent/pprof/:name',
    summary: 'Profile of an agent',
    permission: 'agent:write',
    params: { name: text('`cmdline`, `profile`, `heap`, `allocs`, `goroutine`, `trace`, ...') },
    query: {
      ...ofProcess,
      ...optionally({ seconds: count('How long it is taken'), debug: count('1: as text') }),
    },
    reply: {
      200: {
        'application/octet-stream': bytes('pprof, gzipped'),
        [textType]: text('Where `debug` asks for it'),
      },
    },
    errors: ['not_found'],
    example: {
      url: '/v1/agent/pprof/profile?seconds=5',
      shownOnly: 'profiles are closed unless `enable_debug` opens them',
    },
    handle: (request) => profileReply(request, targetOf(request)),
  },
  {
    method: 'GET',
    path: '/v1/agent/servers',
    summary: 'Servers that a client agent knows',
    permission: 'agent:read',
    reply: ok(Addresses),
    example: { shownOnly: 'only client agents keep the list' },
    handle: async (request) => ({ json: await request.call(processMethods.servers, {}) }),
  },
  {
    method: 'PUT',
    path: '/v1/agent/servers',
    summary: 'Name the servers of a client agent',
    permission: 'agent:write',
    query: { address: text('host:port, once or several times') },
    reply: done,
    example: {
      url: '/v1/agent/servers?address=10.0.0.1:4646',
      shownOnly: 'only client agents keep the list',
    },
    body: 'none',
    handle: async (request) => {
      const addresses = request.search.all('address').filter((text) => text !== '')
      await request.call(processMethods.setServers, { addresses })
      return {}
    },
  },
  {
    method: 'PUT',
    path: '/v1/agent/reload',
    summary: 'Read the configuration again',
    permission: 'agent:write',
    reply: done,
    example: {},
    anyRegion: true,
    body: 'none',
    handle: async (request) => {
      const warning = await request.call(processMethods.reload, {})
      return warning === null ? {} : { headers: { [warningHeader]: warning } }
    },
  },
  {
    method: 'GET',
    path: '/v1/agent/schedulers',
    summary: 'Scheduler workers of a server',
    permission: 'agent:read',
    reply: ok(Schedulers),
    example: {},
    anyRegion: true,
    handle: async (request) => {
      const { server, workers } = await request.call(processMethods.schedulers, {})
      const schedulers = workers.map(({ id, started, status, workloadStatus, enabled }) => ({
        id,
        started,
        status,
        workload_status: workloadStatus,
        enabled_schedulers: enabled,
      }))
      return { json: { server_id: server, schedulers } }
    },
  },
  {
    method: 'GET',
    path: '/v1/agent/schedulers/config',
    summary: 'Settings of the scheduler workers',
    permission: 'agent:read',
    reply: ok(SchedulersConfig),
    example: {},
    anyRegion: true,
    handle: async (request) =>
      settingsReply(await request.call(processMethods.schedulersConfig, {})),
  },
  {
    method: 'PUT',
    path: '/v1/agent/schedulers/config',
    summary: 'Set number and kinds of the scheduler workers',
    permission: 'agent:write',
    bodySchema: SchedulersBody,
    reply: ok(SchedulersConfig),
    example: { body: { num_schedulers: 1, enabled_schedulers: ['service', '_core'] } },
    bodyBytesMax: smallBodyBytesMax,
    anyRegion: true,
    handle: async (request) => {
      const fields = request.fields()
      const count = fields.integer('num_schedulers')
      const enabled = fields.texts('enabled_schedulers')
      if (count === undefined || enabled === undefined) {
        const missing = count === undefined ? 'num_schedulers' : 'enabled_schedulers'
        throw new MusterError(
          'invalid_argument',
          `${missing} is missing: both values are set together`,
        )
      }
      const args = { count, enabled: [...enabled] }
      return settingsReply(await request.call(processMethods.configureSchedulers, args))
    },
  },
  {
    method: 'GET',
    path: '/v1/regions',
    summary: 'Known regions',
    permission: 'none',
    reply: ok(Type.Array(Type.String())),
    example: {},
    anyRegion: true,
    handle: async (request) => ({ json: await request.call(processMethods.regions, {}) }),
  },
]

type Side = { readonly ok: boolean; readonly message: string; readonly detail?: string }

/** The sides that are asked for, by default the one that this agent has. */
function healthOf(
  types: readonly string[],
  { side, problem, warning }: AgentHealth,
): Record<string, Side> {
  const sides: Record<string, Side> = {}
  for (const type of types.length === 0 ? [side] : types) {
    if (type !== 'server' && type !== 'client') {
      const shown = JSON.stringify(type.slice(0, shownLengthMax))
      throw new MusterError('invalid_argument', `type must be client or server, not ${shown}`)
    }
    if (type === side) {
      const detail = warning === null ? {} : { detail: warning }
      sides[type] = { ok: problem === null, message: problem ?? 'ok', ...detail }
    } else sides[type] = { ok: false, message: `${type} not enabled` }
  }
  return sides
}

function memberJson(member: AgentMember) {
  const { name, address, port, tags, status, protocol, delegate } = member
  return {
    Name: name,
    Addr: address,
    Port: port,
    Tags: tags,
    Status: status,
    ProtocolMin: protocol.min,
    ProtocolMax: protocol.max,
    ProtocolCur: protocol.current,
    DelegateMin: delegate.min,
    DelegateMax: delegate.max,
    DelegateCur: delegate.current,
  }
}

function levelOf(text: string): LogLevel {
  const word = text.toLowerCase()
  const level = word === 'err' ? 'error' : logLevels.find((known) => known === word)
  if (level !== undefined) return level
  const shown = JSON.stringify(text.slice(0, shownLengthMax))
  throw new MusterError(
    'invalid_argument',
    `log_level must be one of ${logLevels.join(', ')}, not ${shown}`,
  )
}

/** The server or the member that `server_id` names, or the node of `node_id`; neither: this agent, which both may name too. */
function targetOf(request: ApiRequest): PlaceOptions {
  const { search } = request
  const server = search.text('server_id') || null
  const node = search.text('node_id') || null
  if (node === null) {
    const client = server === null ? null : request.service(processInfo).clientNamed(server)
    return client === null ? { at: server } : { node: client }
  }
  if (server !== null) {
    throw new MusterError('invalid_argument', 'name server_id or node_id, not both')
  }
  if (!isUuid(node)) {
    throw new MusterError('invalid_argument', 'node_id must be the whole id of a node, a UUID')
  }
  const id = node.toLowerCase()
  return id === request.service(site).nodeId ? {} : { node: id }
}

async function profileReply(request: ApiRequest, place: PlaceOptions): Promise<ApiReply> {
  const name = request.parameter('name')
  // A value that is no time means the default, as Nomad's and Consul's tools expect.
  const asked = request.search.wholeOrZero('seconds')
  const seconds = asked < 1 ? null : asked
  const asText = request.search.wholeOrZero('debug') > 0
  if (asked > profileSecondsMax) {
    throw new MusterError('invalid_argument', `seconds must be at most ${profileSecondsMax}`)
  }
  const { type, bytes } = await request.call(
    processMethods.profile,
    {
      name: name.slice(0, shownLengthMax),
      seconds,
      asText,
    },
    {
      ...place,
      timeoutMs: (seconds ?? profileSecondsDefault) * 1_000 + callMs,
    },
  )
  // Gzipped already, and other files have few readers.
  const headers = type.startsWith('text/')
    ? {}
    : { 'Content-Disposition': `attachment; filename="${name}"` }
  return { bytes, type, headers }
}

function settingsReply({
  server,
  count,
  enabled,
}: {
  readonly server: string
  readonly count: number
  readonly enabled: readonly string[]
}): ApiReply {
  return { json: { server_id: server, num_schedulers: count, enabled_schedulers: enabled } }
}
