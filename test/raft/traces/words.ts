/** What cores say and do, as lines that a person reads: one wording for each message, write and change. */
import { assertNever } from '../../../src/lib/assert.ts'
import type { RaftCore } from '../../../src/raft/core/core.ts'
import { decodeConfiguration } from '../../../src/raft/core/membership.ts'
import type { Entry, Message, Promised } from '../../../src/raft/core/message.ts'
import type { Persist } from '../../../src/raft/core/ready.ts'

const utf8 = new TextDecoder()

/** `7/t2` is the entry at index 7, of term 2. */
const place = (index: number, term: number) => `${index}/t${term}`

export function entryText({ index, term, kind, data }: Entry): string {
  if (kind === 'noop') return `${place(index, term)} noop`
  if (kind === 'command') return `${place(index, term)} "${utf8.decode(data)}"`
  const members = decodeConfiguration(data).members.map(({ id, role }) =>
    role === 'voter' ? id : `${id} (learner)`,
  )
  return `${place(index, term)} members ${members.join(', ')}`
}

function promiseText({ promiseMs, firm }: Promised): string {
  if (promiseMs === undefined) return ''
  return `, promises ${promiseMs} ms${firm === true ? ' firmly' : ''}`
}

export function messageText(message: Message): string {
  const { term } = message
  switch (message.type) {
    case 'preVoteRequest':
      return `pre-vote request for term ${term}, log ends at ${place(message.lastIndex, message.lastTerm)}`
    case 'preVoteResponse':
      return message.granted
        ? `pre-vote granted for term ${term}`
        : `pre-vote refused, term ${term}`
    case 'voteRequest': {
      const why = message.transfer ? ', the leader asked for it' : ''
      return `vote request, term ${term}, log ends at ${place(message.lastIndex, message.lastTerm)}${why}`
    }
    case 'voteResponse':
      return `vote ${message.granted ? 'granted' : 'refused'}, term ${term}`
    case 'appendRequest': {
      const entries = message.entries.map(entryText).join(', ') || 'nothing'
      const after = place(message.prevIndex, message.prevTerm)
      return `append, term ${term}, after ${after}: ${entries}; commit ${message.commitIndex}, round ${message.round}`
    }
    case 'appendResponse':
      return message.ok
        ? `appended up to ${message.matchIndex}, term ${term}, round ${message.round}${promiseText(message)}`
        : `append rejected, term ${term}: ${message.rejectedIndex} does not match, look at ${place(message.hintIndex, message.hintTerm)}`
    case 'heartbeat':
      return `heartbeat, term ${term}, commit ${message.commitIndex}, round ${message.round}`
    case 'heartbeatResponse':
      return `heartbeat answered, term ${term}, round ${message.round}${promiseText(message)}`
    case 'timeoutNow':
      return `campaign now, term ${term}, if your log reaches ${message.lastIndex}${message.voted ? `; my vote in the next term is yours, acknowledged up to ${message.acknowledgedIndex}` : ''}`
    case 'readIndexRequest':
      return `read ${message.id}: at which index${message.linearizable ? '' : ', by your lease'}?`
    case 'readIndexResponse':
      return message.index === 0
        ? `read ${message.id}: refused`
        : `read ${message.id}: at ${message.index}`
    default:
      return assertNever(message)
  }
}

/** Null: the unit carries messages alone. */
export function writeText({ write }: Persist): string | null {
  const { truncateFrom, entries, hardState } = write
  const parts: string[] = []
  if (hardState !== null) {
    const { term, votedFor } = hardState
    parts.push(`term ${term}${votedFor === null ? '' : ` and a vote for ${votedFor}`}`)
  }
  if (truncateFrom !== null) parts.push(`the log without ${truncateFrom} and all after it`)
  parts.push(...entries.map(entryText))
  return parts.length === 0 ? null : `writes ${parts.join(', ')}`
}

/** Of what a core shows, the part whose changes are told. */
export type Shown = {
  readonly role: RaftCore['role']
  readonly term: number
  readonly leaderId: string | null
  readonly commitIndex: number
}

export function shownOf({ role, term, leaderId, log }: RaftCore): Shown {
  return { role, term, leaderId, commitIndex: log.commitIndex }
}

export function changesText(before: Shown, after: Shown): readonly string[] {
  const told: string[] = []
  const { role, term, leaderId, commitIndex } = after
  if (role !== before.role || term !== before.term || leaderId !== before.leaderId) {
    if (role === 'leader') told.push(`leads term ${term}`)
    else if (role === 'candidate') told.push(`campaigns in term ${term}`)
    else if (role === 'preCandidate') told.push(`asks for pre-votes, still in term ${term}`)
    else if (leaderId === null) told.push(`follows nobody in term ${term}`)
    else told.push(`follows ${leaderId} in term ${term}`)
  }
  if (commitIndex !== before.commitIndex) told.push(`commits up to ${commitIndex}`)
  return told
}

export function statusText(core: RaftCore): string {
  const { role, term, leaderId, log } = core
  const from = log.baseIndex + 1
  const entries = log.slice(from, log.lastIndex, Infinity) ?? []
  const base = log.baseIndex === 0 ? '' : `(compacted up to ${log.baseIndex}) `
  const who = role === 'follower' ? `follows ${leaderId ?? 'nobody'}` : role
  return `${who}, term ${term}, commit ${log.commitIndex}: ${base}${entries.map(entryText).join(', ')}`
}
