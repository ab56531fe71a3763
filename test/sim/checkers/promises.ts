/**
 * Persisted before answered (3.8): a message that promises something leaves only when the promise is on disk.
 *
 *   voteRequest:             term and the vote for oneself
 *   voteResponse, granted:   term and that vote
 *   appendResponse, ok:      every entry up to the acknowledged index
 *   timeoutNow with a vote:  both, for the next term and the last entry
 */
import type { Message } from '../../../src/raft/core/message.ts'
import type { DiskImage, Report } from './rule.ts'

export class Promises {
  readonly #report: Report

  constructor(report: Report) {
    this.#report = report
  }

  sent(message: Message, disk: DiskImage): void {
    switch (message.type) {
      case 'voteRequest':
        this.#vote(message.from, message.term, message.from, disk)
        return
      case 'voteResponse':
        if (message.granted) this.#vote(message.from, message.term, message.to, disk)
        return
      case 'appendResponse':
        if (message.ok) this.#entries(message.from, 'acknowledges', message.matchIndex, disk)
        return
      case 'timeoutNow':
        if (!message.voted) return
        this.#vote(message.from, message.term + 1, message.to, disk)
        this.#entries(message.from, 'hands over with', message.lastIndex, disk)
        return
      default:
    }
  }

  #entries(server: string, says: string, upTo: number, disk: DiskImage): void {
    if (upTo <= disk.lastIndex) return
    this.#report({
      rule: 'entries are on disk before they are acknowledged',
      text: `${server} ${says} ${upTo}, its disk ends at ${disk.lastIndex}`,
    })
  }

  #vote(server: string, term: number, candidate: string, disk: DiskImage): void {
    // A later term on disk speaks for the earlier one as well: there can be no second vote in that.
    if (disk.term > term || (disk.term === term && disk.votedFor === candidate)) return
    this.#report({
      rule: 'a vote is on disk before it is given',
      text: `${server} votes for ${candidate} in term ${term}, its disk says ${disk.votedFor} in term ${disk.term}`,
    })
  }
}
