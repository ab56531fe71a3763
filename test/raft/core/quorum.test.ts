import fc from '../../support/fast-check.ts'
import t from 'tap'
import { majorityOf, reachedByMajority, tally } from '../../../src/raft/core/quorum.ts'

t.test('what a majority reached is what a count of each value says', async (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 9 }),
      (values) => {
        const needed = majorityOf(values.length)
        const counted = [...values].filter(
          (value) => values.filter((other) => other >= value).length >= needed,
        )
        return reachedByMajority(values) === Math.max(...counted)
      },
    ),
  )
  t.equal(reachedByMajority([]), 0)
})

t.test('votes are counted among voters only', async (t) => {
  const voters = ['a', 'b', 'c']
  const cases: [answers: [string, boolean][], expected: string][] = [
    [[], 'open'],
    [[['a', true]], 'open'],
    [
      [
        ['a', true],
        ['x', true],
      ],
      'open',
    ],
    [
      [
        ['a', true],
        ['b', true],
      ],
      'won',
    ],
    [
      [
        ['a', true],
        ['b', false],
      ],
      'open',
    ],
    [
      [
        ['b', false],
        ['c', false],
      ],
      'lost',
    ],
  ]
  for (const [answers, expected] of cases) t.equal(tally(voters, new Map(answers)), expected)
  t.not(tally([], new Map()), 'won', 'nobody wins among no voters')
})
