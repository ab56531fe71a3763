/** Responses that are whole: a head and a body that leave together, at the end of a turn of the event loop. */
import type { ServerResponse } from 'node:http'
import type { Head } from './head.ts'
import type { Held, Outgoing } from './outgoing.ts'

/** Handed to the system in one turn; what is beyond it leaves in the next ones, with other work between. */
export const turnBytesMax = 4_194_304

export type Leaving = {
  readonly response: ServerResponse
  readonly head: Head
  readonly body: string | Uint8Array
  /** Null: it is too small to be counted. */
  readonly counted: Counted | null
}

/** Told once that its client has it all, or is gone. */
export type Taker = { takes(held: Held): void }

/** A body whose bytes are counted until its client has taken them. */
export type Counted = { readonly held: Held; readonly outgoing: Outgoing; readonly taker: Taker }

type Large = Leaving & { readonly done: () => void }

/** Of one server, whichever listeners its requests came to. */
export class Departures {
  #small: Leaving[] = []
  /** Of those in `#small`. */
  #endingTurn: Promise<void> | null = null
  /** Oldest first. */
  readonly #large: Large[] = []

  /**
   * Resolves when it is handed over. Small answers of one turn leave together. Sent one by one, each would wake its client at
   * once, whose next request then comes alone too: with many clients at work, waking costs more than answering. An idle
   * server sends as soon as ever. Large answers, those that are counted, stand in one line of their own: however many there
   * are, one turn hands over `turnBytesMax` of them, and small answers do not wait behind them.
   */
  leave(one: Leaving): Promise<void> {
    if (one.counted !== null) return this.#leaveLarge(one)
    this.#small.push(one)
    this.#endingTurn ??= new Promise((resolve) => {
      setImmediate(() => {
        const batch = this.#small
        this.#small = []
        this.#endingTurn = null
        sendSmall(batch, resolve)
      })
    })
    return this.#endingTurn
  }

  #leaveLarge(one: Leaving): Promise<void> {
    return new Promise((done) => {
      this.#large.push({ ...one, done })
      if (this.#large.length === 1) setImmediate(this.#sendLarge)
    })
  }

  readonly #sendLarge = (): void => {
    for (const { done } of this.#large.splice(0, sendSome(this.#large))) done()
    if (this.#large.length > 0) setImmediate(this.#sendLarge)
  }
}

function sendSmall(batch: readonly Leaving[], done: () => void): void {
  const sent = sendSome(batch)
  if (sent === batch.length) done()
  else setImmediate(() => sendSmall(batch.slice(sent), done))
}

/** As many from the front as one turn may send. Returns how many. */
function sendSome(answers: readonly Leaving[]): number {
  let bytes = 0
  let sent = 0
  for (const one of answers) {
    if (bytes >= turnBytesMax) break
    send(one)
    bytes += one.body.length
    sent += 1
  }
  return sent
}

function send({ response, head, body, counted }: Leaving): void {
  // The client may have gone, and been cut off, while this waited.
  if (response.headersSent || response.destroyed) {
    counted?.held.release()
    return
  }
  counted?.outgoing.watch(response)
  head.writeTo(response)
  // Text stays text: Node sends it in one piece with the head, bytes in two.
  response.end(body)
  if (counted === null) return
  const { held, outgoing, taker } = counted
  if (response.writableLength > 0) {
    taker.takes(held)
  } else {
    outgoing.unwatch(response)
    held.release()
  }
}
