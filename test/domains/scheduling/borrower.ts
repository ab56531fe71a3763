/** Workers of a server that does not lead, over the state of a leader in the same process. */
import { BorrowedWork } from '../../../src/domains/scheduling/borrowed-work.ts'
import { WorkerPool } from '../../../src/domains/scheduling/workers.ts'
import { systemClock, type Clock } from '../../../src/lib/clock.ts'
import { MusterError } from '../../../src/lib/errors.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import type { LeaderContext } from '../../../src/rpc/method.ts'
import type { Scheduled } from './scheduled.ts'

export class Borrower {
  readonly workers = new WorkerPool({
    clock: systemClock,
    leads: () => false,
    count: 2,
    enabled: null,
    countMax: 8,
  })
  /** Before each question to the leader; may throw. */
  onAsk: (method: string) => void | Promise<void> = () => {}
  /** Questions that the leader answered, by method. */
  readonly asked = new Map<string, number>()
  /** Views that it opened. */
  views = 0
  readonly #work: BorrowedWork

  constructor(leader: Scheduled, clock: Clock = systemClock) {
    const { machine } = leader.state
    const service = (() => leader.lending) as unknown as LeaderContext['service']
    this.#work = new BorrowedWork({
      clock,
      log: silentLogger,
      view: () => {
        this.views += 1
        return machine.view()
      },
      applied: machine,
      barrier: async () => {
        throw new MusterError('unavailable', 'the state is the same one, and never behind')
      },
      ask: async ({ signal }, method, args) => {
        if (signal.aborted) throw new MusterError('cancelled', 'the question is not asked any more')
        await this.onAsk(method.name)
        const { checkReply }: { checkReply: (reply: unknown) => void } = method
        const reply = await method.run({ service, signal } as LeaderContext, args)
        checkReply(reply)
        this.asked.set(method.name, (this.asked.get(method.name) ?? 0) + 1)
        return reply
      },
      workers: this.workers,
      leads: () => false,
    })
  }

  start(): void {
    this.#work.start()
  }

  stop(): Promise<void> {
    return this.#work.stop()
  }
}
