/**
 * In-memory forms of what `rpc` needs: consensus, the link between servers, the replicated state. Small enough to be
 * seen through, and every failure that the real ones may show can be asked for.
 */
import { Type } from 'typebox'
import type { Command, Key, Table } from '../../src/fsm/domain.ts'
import { systemClock, type Clock } from '../../src/lib/clock.ts'
import { MusterError } from '../../src/lib/errors.ts'
import type { Abortable } from '../../src/lib/lazy-abort.ts'
import { silentLogger } from '../../src/lib/log.ts'
import type { Consensus, LeaderInfo, Proposed, ProposeOptions } from '../../src/rpc/consensus.ts'
import { allowAll } from '../../src/rpc/authorizer.ts'
import type { ServerDispatcherOptions } from '../../src/rpc/server-dispatcher-options.ts'
import { ServerDispatcher } from '../../src/rpc/server-dispatcher.ts'
import type {
  CallHandler,
  CallRequest,
  CallTarget,
  PeerLink,
  StreamHandler,
  StreamLink,
} from '../../src/rpc/link.ts'
import type { ServerDirectory } from '../../src/rpc/servers.ts'
import { Services } from '../../src/rpc/services.ts'
import type { ReadableState, RecordingView, Touched } from '../../src/rpc/state.ts'

export type FakeRow = { readonly key: string; readonly value: unknown; readonly index: number }

/** The one table of the fake state: rows by a single text key. */
export const fakeTable: Table<FakeRow> = {
  name: 'rows',
  row: Type.Unknown(),
  key: (row) => [row.key],
}

type FakeTouched = { readonly keys: Set<string>; readonly prefixes: Set<string> }

/** One table in memory. Changes are kept for ever, so `changedSince` always knows, unless told to forget. */
export class FakeState implements ReadableState {
  appliedIndex = 0
  floorIndex = 1
  /** Changes up to here are forgotten. */
  forgottenIndex = 0
  openViews = 0
  viewsOpened = 0
  readonly #rows = new Map<string, FakeRow>()
  readonly #changes: { readonly index: number; readonly key: string }[] = []
  readonly #parked = new Set<{ readonly touched: FakeTouched; readonly wake: () => void }>()

  get parkedCount(): number {
    return this.#parked.size
  }

  put(key: string, value: unknown): number {
    this.appliedIndex += 1
    this.#rows.set(key, { key, value, index: this.appliedIndex })
    this.#changed(key)
    return this.appliedIndex
  }

  delete(key: string): number {
    this.appliedIndex += 1
    this.#rows.delete(key)
    this.#changed(key)
    return this.appliedIndex
  }

  view(): RecordingView {
    this.openViews += 1
    this.viewsOpened += 1
    const rows = new Map(this.#rows)
    const touched: FakeTouched = { keys: new Set(), prefixes: new Set() }
    const tableIndex = Math.max(this.#changes.at(-1)?.index ?? 0, this.floorIndex, 1)
    let closed = false
    const view: RecordingView = {
      appliedIndex: this.appliedIndex,
      floorIndex: this.floorIndex,
      counterFloor: 0,
      cluster: { id: '', predecessors: [] },
      commandVersion: 1,
      get<Row>(_table: Table<Row>, key: Key): Row | undefined {
        const name = String(key[0])
        touched.keys.add(name)
        return rows.get(name) as Row | undefined
      },
      pages<Row>(_table: Table<Row>, range: { readonly startsWith?: string } = {}) {
        const prefix = range.startsWith ?? ''
        touched.prefixes.add(prefix)
        const found = [...rows.values()]
          .filter((row) => row.key.startsWith(prefix))
          .sort((a, b) => (a.key < b.key ? -1 : 1))
        return inPages(found as Row[])
      },
      pagesBy() {
        throw new Error('the fake has no secondary indexes')
      },
      nextBy: () => Promise.resolve(null),
      keysBy: async function* keysBy() {},
      tableIndex: () => tableIndex,
      touched: () => touched,
      alsoTouched: (other) => {
        for (const key of (other as FakeTouched).keys) touched.keys.add(key)
        for (const prefix of (other as FakeTouched).prefixes) touched.prefixes.add(prefix)
      },
      close: () => {
        if (!closed) this.openViews -= 1
        closed = true
      },
    }
    return view
  }

  changedSince(index: number, touched: Touched): boolean | 'unknown' {
    if (index < this.forgottenIndex) return 'unknown'
    return this.#changes.some(
      (change) => change.index > index && touches(touched as FakeTouched, change.key),
    )
  }

  park(touched: Touched, sinceIndex: number, wake: () => void): () => void {
    const entry = { touched: touched as FakeTouched, wake }
    this.#parked.add(entry)
    if (this.changedSince(sinceIndex, touched) !== false) {
      queueMicrotask(() => {
        if (this.#parked.delete(entry)) wake()
      })
    }
    return () => this.#parked.delete(entry)
  }

  #changed(key: string): void {
    this.#changes.push({ index: this.appliedIndex, key })
    for (const entry of this.#parked) {
      if (!touches(entry.touched, key)) continue
      this.#parked.delete(entry)
      entry.wake()
    }
  }
}

function touches(touched: FakeTouched, key: string): boolean {
  if (touched.keys.has(key)) return true
  for (const prefix of touched.prefixes) if (key.startsWith(prefix)) return true
  return false
}

async function* inPages<Row>(rows: readonly Row[]): AsyncGenerator<readonly Row[]> {
  for (let at = 0; at < rows.length; at += 100) yield rows.slice(at, at + 100)
}

/** A consensus whose every answer the test decides. Leads unless told otherwise. */
export class FakeConsensus implements Consensus {
  self: LeaderInfo = { id: 'id-a', name: 'a', address: 'a:1', term: 1 }
  /** null: nobody leads. */
  known: LeaderInfo | null = this.self
  contactMs = 0
  barriers: ('linearizable' | 'leader')[] = []
  /** Replaces what a proposal does. */
  onPropose: (data: Uint8Array) => Promise<Proposed>
  /** Replaces the barrier. */
  onBarrier: (() => Promise<void>) | null = null
  settling = false
  readonly #waiting = new Set<(leader: LeaderInfo) => void>()
  readonly #listeners = new Set<() => void>()

  constructor(onPropose: (data: Uint8Array) => Promise<Proposed>) {
    this.onPropose = onPropose
  }

  elect(leader: LeaderInfo | null): void {
    this.known = leader
    this.settling = false
    this.#tellChange()
    if (leader === null) return
    for (const resolve of this.#waiting) resolve(leader)
    this.#waiting.clear()
  }

  propose(data: Uint8Array, { deadlineMs }: ProposeOptions = {}): Promise<Proposed> {
    const proposed = this.onPropose(data)
    if (deadlineMs === undefined) return proposed
    return new Promise((resolve, reject) => {
      const late = new MusterError('outcome_unknown', 'the time was up')
      const timer = systemClock.setTimer(deadlineMs - systemClock.monotonicMs(), () => reject(late))
      proposed.then(resolve, reject).finally(() => timer.cancel())
    })
  }

  async readBarrier(
    mode: 'linearizable' | 'leader',
    deadlineMs: number,
    signal?: Abortable,
  ): Promise<void> {
    this.barriers.push(mode)
    if (this.onBarrier !== null) await this.onBarrier()
    else await this.waitForLeader(deadlineMs, signal)
  }

  isFresh(): boolean {
    return false
  }

  isLeader(): boolean {
    return this.known?.id === this.self.id
  }

  isSettling(): boolean {
    return this.settling
  }

  leader(): LeaderInfo | null {
    return this.known
  }

  onceChanged(listener: () => void): () => void {
    const once = () => listener()
    this.#listeners.add(once)
    return () => this.#listeners.delete(once)
  }

  #tellChange(): void {
    const listeners = [...this.#listeners]
    this.#listeners.clear()
    for (const listener of listeners) listener()
  }

  waitForLeader(deadlineMs: number, signal?: Abortable): Promise<LeaderInfo> {
    if (this.known !== null) return Promise.resolve(this.known)
    return new Promise((resolve, reject) => {
      const found = (leader: LeaderInfo) => {
        timer.cancel()
        resolve(leader)
      }
      const timer = systemClock.setTimer(
        Math.max(0, deadlineMs - systemClock.monotonicMs()),
        () => {
          this.#waiting.delete(found)
          reject(new MusterError('no_leader', 'no leader'))
        },
      )
      const gone = (): void => {
        timer.cancel()
        this.#waiting.delete(found)
        reject(new MusterError('cancelled', 'the caller went away'))
      }
      signal?.addEventListener('abort', { handleEvent: gone })
      this.#waiting.add(found)
    })
  }

  lastContactMs(): number {
    return this.contactMs
  }
}

/** Calls between servers of one process. An address nobody answers at is `unavailable`. */
export class FakeLink implements PeerLink, StreamLink {
  readonly handlers = new Map<string, CallHandler>()
  readonly calls: CallRequest[] = []

  async call(target: CallTarget, request: CallRequest, signal?: AbortSignal): Promise<unknown> {
    this.calls.push(request)
    const handler = this.handlers.get(target.address)
    if (handler === undefined) throw new MusterError('unavailable', `${target.address} is down`)
    return handler(structuredClone(request), signal ?? new AbortController().signal)
  }

  readonly streamHandlers = new Map<string, StreamHandler>()

  async stream(
    target: CallTarget,
    request: CallRequest,
    signal: AbortSignal,
  ): Promise<AsyncIterableIterator<unknown>> {
    this.calls.push(request)
    const handler = this.streamHandlers.get(target.address)
    if (handler === undefined) throw new MusterError('unavailable', `${target.address} is down`)
    const items = await handler(structuredClone(request), signal)
    return (async function* pass() {
      yield* items
    })()
  }

  async stop(): Promise<void> {}
}

/** Servers a, b and c, this one being a. */
const fakeServers: ServerDirectory = {
  selfId: 'id-a',
  find(text) {
    const name = this.names().find((known) => known === text || `id-${known}` === text)
    return name === undefined ? null : { id: `id-${name}`, name, address: `${name}:1` }
  },
  all() {
    return this.names().flatMap((name) => this.find(name) ?? [])
  },
  names: () => ['a', 'b', 'c'],
}

export type FakeServer = {
  readonly state: FakeState
  readonly consensus: FakeConsensus
  readonly link: FakeLink
  readonly dispatcher: ServerDispatcher
}

/** A server whose only command is `put` of `{ key, value }`, applied to its own fake state. */
export function fakeServer(
  options: Partial<ServerDispatcherOptions> & { readonly clock?: Clock } = {},
): FakeServer {
  const state = new FakeState()
  const consensus = new FakeConsensus(async (data) => {
    const { args } = JSON.parse(Buffer.from(data).toString()) as {
      args: { key: string; value: unknown }
    }
    const index = state.put(args.key, args.value)
    return { index, outcome: { index } }
  })
  const link = new FakeLink()
  const dispatcher = new ServerDispatcher({
    methods: [],
    services: new Services(),
    consensus,
    link,
    servers: fakeServers,
    state,
    authorizer: allowAll,
    encode: (command: Command) => Buffer.from(JSON.stringify(command)),
    clock: systemClock,
    log: silentLogger,
    ...options,
  })
  return { state, consensus, link, dispatcher }
}
