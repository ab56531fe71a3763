import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { MusterError } from '../../src/lib/errors.ts'
import { seededRandom } from '../../src/lib/random.ts'
import { ReadQuestions } from '../../src/raft/read-questions.ts'
import { manualClock } from '../support/manual-clock.ts'

const deadlineMs = 5_000

/** Questions on the way to a core that answers when the test says so, and a loop that turns when the test says so. */
function world() {
  const questions: number[] = []
  let deferred: (() => void)[] = []
  const reads = new ReadQuestions({
    clock: manualClock(),
    random: seededRandom(1),
    input: (give) => give({ read: (id) => void questions.push(id) }, 0),
    readNow: () => null,
    defer: (run) => void deferred.push(run),
  })
  const served: number[] = []
  const ask = (reader: number): void => {
    reads.index('linearizable', deadlineMs).then(
      () => void served.push(reader),
      () => undefined,
    )
  }
  return {
    reads,
    questions,
    served,
    ask,
    /** All answered by one turn of the core, which sent something or did not. */
    answer: async (hasSent: boolean): Promise<void> => {
      const results = questions.splice(0).map((id) => ({ id, index: 7 }))
      reads.answered(results, hasSent)
      await setImmediate()
    },
    turnLoop: async (): Promise<void> => {
      const due = deferred
      deferred = []
      for (const run of due) run()
      await setImmediate()
    },
  }
}

void t.test('reads of one turn share a question, sixteen at most', async (t) => {
  const { reads, questions, ask } = world()
  for (let reader = 0; reader < 40; reader += 1) ask(reader)
  t.equal(questions.length, 3)
  reads.taken()
  ask(40)
  t.equal(questions.length, 4, 'the next turn has questions of its own')
})

void t.test('a lone question is answered at once when nothing had to be sent', async (t) => {
  const { served, ask, answer } = world()
  ask(0)
  await answer(false)
  t.same(served, [0])
})

void t.test('readers are served behind what the turn sent, group by group', async (t) => {
  const { served, ask, answer, turnLoop } = world()
  for (let reader = 0; reader < 40; reader += 1) ask(reader)
  await answer(true)
  t.equal(served.length, 0, 'the next round is on its way first')
  for (const count of [16, 32, 40]) {
    await turnLoop()
    t.equal(served.length, count)
  }
  await turnLoop()
  t.same(
    served,
    Array.from({ length: 40 }, (_, reader) => reader),
  )
})

void t.test('a node that stops in between refuses those who were not served yet', async (t) => {
  const { reads, ask, answer, turnLoop, served } = world()
  for (let reader = 0; reader < 16; reader += 1) ask(reader)
  const late = reads.index('linearizable', deadlineMs)
  await answer(false)
  reads.rejectAll(new MusterError('unavailable', 'this server stops'))
  await t.rejects(late, { code: 'unavailable' })
  await turnLoop()
  t.equal(served.length, 16)
})
