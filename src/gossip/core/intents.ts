/**
 * Intents about names that are not known (yet): kept for a while, as gossip may bring the intent before the member.
 *
 * Bounded by `recentIntentsMax`; the oldest gives way, so unknown names by the thousand cost a fixed amount.
 */
export const recentIntentsMax = 4_096
export const recentIntentMs = 300_000

export type IntentKind = 'join' | 'leave'

export type RecentIntent = {
  readonly kind: IntentKind
  readonly time: number
  readonly heardAt: number
}

export class RecentIntents {
  readonly #byName = new Map<string, RecentIntent>()

  get size(): number {
    return this.#byName.size
  }

  /** True: it is news, newer than what was known of this name. */
  add(name: string, kind: IntentKind, time: number, now: number): boolean {
    const known = this.#byName.get(name)
    if (known !== undefined && time <= known.time) return false
    this.#byName.delete(name)
    if (this.#byName.size >= recentIntentsMax) {
      const oldest = this.#byName.keys().next().value
      if (oldest !== undefined) this.#byName.delete(oldest)
    }
    this.#byName.set(name, { kind, time, heardAt: now })
    return true
  }

  /** Takes what is known of a name that has now appeared; null: nothing, or too long ago. */
  take(name: string, now: number): RecentIntent | null {
    const intent = this.#byName.get(name)
    if (intent === undefined) return null
    this.#byName.delete(name)
    return now - intent.heardAt <= recentIntentMs ? intent : null
  }

  reap(now: number): void {
    for (const [name, intent] of this.#byName) {
      if (now - intent.heardAt <= recentIntentMs) return
      this.#byName.delete(name)
    }
  }
}
