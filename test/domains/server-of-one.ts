/**
 * One server with everything but Raft: the real state machine, dispatcher, HTTP engine and domains, over a consensus
 * that commits at once. Time is the test's own where it asks for it.
 */
import { typedPropose } from '../../src/rpc/write.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { get as httpGet, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { Test } from 'tap'
import { HttpServer } from '../../src/api/server.ts'
import { auditEvents, authorizer, type LoginAuditEvent } from '../../src/domains/host.ts'
import { noDefinitions } from '../../src/domains/local-services/definitions.ts'
import { serverDomains } from '../../src/domains/registry.ts'
import { composeServer } from '../../src/domains/server-parts.ts'
import { stateDomains, type Composed, type Domain } from '../../src/domains/domain.ts'
import type { ClusterHealth } from '../../src/domains/autopilot/services.ts'
import type { Pool } from '../../src/domains/members/pool.ts'
import { applyAgentUpdate, heldOf } from '../../src/domains/local-services/sync.ts'
import { eventBufferLimits } from '../../src/domains/events/buffer.ts'
import type { SessionRow } from '../../src/domains/sessions/model.ts'
import { sessions } from '../../src/domains/sessions/table.ts'
import { ClusterKeys } from '../../src/domains/variables/cluster-key.ts'
import { keysOf, sealedItems } from '../../src/domains/variables/table.ts'
import type { SealedRow } from '../../src/domains/variables/model.ts'
import type { UserEventPool } from '../../src/domains/user-events/pool.ts'
import type { ProcessInfo } from '../../src/domains/process/process-info.ts'
import { commandVersion } from '../../src/fsm/codec.ts'
import type { Command } from '../../src/fsm/domain.ts'
import { tablesOf } from '../../src/fsm/reactions.ts'
import { Tables } from '../../src/fsm/table.ts'
import { openMachine, type Machine } from '../../src/fsm/machine.ts'
import { systemClock, type Clock } from '../../src/lib/clock.ts'
import { silentLogger, type Logger } from '../../src/lib/log.ts'
import { seededRandom } from '../../src/lib/random.ts'
import { decodeConfiguration } from '../../src/raft/core/membership.ts'
import type { Authorizer } from '../../src/rpc/authorizer.ts'
import type { Consensus, Proposed } from '../../src/rpc/consensus.ts'
import { ServerDispatcher } from '../../src/rpc/server-dispatcher.ts'
import { Services } from '../../src/rpc/services.ts'
import { Leadership } from '../../src/server/leadership.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { watchParameters } from '../support/read-parameters.ts'
import { ReplyShapes } from '../support/reply-shapes.ts'
import { resetFileIn } from '../../src/server/acl-reset.ts'
import { sweepRows } from './row-faults.ts'

const self = { id: 's1', name: 'one', address: '127.0.0.1:4647', role: 'voter' as const }

export type Answer = {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
  readonly bytes: Buffer
  json(): unknown
}

export type ServerOfOne = {
  readonly machine: Machine
  readonly composed: Composed
  readonly services: Services
  readonly clusterKeys: ClusterKeys
  /** What domains wrote to the audit log. */
  readonly auditNotes: readonly LoginAuditEvent[]
  readonly folder: string
  /** Whether consensus answers; without, there is no leader. */
  leaderIsKnown: boolean
  /** Its process, as connections show; consensus still names it. */
  leaderIsGone: boolean
  ask(
    method: string,
    url: string,
    body?: unknown,
    token?: string,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>
  /** Starts a duty of the leader beside those that run. */
  startDuty(name: string): { stop(): Promise<void> }
  /** Of a listener on loopback, for what needs a connection of its own. */
  address(): Promise<string>
  /** A GET over that, whose body is read as it comes. */
  open(url: string, token?: string): Promise<{ readonly status: number; readonly body: Readable }>
  propose(command: Command): Promise<Proposed>
  /** Ends blocking queries and streams, as a stop does first. */
  drain(): void
  /** On a free port of loopback, where the socket is the point. Resolves with the port. */
  listen(): Promise<number>
  /** Blocking queries that wait. */
  parked(): number
  /** What found no place, as the metric counts it. */
  refused(): Readonly<Record<string, number>>
  /** Requests that are not answered to their end. */
  underWay(): number
  /** Which key seals the variable now. */
  sealedRow(namespace: string, path: string): SealedRow | undefined
  /** As the state keeps it, in the default namespace. */
  sessionRow(id: string): SessionRow | undefined
}

export type ServerOfOneOptions = {
  /** Whether a client agent answers the leader; nobody can be asked unless said. */
  readonly answers?: (endpoint: string, who: string) => boolean
  /** None unless given. */
  readonly pool?: Pool
  readonly userEvents?: UserEventPool
  readonly health?: () => ClusterHealth
  /** Default: all of a server. */
  readonly domains?: readonly Domain[]
  /** Of duties and domains. */
  readonly clock?: Clock
  /** Of requests. */
  readonly requestClock?: Clock
  readonly keyFile?: string
  readonly authorizer?: Authorizer
  /** What a follower hears from its leader before it reads. Default: nothing new. */
  readonly readBarrier?: () => Promise<void>
  /** Off unless given. */
  readonly acl?: {
    readonly enabled: boolean
    readonly defaultPolicy?: 'allow' | 'deny'
    readonly resetFile?: ReturnType<typeof resetFileIn>
  }
  /** Default: none. */
  readonly scripts?: 'none' | 'files' | 'all'
  readonly agent?: Partial<ProcessInfo>
  /** Default: silent. */
  readonly log?: Logger
  /** Blocking queries that may wait. */
  readonly parkedMax?: number
  readonly events?: { readonly eventsMax?: number; readonly readersMax?: number }
  /** That the state begins at. Default: this program's. */
  readonly commandVersion?: number
  /** Default true: starts the duties and waits for the first key. */
  readonly begin?: boolean
}

/** Time that passes faster, for what would only wait. */
export function hastyClock(factor: number): Clock {
  return {
    monotonicMs: () => systemClock.monotonicMs() * factor,
    wallMs: () => systemClock.wallMs(),
    setTimer: (delayMs, run) => systemClock.setTimer(delayMs / factor, run),
  }
}

function fakeAgent(knowsLeader: () => boolean): ProcessInfo {
  return {
    config: () => ({ NodeName: self.name }),
    member: () => ({
      name: `${self.name}.global`,
      address: '127.0.0.1',
      port: 4648,
      tags: { id: self.id },
      status: 'alive',
      protocol: { min: 1, max: 5, current: 2 },
      delegate: { min: 2, max: 5, current: 4 },
    }),
    stats: () => ({ raft: { term: '1' } }),
    health: () => ({
      side: 'server',
      problem: knowsLeader() ? null : 'no leader',
      warning: null,
    }),
    servers: null,
    leads: () => true,
    regions: () => ['global'],
    clientNamed: () => null,
    log: { follow: () => () => {} },
    reload: async () => null,
    enableDebug: null,
    accessControl: false,
    schedulers: { count: null, enabled: null },
  }
}

export async function serverOfOne(t: Test, options: ServerOfOneOptions = {}): Promise<ServerOfOne> {
  const clock = options.clock ?? systemClock
  const log = options.log ?? silentLogger
  const folder = await mkdtemp(join(tmpdir(), 'muster-domains-'))
  const list = options.domains ?? serverDomains
  const machine = await openMachine({
    folder: join(folder, 'state'),
    domains: stateDomains(list),
    decodeConfiguration,
    clock,
    logger: log,
  })
  const clusterKeys = await ClusterKeys.load(folder, options.keyFile ?? null)
  const raft = {
    status: () => ({
      term: 1,
      leaderId: server.leaderIsKnown ? self.id : null,
      configuration: { members: [self] },
      configurationIndex: 1,
    }),
    statusOf: () => 'alive' as const,
    isGone: () => server.leaderIsGone,
    transferLeadership: async () => {},
    changeMembership: async () => {},
  }
  const aclSettings = {
    enabled: false,
    defaultPolicy: 'deny' as const,
    downPolicy: 'deny' as const,
    ...options.acl,
  }
  const services = new Services()
  const auditNotes: LoginAuditEvent[] = []
  services.provide(auditEvents, { note: (event) => void auditNotes.push(event) })
  const composed = composeServer(list, services, {
    acl: {
      ...aclSettings,
      bootstrapToken: null,
      resetFile: options.acl?.resetFile ?? resetFileIn(folder),
    },
    clusterKeys,
    raft,
    link: {
      id: self.id,
      leaderId: () => self.id,
      voterIds: () => [self.id],
      call: () => Promise.reject(new Error('there is nobody else')),
    },
    view: () => machine.view(),
    exportRows: () => machine.exportRows(),
    commandVersion: () => machine.commandVersion,
    restoreFolder: join(folder, 'restore'),
    snapshotSchedule: null,
    state: machine,
    reader: machine.reader(),
    readBarrier: options.readBarrier ?? (async () => {}),
    health: options.health ?? (() => ({ healthy: true, failureTolerance: 0, servers: [] })),
    members: { server: 'one', region: 'global', datacenter: 'dc1', pool: options.pool ?? null },
    userEvents: options.userEvents ?? null,
    agents: {
      servers: () => [],
      agents: () => [],
      answers: async (endpoint, who) => options.answers?.(endpoint, who) ?? null,
      onChange: () => () => {},
    },
    nodes: {
      heartbeats: { ttlMsMin: 10_000, perSecondMax: 50, graceMs: 10_000, failoverMs: 300_000 },
      random: seededRandom(1),
    },
    definitions: () => noDefinitions,
    local: {
      node: {
        name: self.name,
        id: null,
        address: '127.0.0.1',
        datacenter: 'dc1',
        taggedAddresses: [],
        meta: [],
      },
      dataFolder: folder,
      scripts: options.scripts ?? 'none',
      link: {
        async held(node) {
          const view = machine.view()
          try {
            return await heldOf(view, node)
          } finally {
            view.close()
          }
        },
        // Tests of nodes say themselves which there are.
        announce: async () => {},
        send: (update) =>
          applyAgentUpdate(update, {
            propose: typedPropose((command) => server.propose(command)),
            clock: systemClock,
          }),
      },
    },
    agent: { ...fakeAgent(() => server.leaderIsKnown), ...options.agent },
    metrics: {
      document: () => ({ Gauges: [] }),
      text: async () => ({ type: 'text/plain', text: 'muster_up 1\n' }),
    },
    applied: machine,
    events: { ...eventBufferLimits, ...options.events },
    clock,
    log,
  })
  let turn: Promise<unknown> = Promise.resolve()
  const proposeBytes = (data: Uint8Array): Promise<Proposed> => {
    const next = turn.then(async () => {
      const index = machine.appliedIndex + 1
      const [outcome] = await machine.apply([{ index, term: 1, kind: 'command', data }])
      return { index, outcome }
    })
    turn = next.catch(() => {})
    return next
  }
  const leader = { id: self.id, name: self.name, address: self.address, term: 1 }
  const consensus: Consensus = {
    propose: proposeBytes,
    readBarrier: async () => {},
    isFresh: () => true,
    isLeader: () => true,
    isSettling: () => false,
    onceChanged: () => () => {},
    leader: () => (server.leaderIsKnown ? leader : null),
    waitForLeader: async () => leader,
    lastContactMs: () => 0,
  }
  const dispatcher = new ServerDispatcher({
    methods: composed.methods,
    services,
    consensus,
    link: {
      call: () => Promise.reject(new Error('there is nobody else')),
      stream: () => Promise.reject(new Error('there is nobody else')),
      stop: async () => {},
    },
    servers: {
      selfId: self.id,
      find: (text) => ([self.id, self.name].includes(text) ? self : null),
      all: () => [self],
      names: () => [self.name],
    },
    state: machine,
    authorizer: options.authorizer ?? services.get(authorizer),
    encode: (command) => machine.encodeCommand(command),
    clock: options.requestClock ?? systemClock,
    log,
    ...(options.parkedMax !== undefined && { limits: { parkedMax: options.parkedMax } }),
  })
  const undescribed = new Set<string>()
  const http = new HttpServer({
    routes: watchParameters(composed.routes, undescribed),
    dispatcher,
    clock: systemClock,
    random: seededRandom(1),
    log,
    region: 'global',
  })
  const shapes = new ReplyShapes(composed.routes)
  let listening: Promise<number> | null = null
  const server: ServerOfOne = {
    machine,
    composed,
    services,
    clusterKeys,
    auditNotes,
    folder,
    leaderIsKnown: true,
    leaderIsGone: false,
    drain: () => dispatcher.drain(),
    listen: () => http.listen({ host: '127.0.0.1', port: 0 }),
    parked: () => dispatcher.parkedCount,
    refused: () => ({ ...dispatcher.refused, ...composed.refused() }),
    underWay: () => http.underWayCount + dispatcher.underWayCount,
    propose: (command) => proposeBytes(machine.encodeCommand(command)),
    sessionRow: (id) => machine.reader().get(sessions, ['default', id]),
    sealedRow: (namespace, path) => machine.reader().get(sealedItems, [namespace, path]),
    async ask(given, asked, body, token, headers = {}) {
      // The client in memory knows no LIST.
      const isList = given === 'LIST'
      const method = isList ? 'GET' : given
      const url = isList ? `${asked}${asked.includes('?') ? '&' : '?'}list=true` : asked
      const payload =
        body === undefined || typeof body === 'string' || body instanceof Uint8Array
          ? body
          : JSON.stringify(body)
      const sent = { ...headers, ...(token !== undefined && { 'x-service-token': token }) }
      const response = await http.app.inject({
        method: method as 'GET',
        url,
        headers: sent,
        ...(payload === undefined
          ? {}
          : { payload: typeof payload === 'string' ? payload : Buffer.from(payload) }),
      })
      shapes.check(
        { method, url, headers: sent },
        { status: response.statusCode, headers: response.headers, body: response.body },
      )
      return {
        status: response.statusCode,
        headers: response.headers,
        body: response.body,
        bytes: response.rawPayload,
        json: () => JSON.parse(response.body) as unknown,
      }
    },
    startDuty(name) {
      const duty = composed.duties.find((known) => known.name === name)
      assert(duty !== undefined)
      return duty.start({
        clock,
        log,
        view: () => machine.view(),
        service: services.get,
        propose: typedPropose((command) => server.propose(command)),
      })
    },
    address: async () => {
      listening ??= http.listen({ host: '127.0.0.1', port: 0 })
      return `127.0.0.1:${await listening}`
    },
    async open(url, token) {
      const headers = token === undefined ? {} : { 'x-service-token': token }
      const sent = httpGet(`http://${await server.address()}${url}`, { headers, agent: false })
      const [body] = (await once(sent, 'response')) as [IncomingMessage]
      return { status: body.statusCode ?? 0, body }
    },
  }
  const version = options.commandVersion ?? commandVersion
  if (version > machine.commandVersion) {
    await server.propose({ type: 'state.raiseVersion', args: { version } })
  }
  const leadership =
    options.begin === false
      ? null
      : new Leadership({
          node: {
            status: () => ({ role: 'leader', term: 1, settled: true }),
            onChange: () => () => {},
          },
          onReplaced: (listener) => machine.onReplaced(listener),
          firstRequestsMs: 0,
          clock: systemClock,
          duties: ['keyring', 'sessions', 'keys']
            .filter((name) => composed.duties.some((duty) => duty.name === name))
            .map((name) => ({ name, start: () => server.startDuty(name) })),
          logger: log,
        })
  await composed.start()
  machine.onReplaced(() => composed.replaced())
  t.teardown(async () => {
    await leadership?.stop()
    await http.stop(0)
    await composed.stop()
    const { faults } = await sweepRows(machine, new Tables(tablesOf(stateDomains(list))))
    await machine.close()
    await rm(folder, { recursive: true, force: true })
    // Whatever a test wrote here can be restored.
    assert.deepEqual(faults, [])
    assert.deepEqual([...undescribed], [])
  })
  if (leadership !== null) {
    await eventuallyTrue('the first key', async () => (await keysOf(machine.reader())).length > 0)
  }
  return server
}
