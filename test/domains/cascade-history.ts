/** A random history of commands that make tokens, sessions and locks, and end them. */
import { commandVersion } from '../../src/fsm/codec.ts'
import type { Command } from '../../src/fsm/domain.ts'
import { check, node } from './catalog/catalog-machine.ts'

export const namespaces = ['default', 'team']
export const nodes = ['n1', 'N2']
const checks = ['ping', 'disk']
export const keyNames = ['a', 'd/a', 'd/b', 'd/e/f', 'dd', 'lock']
export const startMs = 1_800_000_000_000

export const hashOf = (accessor: string) => `hash of ${accessor}`

export class History {
  readonly #pick: (most: number) => number
  readonly ids: string[] = []
  /** Each is made once. */
  readonly tokens: string[] = []
  #nowMs = startMs

  constructor(pick: (most: number) => number) {
    this.#pick = pick
  }

  begin(): readonly Command[] {
    return [
      { type: 'state.raiseVersion', args: { version: commandVersion } },
      { type: 'namespaces.put', args: { name: 'team', description: '', meta: [] } },
      ...nodes.map((name) => this.#register(name, 'passing')),
      ...['t1', 't2'].map((accessor) => this.#token(accessor)),
      ...Array.from({ length: 8 }, () => this.#nextToken()),
      ...Array.from({ length: 6 }, () => this.#create()),
      ...Array.from({ length: 12 }, () => this.#lock()),
    ]
  }

  next(): Command {
    this.#nowMs += this.#pick(3_000)
    const nowMs = this.#nowMs
    const of = <Value>(values: readonly Value[]): Value => this.#of(values)
    switch (this.#pick(16)) {
      case 0:
      case 1:
        return this.#create()
      case 2:
      case 3:
      case 4:
        return this.#lock()
      case 5:
        return { type: 'kv.write', args: { operations: [this.#operation()], fence: null, nowMs } }
      case 6: {
        const operations = [this.#operation(), this.#operation(), this.#operation()]
        return { type: 'kv.write', args: { operations, fence: null, nowMs } }
      }
      case 7: {
        const places = [this.#place(), this.#place(), this.#place()]
        return { type: 'sessions.end', args: { places, nowMs } }
      }
      case 8:
        return { type: 'sessions.renew', args: { places: [this.#place()], stretch: 1 } }
      case 9: {
        const accessors = [of(['t1', 't2', ...this.tokens]), of(this.tokens)]
        return this.#pick(2) === 0
          ? { type: 'acl.deleteTokens', args: { accessors, nowMs, expiredOnly: false } }
          : this.#token(of(['t1', 't2']))
      }
      case 14:
      case 15:
        return this.#nextToken()
      case 10: {
        const args = { node: of(nodes), serviceId: null, checkId: null, nowMs }
        return { type: 'catalog.deregister', args }
      }
      case 11:
        return this.#register(of(nodes), 'critical')
      case 12:
        return this.#register(of(nodes), 'passing')
      default:
        return this.#transaction()
    }
  }

  #of<Value>(values: readonly Value[]): Value {
    const value = values[this.#pick(values.length)]
    if (value === undefined) throw new Error('nothing to choose from')
    return value
  }

  #token(accessor: string): Command {
    return { type: 'acl.createToken', args: this.#newToken(accessor) }
  }

  #nextToken(): Command {
    const accessor = `c${this.tokens.length}`
    const parent = this.#pick(6) === 0 ? null : (this.tokens.at(-1 - this.#pick(5)) ?? null)
    this.tokens.push(accessor)
    if (parent === null) return this.#token(accessor)
    return { type: 'acl.createChildToken', args: { token: this.#newToken(accessor), parent } }
  }

  #newToken(accessor: string) {
    const token = { name: '', description: '', type: 'management', policies: [], roles: [] }
    const times = { createTimeMs: startMs, expirationTimeMs: null }
    return { hash: hashOf(accessor), accessor, ...token, ...times }
  }

  #register(name: string, status: 'passing' | 'critical'): Command {
    const some = status === 'passing' ? checks : [this.#of(checks)]
    const args = {
      node: node(name),
      skipNodeUpdate: false,
      service: null,
      checks: some.map((id) => check(id, status)),
      nowMs: this.#nowMs,
    }
    return { type: 'catalog.register', args }
  }

  #place() {
    return { namespace: 'default', id: this.#of(['none', ...this.ids.slice(-12)]) }
  }

  #create(): Command {
    const id = `s${this.ids.length}`
    this.ids.push(id)
    const args = {
      namespace: 'default',
      id,
      name: '',
      node: this.#of(nodes),
      ttl: '',
      checks: null,
      lockDelayNs: this.#of(['0', '1000000000']),
      behavior: this.#of(['release', 'delete']),
      nodeChecks: this.#of([[], ['ping'], ['ping', 'disk']]),
      serviceChecks: null,
      token: this.#of([null, 't1', ...this.tokens.slice(-8)]),
    }
    return { type: 'sessions.create', args }
  }

  #content() {
    return { value: Buffer.from('v'.repeat(this.#of([1, 2, 600]))), flags: '0' }
  }

  #lock(): Command {
    const operation = {
      type: 'lock',
      namespace: 'default',
      key: this.#of(keyNames),
      ...this.#content(),
      session: this.#place().id,
    }
    return { type: 'kv.write', args: { operations: [operation], fence: null, nowMs: this.#nowMs } }
  }

  #operation() {
    const key = this.#of(keyNames)
    const place = { namespace: this.#of(namespaces), key }
    switch (this.#pick(9)) {
      case 0:
        return { type: 'set', ...place, ...this.#content() }
      case 1:
        return { type: 'delete', ...place }
      case 2:
        return { type: 'delete-tree', namespace: 'default', key: 'd/' }
      case 3:
        return { type: 'get', ...place }
      case 4:
        return { type: 'check-not-exists', ...place }
      case 5:
        return { type: 'cas', ...place, ...this.#content(), index: 0 }
      case 6:
        return { type: 'check-session', ...place, session: this.#place().id }
      case 7:
        return { type: 'get-tree', namespace: 'default', key: '' }
      default: {
        const lock = { namespace: 'default', key, ...this.#content(), session: this.#place().id }
        return { type: this.#of(['lock', 'unlock']), ...lock }
      }
    }
  }

  #transaction(): Command {
    const keyStep = () => ({ type: 'key', operation: this.#operation() })
    const gone = { type: 'delete-node', node: this.#of(nodes), index: null }
    const steps = this.#pick(2) === 0 ? [gone, keyStep()] : [keyStep(), gone, keyStep()]
    return { type: 'kv.transact', args: { steps, fence: null, nowMs: this.#nowMs } }
  }
}
