/**
 * One direction of one proxied connection: reads from one socket, sends the pieces through a stage per toxic,
 * writes to the other. Reading pauses while too much is under way, so a slow link pushes back on its sender.
 */
import type { Socket } from 'node:net'
import type { Random } from '../../../src/lib/random.ts'
import { createStage, passThrough, type Piece, type Stage } from './stages.ts'
import type { Toxic } from './toxic.ts'

/** Bytes between the two sockets before reading pauses. */
const heldBytesMax = 256 * 1024

export type Ends = { readonly source: Socket; readonly destination: Socket }

export class Link {
  readonly #ends: Ends
  readonly #random: Random
  readonly #reset: () => void
  #stages: { readonly toxic: Toxic; readonly stage: Stage }[] = []
  #heldBytes = 0
  #finished = false

  constructor(ends: Ends, toxics: readonly Toxic[], random: Random, reset: () => void) {
    this.#ends = ends
    this.#random = random
    this.#reset = reset
    for (const toxic of toxics) this.add(toxic)
    const { source } = ends
    source.on('data', (bytes: Buffer) => {
      this.#heldBytes += bytes.length
      if (this.#heldBytes > heldBytesMax) source.pause()
      this.#enter(0, { type: 'bytes', bytes })
    })
    source.on('end', () => this.#enter(0, { type: 'end' }))
    source.on('error', () => this.#enter(0, { type: 'abort' }))
  }

  add(toxic: Toxic): void {
    const around = {
      forward: (piece: Piece) => {
        const at = this.#stages.findIndex((entry) => entry.toxic === toxic)
        this.#enter(at + 1, piece)
      },
      drop: (bytes: Buffer) => this.#letGo(bytes.length),
      close: () => this.#close(),
      reset: this.#reset,
      random: this.#random,
    }
    const affected = this.#random.next() < toxic.toxicity
    const stage = affected ? createStage(toxic, around) : passThrough(around)
    this.#stages.push({ toxic, stage })
  }

  changed(toxic: Toxic): void {
    this.#stages.find((entry) => entry.toxic === toxic)?.stage.changed()
  }

  remove(toxic: Toxic): void {
    this.#stages.find((entry) => entry.toxic === toxic)?.stage.remove()
    this.#stages = this.#stages.filter((entry) => entry.toxic !== toxic)
  }

  stop(): void {
    for (const { stage } of this.#stages) stage.stop()
    this.#stages = []
    this.#finished = true
  }

  #enter(at: number, piece: Piece): void {
    if (this.#finished) return
    const next = this.#stages[at]
    if (next === undefined) this.#leave(piece)
    else next.stage.push(piece)
  }

  #leave(piece: Piece): void {
    const { destination } = this.#ends
    if (piece.type === 'abort') destination.destroy()
    else if (piece.type === 'end') destination.end()
    else if (destination.writable) {
      destination.write(piece.bytes, () => this.#letGo(piece.bytes.length))
    } else this.#letGo(piece.bytes.length)
  }

  #letGo(bytes: number): void {
    this.#heldBytes -= bytes
    if (this.#heldBytes <= heldBytesMax && this.#ends.source.isPaused()) this.#ends.source.resume()
  }

  /** A toxic ends the connection: what went on before it still arrives. */
  #close(): void {
    const { source, destination } = this.#ends
    this.stop()
    destination.destroySoon()
    source.destroySoon()
  }
}
