/** What keeps others out: a mutex of one holder, or a semaphore of several. */

/** What the command may name in writes that are to fail once it is not the holder any more. */
export type Held = {
  readonly key: string
  /** With every digit. */
  readonly lockIndex: string
}

/** Why it is not held any more. */
export type Loss = {
  readonly reason: string
  /** No other session is granted it before the lock delay is over. */
  readonly isHeldBack: boolean
}

export type Exclusion = {
  /** No other session is granted it before the lock delay after its session's end is over. */
  readonly isHeldBack: boolean
  /** Waits until the session holds it. Throws once the signal fires, and what waiting does not change. */
  acquire(session: string, signal: AbortSignal): Promise<Held>
  /** Resolves as soon as a server says that it is not held any more; rejects when the signal fires. */
  lost(session: string, held: Held, signal: AbortSignal): Promise<Loss>
  /** Releases it, and removes what is not needed. Does nothing if it is not held. */
  release(session: string, held: Held, signal: AbortSignal): Promise<void>
}
