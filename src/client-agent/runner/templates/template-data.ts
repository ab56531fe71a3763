/**
 * The data of all templates of this agent: each piece is asked of the servers once, whatever number of tasks need it, and one call
 * waits for changes of all of them.
 */
import { data } from '../../../domains/templates/agent-contracts.ts'
import {
  dataWaitMsMax,
  dependencyPathMax,
  wantsLengthMax,
  wantsMax,
  type Answer,
  type Want,
} from '../../../domains/templates/model.ts'
import { delay, Pause } from '../../../lib/async.ts'
import type { Clock } from '../../../lib/clock.ts'
import { textOf } from '../../../lib/errors.ts'
import type { Logger } from '../../../lib/log.ts'
import type { Dependency } from '../../../lib/template/task-functions.ts'
import type { AskServer } from '../../../rpc/agent-contract.ts'
import { SeenLog } from '../seen-log.ts'

const answerMs = 15_000
/** Between two questions: what changes very often is rendered no more often. */
const restMs = 100
const retryMs = { first: 250, max: 5_000 } as const
/** Of a want, beside its path. */
const wantLength = 512

/** For whom it is asked; what two tasks may read is the same only where all of `identity` is. */
export type Asker = {
  readonly allocation: string
  readonly task: string
  readonly identity: readonly string[]
}

type Watch = {
  readonly dependency: Dependency
  readonly subscriptions: Set<Subscription>
  tag: string
  answer: Answer | null
}

export type TemplateDataOptions = {
  /** Of what is to run here. */
  readonly list: SeenLog
  readonly ask: AskServer
  readonly clock: Clock
  readonly log: Logger
}

export class TemplateData {
  readonly #options: TemplateDataOptions
  readonly #watches = new Map<string, Watch>()
  readonly #stopping = new AbortController()
  readonly #pause: Pause
  readonly #seen: SeenLog
  /** The pieces are others. */
  #changed = Promise.withResolvers<void>()
  #length = 0
  #isRunning = false

  constructor(options: TemplateDataOptions) {
    this.#options = options
    this.#pause = new Pause(options.clock)
    this.#seen = new SeenLog({ ...options, what: 'what templates are made of' })
  }

  /** `onChange`: something that it needs is known, or another. */
  subscribe(asker: Asker, onChange: () => void): Subscription {
    return new Subscription(this, asker, onChange)
  }

  /** A server takes questions again. */
  wake(): void {
    this.#pause.end()
  }

  stop(): void {
    this.#stopping.abort()
    this.#changed.resolve()
    this.#pause.end()
  }

  /** Of a subscription alone. Null: not known yet. */
  find(key: string): Answer | null {
    const watch = this.#watches.get(key)
    if (watch !== undefined) return watch.answer
    const reason = `this agent watches ${this.#watches.size} pieces of data, and takes no more`
    return { type: 'refused', reason }
  }

  add(key: string, dependency: Dependency, subscription: Subscription): void {
    const known = this.#watches.get(key)
    if (known !== undefined) {
      if (known.subscriptions.has(subscription)) return
      known.subscriptions.add(subscription)
      // Nobody tells it otherwise: the servers say only what changes.
      if (known.answer !== null) subscription.onChange()
      return
    }
    const length = wantLength + dependency.path.length
    const isTooMuch = this.#watches.size >= wantsMax || this.#length + length > wantsLengthMax
    if (isTooMuch || dependency.path.length > dependencyPathMax) return
    this.#length += length
    const subscriptions = new Set([subscription])
    this.#watches.set(key, { dependency, subscriptions, tag: '', answer: null })
    this.#changes()
  }

  remove(key: string, subscription: Subscription): void {
    const watch = this.#watches.get(key)
    if (watch === undefined) return
    const [asking] = watch.subscriptions
    if (!watch.subscriptions.delete(subscription)) return
    if (watch.subscriptions.size === 0) {
      this.#watches.delete(key)
      this.#length -= wantLength + watch.dependency.path.length
    } else if (asking !== subscription) {
      return
    }
    // Of those that are left another one asks: the servers tell nothing to a task that has ended.
    this.#changes()
  }

  #changes(): void {
    this.#changed.resolve()
    if (this.#isRunning || this.#stopping.signal.aborted) return
    this.#isRunning = true
    void this.#run()
  }

  /** While there is anything to ask. Never rejects. */
  async #run(): Promise<void> {
    const { clock, log } = this.#options
    const { signal } = this.#stopping
    let waitMs: number = retryMs.first
    while (!signal.aborted && this.#watches.size > 0) {
      // Tasks that start together need their data together.
      await delay(clock, restMs, signal)
      try {
        await this.#askOnce()
        waitMs = retryMs.first
      } catch (error) {
        log.debug('the servers do not say what templates are made of', { error: textOf(error) })
        await this.#pause.wait(waitMs, signal)
        waitMs = Math.min(retryMs.max, 2 * waitMs)
      }
    }
    this.#isRunning = false
    if (this.#watches.size > 0) this.#changes()
  }

  /** The server answers a question that waits when the next one comes. */
  async #askOnce(): Promise<void> {
    // A new promise each time: one that lasts would keep all replies that raced with it.
    this.#changed = Promise.withResolvers()
    const changed = this.#changed.promise
    const asked = [...this.#watches.values()].flatMap((watch): [Watch, Want][] => {
      const [first] = watch.subscriptions
      if (first === undefined) return []
      const { allocation, task } = first.asker
      return [[watch, { allocation, task, dependency: watch.dependency, tag: watch.tag }]]
    })
    if (asked.length === 0) return
    const args = {
      index: this.#seen.index,
      waitMs: dataWaitMsMax,
      wants: asked.map(([, want]) => want),
    }
    const answered = this.#options.ask(data, args, dataWaitMsMax + answerMs)
    const reply = await Promise.race([answered, changed.then(() => null)])
    if (reply === null) {
      answered.catch(() => {})
      return
    }
    const { index, log, answers } = reply
    this.#seen.isOther({ index, log })
    this.#seen.took({ index, log })
    const told = new Set<Subscription>()
    for (const { at, tag, answer } of answers) {
      const watch = asked[at]?.[0]
      if (watch === undefined) continue
      watch.tag = tag
      watch.answer = answer
      for (const subscription of watch.subscriptions) told.add(subscription)
    }
    for (const { onChange } of told) onChange()
  }
}

/** What one task needs. */
export class Subscription {
  readonly asker: Asker
  readonly onChange: () => void
  readonly #data: TemplateData
  #keys: ReadonlySet<string> = new Set()
  #isClosed = false

  constructor(data: TemplateData, asker: Asker, onChange: () => void) {
    this.#data = data
    this.asker = asker
    this.onChange = onChange
  }

  /** Null: not known yet. */
  find(dependency: Dependency): Answer | null {
    const key = this.#keyOf(dependency)
    return this.#keys.has(key) ? this.#data.find(key) : null
  }

  /** These, and no others any more. */
  need(dependencies: readonly Dependency[]): void {
    if (this.#isClosed) return
    const before = this.#keys
    const wanted = new Map(dependencies.map((one) => [this.#keyOf(one), one]))
    this.#keys = new Set(wanted.keys())
    for (const [key, dependency] of wanted) this.#data.add(key, dependency, this)
    for (const key of before) if (!wanted.has(key)) this.#data.remove(key, this)
  }

  close(): void {
    this.need([])
    this.#isClosed = true
  }

  #keyOf({ type, path }: Dependency): string {
    return JSON.stringify([...this.asker.identity, type, path])
  }
}
