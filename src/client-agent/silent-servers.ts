/**
 * Notices a server that took requests and says nothing any more, with its connections open: its process stands still, or
 * the network swallows its answers. Gossip tells that too, but later. A server that is merely asked for something that
 * takes long, as a blocking query, answers a question in between.
 */
import type { Clock, Timer } from '../lib/clock.ts'
import type { HttpAddress } from '../lib/host-port.ts'

/** A server that is asked something and says nothing for so long is asked whether it is there. */
const silentMs = 500

export type SilentServersOptions = {
  readonly clock: Clock
  /** Resolves once the server answered anything; rejects when it did not within its time. */
  readonly probe: (place: HttpAddress) => Promise<unknown>
  readonly onSilent: (place: HttpAddress, error: unknown) => void
}

type Watched = { readonly place: HttpAddress; open: number; heardMs: number; timer: Timer | null }

export class SilentServers {
  readonly #options: SilentServersOptions
  /** By address; only servers that owe an answer. */
  readonly #watched = new Map<string, Watched>()
  #isStopped = false

  constructor(options: SilentServersOptions) {
    this.#options = options
  }

  stop(): void {
    this.#isStopped = true
    for (const { timer } of this.#watched.values()) timer?.cancel()
    this.#watched.clear()
  }

  /** A request was sent. What this returns is called once, when it was answered or is over. */
  asked(key: string, place: HttpAddress): () => void {
    let watched = this.#watched.get(key)
    if (watched === undefined) {
      watched = { place, open: 0, heardMs: this.#options.clock.monotonicMs(), timer: null }
      this.#watched.set(key, watched)
      this.#arm(key, watched)
    }
    const { clock } = this.#options
    watched.open += 1
    const asked = watched
    return () => {
      asked.open -= 1
      asked.heardMs = clock.monotonicMs()
    }
  }

  #arm(key: string, watched: Watched): void {
    if (this.#isStopped) return
    const { clock } = this.#options
    watched.timer = clock.setTimer(silentMs, () => {
      watched.timer = null
      if (watched.open === 0) this.#watched.delete(key)
      else if (clock.monotonicMs() - watched.heardMs < silentMs) this.#arm(key, watched)
      else this.#probe(key, watched)
    })
  }

  #probe(key: string, watched: Watched): void {
    const { clock, probe, onSilent } = this.#options
    probe(watched.place).then(
      () => {
        watched.heardMs = clock.monotonicMs()
        this.#arm(key, watched)
      },
      (error: unknown) => {
        // From here on it is watched anew, if it is asked again.
        this.#watched.delete(key)
        if (!this.#isStopped) onSilent(watched.place, error)
      },
    )
  }
}
