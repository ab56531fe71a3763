/** Members that are kept out, and packets that nobody here can read. */
import t from 'tap'
import { localProfile } from '../../src/gossip/gossip.ts'
import type { Refuses } from '../../src/gossip/admission.ts'
import { RateLimitedLog } from '../../src/gossip/rate-limited-log.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { manualClock } from '../support/manual-clock.ts'
import { patience, sees, startNode } from './pool.ts'

/** As servers do it: whoever says another colour is refused; without one, nobody is. */
function colour(own: string) {
  const refuses: Refuses = ({ name, tags }) => {
    const other = tags.get('colour') ?? ''
    return other === '' || other === own ? null : `${name} is ${other}`
  }
  return { profile: localProfile, tags: new Map([['colour', own]]), refuses }
}

void t.test('two pools that refuse each other learn nothing by an exchange', async (t) => {
  const red = await startNode(t, 'red', colour('red'))
  const blue = await startNode(t, 'blue', colour('blue'))
  const second = await startNode(t, 'second', colour('blue'))
  await second.join([blue.local().endpoint])
  const { joined, errors } = await red.join([blue.local().endpoint])
  t.equal(joined, 0)
  t.match(errors[0]?.error.message, /the other side refused: .*red is red/)
  await sees(red, 'red alive')
  await sees(blue, 'blue alive, second alive')
})

void t.test('whoever is in both pools brings none of the other', async (t) => {
  const red = await startNode(t, 'red', colour('red'))
  const blue = await startNode(t, 'blue', colour('blue'))
  const both = await startNode(t, 'both', { profile: localProfile })
  t.equal((await both.join([red.local().endpoint, blue.local().endpoint])).joined, 2)
  await sees(both, 'blue alive, both alive, red alive')
  await sees(red, 'both alive, red alive')
  await sees(blue, 'blue alive, both alive')
  // What rides on packets is held back as well.
  blue.setTags(new Map([...blue.local().tags, ['more', 'yes']]))
  await eventuallyTrue('the news', () => both.member('blue')?.tags.has('more') ?? false, patience)
  t.equal((await both.join([red.local().endpoint])).joined, 1)
  await sees(red, 'both alive, red alive')
})

void t.test('a line is due once a minute, and only so many are', (t) => {
  const clock = manualClock()
  const seldom = new RateLimitedLog(clock)
  t.equal(seldom.due('a'), true)
  t.equal(seldom.due('a'), false)
  t.equal(Array.from({ length: 200 }, (_, at) => seldom.due(`b ${at}`)).filter(Boolean).length, 63)
  clock.advance(60_000)
  t.equal(seldom.due('a'), true)
  t.end()
})
