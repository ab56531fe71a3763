/**
 * What happened in a run, line by line: all of it when somebody reads along, else the last few hundred lines
 * for the report of a failure. Lines are made when they are needed, so they must speak of values that do not change.
 */
import type { Message } from '../../src/raft/core/message.ts'

const rememberedMax = 300

type Line = { readonly atMs: number; readonly text: () => string }

export class Trace {
  readonly #clock: { readonly nowMs: number }
  readonly #sink: ((line: string) => void) | null
  #remembered: Line[] = []

  constructor(clock: { readonly nowMs: number }, sink: ((line: string) => void) | null) {
    this.#clock = clock
    this.#sink = sink
  }

  add(text: () => string): void {
    const line = { atMs: this.#clock.nowMs, text }
    if (this.#sink !== null) {
      this.#sink(format(line))
      return
    }
    this.#remembered.push(line)
    if (this.#remembered.length > rememberedMax * 2) {
      this.#remembered = this.#remembered.slice(-rememberedMax)
    }
  }

  /** The newest lines; empty when everything went to the sink. */
  last(count: number): string[] {
    return this.#remembered.slice(-count).map(format)
  }
}

function format({ atMs, text }: Line): string {
  return `${atMs.toFixed(3).padStart(10)} ${text()}`
}

export function describeMessage(message: Message): string {
  const { type, from, to, term } = message
  return `${from} > ${to} ${type} t${term}${detailOf(message)}`
}

function detailOf(message: Message): string {
  switch (message.type) {
    case 'preVoteRequest':
      return ` last ${message.lastIndex}/t${message.lastTerm}`
    case 'voteRequest':
      return ` last ${message.lastIndex}/t${message.lastTerm}${message.transfer ? ' transfer' : ''}`
    case 'preVoteResponse':
    case 'voteResponse':
      return message.granted ? ' granted' : ' refused'
    case 'appendRequest': {
      const { prevIndex, prevTerm, entries, commitIndex, round } = message
      const runs = entries.map(({ term, kind }) => `t${term}${kind === 'command' ? '' : kind[0]}`)
      return ` prev ${prevIndex}/t${prevTerm} +[${runs.join(' ')}] commit ${commitIndex} round ${round}`
    }
    case 'appendResponse':
      return message.ok
        ? ` ok match ${message.matchIndex} round ${message.round}`
        : ` no at ${message.rejectedIndex}, hint ${message.hintIndex}/t${message.hintTerm}`
    case 'heartbeat':
      return ` commit ${message.commitIndex} round ${message.round}`
    case 'heartbeatResponse':
      return ` round ${message.round}`
    case 'timeoutNow':
      return `${message.lastIndex === 0 ? '' : ` last ${message.lastIndex}`}${message.voted ? ` voted, acknowledged ${message.acknowledgedIndex}` : ''}`
    case 'readIndexRequest':
      return ` id ${message.id}${message.linearizable ? '' : ' lease'}`
    case 'readIndexResponse':
      return ` id ${message.id} index ${message.index}`
  }
}
