/**
 * Bugs to plant on purpose, one at a time, to see that the judges bite. Each is a change of exact source text;
 * when the text no longer occurs exactly once in its file, the list is out of date and the runner says so.
 */
import type { Corner } from './plan.ts'

export type Mutant = {
  readonly name: string
  readonly file: string
  readonly find: string
  readonly replace: string
  /** Where its seeds look; absent: each where it is drawn to. */
  readonly corner?: Corner
}

const core = 'src/raft/core'

export const mutants: readonly Mutant[] = [
  {
    name: 'an entry of an earlier term is committed by counting',
    file: `${core}/leader.ts`,
    find: 'if (index <= log.commitIndex || log.termAt(index) !== state.term) return',
    replace: 'if (index <= log.commitIndex) return',
  },
  {
    name: 'a leader goes on to decide while others answer for what came before its term',
    file: `${core}/leader.ts`,
    find: 'role.completeAt = Math.max(role.completeAt, role.noopIndex)',
    replace: 'if (state.appliedIndex < role.completeAt) role.completeAt = role.noopIndex',
    corner: 'handovers',
  },
  {
    name: 'the leader counts its own entries before they are on disk',
    file: `${core}/leader.ts`,
    find: 'id === state.id ? log.persistedIndex :',
    replace: 'id === state.id ? log.lastIndex :',
  },
  {
    name: 'the vote is not persisted',
    file: `${core}/core.ts`,
    find: 'state.term !== state.handedTerm || state.votedFor !== state.handedVote',
    replace: 'state.term !== state.handedTerm',
  },
  {
    name: 'a vote is given twice in a term',
    file: `${core}/candidate.ts`,
    find: 'const free = state.votedFor === null || state.votedFor === request.from',
    replace: 'const free = true',
  },
  {
    name: 'votes are asked for before the one for oneself is on disk',
    file: `${core}/candidate.ts`,
    find: "state.out.afterwards.push({\n      type: 'voteRequest',",
    replace: "state.out.send.push({\n      type: 'voteRequest',",
  },
  {
    name: 'the length of a log does not matter in an election',
    file: `${core}/log.ts`,
    find: 'return lastTerm > own || (lastTerm === own && lastIndex >= this.lastIndex)',
    replace: 'return lastTerm >= own',
  },
  {
    name: 'entries are acknowledged before they are on disk',
    file: `${core}/follower.ts`,
    find: 'matchIndex: LogIndex,\n): void {\n  state.out.afterwards.push({',
    replace: 'matchIndex: LogIndex,\n): void {\n  state.out.send.push({',
  },
  {
    name: 'a late request cuts off entries that match',
    file: `${core}/follower.ts`,
    find: 'request.entries.findIndex((entry) => log.termAt(entry.index) !== entry.term)',
    replace: 'request.entries.length > 0 ? 0 : -1',
  },
  {
    name: 'a heartbeat carries the commit index to a follower that may hold other entries',
    file: `${core}/heartbeat.ts`,
    find: 'const commitIndex = Math.min(state.log.commitIndex, leader.progress.get(id)?.match ?? 0)',
    replace: 'const commitIndex = state.log.commitIndex',
  },
  {
    name: 'the entry before those of a request is not compared',
    file: `${core}/follower.ts`,
    find: 'if (log.termAt(request.prevIndex) !== request.prevTerm) {',
    replace: 'if (log.termAt(request.prevIndex) === undefined) {',
  },
  {
    name: 'entries are applied before they are committed',
    file: `${core}/core.ts`,
    find: 'return Math.min(this.#state.log.commitIndex, this.#state.log.persistedIndex)',
    replace: 'return this.#state.log.persistedIndex',
  },
  {
    name: 'a change of members begins while another is under way',
    file: `${core}/leader.ts`,
    find: "if (membership.index > log.commitIndex) return refuse('notNow', 'another change is under way')",
    replace: '',
  },
  {
    name: 'a new leader changes members before it committed anything',
    file: `${core}/leader.ts`,
    find: "if (log.commitIndex < role.noopIndex) return refuse('notNow', 'the new leader is settling in')",
    replace: '',
  },
  {
    name: 'a configuration stays in force when its entry is cut off',
    corner: 'members',
    file: `${core}/follower.ts`,
    find: 'membership.truncated(first.index)',
    replace: '',
  },
  {
    name: 'a read takes no quorum',
    file: `${core}/reads.ts`,
    find: 'if (reached < readRound.round) return',
    replace: '',
  },
  {
    name: 'a read is confirmed by answers to an earlier round',
    file: `${core}/reads.ts`,
    find: '  beginRound(state, leader)\n  const [asked',
    replace: '  const [asked',
  },
  {
    name: 'the question of a follower is taken for a majority of five',
    corner: 'court',
    file: `${core}/reads.ts`,
    find: 'majorityOf(voters.length) <= 2',
    replace: 'majorityOf(voters.length) <= 3',
  },
  {
    name: 'a leader that lost its office answers the questions of others',
    file: `${core}/reads.ts`,
    find: 'else answerRead(state, read, null)',
    replace: 'else answerRead(state, read, state.log.commitIndex)',
  },
  {
    name: 'a new leader answers reads before it committed anything',
    file: `${core}/reads.ts`,
    find: 'leader.waitingReads.length === 0) return\n  if (state.log.commitIndex < leader.noopIndex) return\n',
    replace: 'leader.waitingReads.length === 0) return\n',
  },
  {
    name: 'a reader does not wait until the index is applied',
    file: 'src/raft/node.ts',
    find: 'if (this.#options.machine.appliedIndex >= index) return',
    replace: 'if (index >= 0) return',
  },
  {
    name: 'the lease outlasts the promise',
    corner: 'lease',
    file: `${core}/reads.ts`,
    find: 'const leaseShare = 0.8',
    replace: 'const leaseShare = 2.5',
  },
  {
    name: 'the vote of a handover leaves before it is on disk',
    file: `${core}/handover.ts`,
    find: "state.out.afterwards.push({ type: 'timeoutNow'",
    replace: "state.out.send.push({ type: 'timeoutNow'",
  },
  {
    name: 'the vote of a handover counts for a log that lacks the last entries',
    file: `${core}/follower.ts`,
    find: 'const holdsAll = lastIndex === 0 || state.log.termAt(lastIndex) === term',
    replace: 'const holdsAll = true',
  },
  {
    name: 'after a handover a leader decides on whatever state it has',
    file: `${core}/leader.ts`,
    find: 'handed.acknowledgedIndex === 0 ? noopIndex : handed.acknowledgedIndex',
    replace: 'false ? noopIndex : 0',
  },
  {
    name: 'a voter forgets its promise when it is restarted',
    corner: 'lease',
    file: `${core}/start.ts`,
    find: 'leaseReads && start.hardState.term > 0 ? now + patience.longestMs : now',
    replace: 'now',
  },
  {
    name: 'a voter keeps its promise for a part of the time that its answer says',
    corner: 'lease',
    file: `${core}/follower.ts`,
    find: 'Math.max(state.promisedUntil, now + promiseMs)',
    replace: 'now + promiseMs / 3',
  },
  {
    name: 'a leader counts on its own timeout and not on what was promised',
    corner: 'lease',
    file: `${core}/reads.ts`,
    find: 'sentAt + promiseMs * leaseShare',
    replace: 'sentAt + options.electionMs * 2 * leaseShare',
  },
  {
    name: 'a leader trusts its lease after its machine was suspended',
    corner: 'lease',
    file: `${core}/core.ts`,
    find: "if (state.role.type === 'leader') voidLease(state.role)",
    replace: '',
  },
  {
    name: 'entries that waited for the disk are written behind a snapshot',
    file: 'src/raft/snapshots.ts',
    find: 'this.#writer.dropEntries()',
    replace: '',
  },
  {
    name: 'a second snapshot is staged while the first is put in place',
    corner: 'installs',
    file: 'src/raft/snapshots.ts',
    find: 'if (core.installing) {',
    replace: 'if (false) {',
  },
  {
    name: 'the base is taken for the meeting point of two logs that part below it',
    corner: 'divergence',
    file: `${core}/leader.ts`,
    find: 'progress.becomeProbe(compacted ? meeting : meeting + 1)',
    replace: 'progress.becomeProbe(meeting + 1)',
  },
  {
    name: 'a proposal succeeds when another entry took its place',
    file: 'src/raft/waiters.ts',
    find: 'if (proposal.term === term) proposal.resolve({ index, outcome })\n    else proposal.reject(overwritten())',
    replace: 'proposal.resolve({ index, outcome })',
  },
  {
    name: 'a write is sent again while its term goes on',
    file: 'src/rpc/sent-writes.ts',
    find: 'this.#options.appliedTerm() > term ?',
    replace: 'this.#options.appliedTerm() >= term ?',
  },
  {
    name: 'a write is sent again although it may be in a snapshot',
    corner: 'mixed',
    file: 'src/rpc/sent-writes.ts',
    find: 'for (const write of this.#writes.values()) write.lose()',
    replace: '',
  },
  {
    name: 'a proposal of a lost leader is said to have surely failed',
    file: 'src/raft/waiters.ts',
    find: "'outcome_unknown',\n    'the leader was lost",
    replace: "'not_leader',\n    'the leader was lost",
  },
  {
    name: 'the log goes on while entries are still to be synced',
    file: 'src/raft/storage/durable-log.ts',
    find: '    await segment.file.sync()\n',
    replace: '',
  },
  {
    name: 'a new segment is used before its name is durable',
    file: 'src/raft/storage/segment-supply.ts',
    find: '      await disk.rename(temporary, name)\n      await disk.syncFolder()\n',
    replace: '      await disk.rename(temporary, name)\n',
  },
  {
    name: 'the log is compacted up to what the state machine may still lose',
    file: 'src/raft/snapshots.ts',
    find: 'const meta = await machine.flush()',
    replace:
      'const meta = await (machine.flush(), Promise.resolve({ ...(await machine.snapshot()).meta }))',
  },
  {
    name: 'a write that a full disk refused is taken for done',
    file: 'src/lib/disk-gate.ts',
    find: 'const result = await attempt()',
    replace: 'const result = (await attempt().catch(() => undefined)) as T',
  },
]
