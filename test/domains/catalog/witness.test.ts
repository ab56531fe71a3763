/** The leader's own questions to agents that gossip doubts. */
import t from 'tap'
import { questionsMax, silentMs, Witness } from '../../../src/domains/catalog/witness.ts'
import { manualClock } from '../../support/manual-clock.ts'

const subject = (key: string) => ({ key, endpoint: `${key}:1`, who: `id of ${key}` })

t.test('silence takes time and at least two questions; one answer ends it', async (t) => {
  const clock = manualClock()
  let answer: boolean | null = false
  const witness = new Witness(async () => answer, clock)
  const verdict = async (passMs: number) => {
    clock.advance(passMs)
    return (await witness.ask([subject('a')])).get('a')
  }
  t.equal(await verdict(0), 'unknown')
  t.equal(await verdict(silentMs - 1), 'unknown')
  t.equal(await verdict(1), 'silent')
  answer = true
  t.equal(await verdict(1), 'answers')
  answer = false
  t.equal(await verdict(1), 'unknown', 'from the start')
  answer = null
  t.equal(await verdict(silentMs), 'unknown', 'it could not be asked')
  answer = false
  t.equal(await verdict(1), 'silent')
  t.equal(await verdict(60_000), 'unknown', 'the leader was held up')
  await witness.ask([])
  t.equal(await verdict(silentMs), 'unknown', 'forgotten while nobody doubted')
})

t.test('an agent whose address nobody knows is silent, and is not asked', async (t) => {
  const clock = manualClock()
  const witness = new Witness(() => Promise.reject(new Error('asked')), clock)
  const nowhere = [{ key: 'a', endpoint: null, who: 'a' }]
  await witness.ask(nowhere)
  clock.advance(silentMs)
  t.equal((await witness.ask(nowhere)).get('a'), 'silent')
})

t.test('so many questions are under way at once, and all are asked', async (t) => {
  let underWay = 0
  let most = 0
  const witness = new Witness(async () => {
    underWay += 1
    most = Math.max(most, underWay)
    await new Promise((resolve) => setImmediate(resolve))
    underWay -= 1
    return true
  }, manualClock())
  const many = Array.from({ length: 3 * questionsMax }, (_, at) => subject(String(at)))
  t.equal((await witness.ask(many)).size, 3 * questionsMax)
  t.equal(most, questionsMax)
})
