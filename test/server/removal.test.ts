/** Who may be removed from the Raft configuration: one row per case. */
import t from 'tap'
import type { Member } from '../../src/raft/core/message.ts'
import { nextRemoval, quorumOf, type Departure, type Obstacle } from '../../src/server/removal.ts'

const server = (name: string, role: Member['role'] = 'voter'): Member => ({
  id: name,
  name,
  address: `${name}:1`,
  role,
})

type Row = readonly [
  voters: number,
  configured: number,
  inContact: string,
  departures: string,
  expected: string,
]

// s1 leads. A departure is a name and why; what is expected is who goes, or what stands against each.
const rows: readonly Row[] = [
  // voters, configured, in contact, departures,                  expected
  [3, 3, 's2 s3', 's3:left', 'removes s3'],
  [3, 3, 's2 s3', 's3:givenUp', 's3 answers'],
  [3, 3, 's2 s3', 's3:dead', 's3 answers'],
  [3, 3, 's2', 's3:givenUp', 'removes s3'],
  [3, 3, 's2', 's3:dead', 'removes s3'],
  [3, 3, '', 's3:left', 's3 noMajority'],
  [3, 3, '', 's2:dead s3:dead', 's2 noMajority, s3 noMajority'],
  [3, 3, 's2 s3', 's2:dead s3:dead', 's2 answers, s3 answers'],
  [2, 3, 's2', 's2:left', 's2 belowConfiguredQuorum'],
  [2, 2, 's2', 's2:left', 'removes s2'],
  [2, 1, 's2', 's2:left', 'removes s2'],
  [2, 3, '', 's2:givenUp', 's2 belowConfiguredQuorum'],
  [2, 2, '', 's2:dead', 's2 belowConfiguredQuorum'],
  [3, 5, 's2', 's3:givenUp', 's3 belowConfiguredQuorum'],
  [3, 5, 's2', 's3:dead', 's3 belowConfiguredQuorum'],
  [3, 5, 's2 s3', 's3:left', 's3 belowConfiguredQuorum'],
  [4, 5, 's2 s3', 's4:left', 'removes s4'],
  [4, 5, 's2 s3', 's4:dead', 'removes s4'],
  [5, 5, 's4 s5', 's2:dead s3:dead', 'removes s2'],
  [5, 5, 's4', 's2:dead s3:dead', 's2 noMajority, s3 noMajority'],
  [5, 5, 's4 s5', 's1:left s9:left', ''],
  [3, 3, 's2 s3', '', ''],
]

for (const [voters, configuredSize, contacts, said, expected] of rows) {
  const what = `of ${voters} voters for ${configuredSize}, in contact "${contacts}", "${said}"`
  t.test(`${what}: "${expected}"`, async (t) => {
    const members = Array.from({ length: voters }, (_, at) => server(`s${at + 1}`))
    const inContact = new Set(contacts.split(' ').filter((name) => name !== ''))
    const departures = said
      .split(' ')
      .filter((word) => word !== '')
      .map((word): Departure => {
        const [id = '', why = ''] = word.split(':')
        return { id, why: why as Departure['why'] }
      })
    const { next, held } = nextRemoval(
      { members, self: 's1', inContact, configuredSize },
      departures,
    )
    const shown = held.map(
      ({ member, obstacle }: { member: Member; obstacle: Obstacle }) =>
        `${member.name} ${obstacle}`,
    )
    t.equal(next === null ? shown.join(', ') : `removes ${next.member.name}`, expected)
  })
}

t.test('a learner counts in no quorum, and stays while it answers', async (t) => {
  const members = [server('s1'), server('s2', 'learner')]
  const view = { members, self: 's1', configuredSize: 3 }
  const dead = [{ id: 's2', why: 'dead' }] as const
  t.match(nextRemoval({ ...view, inContact: new Set() }, dead).next, { member: { id: 's2' } })
  t.match(nextRemoval({ ...view, inContact: new Set(['s2']) }, dead).held, [
    { obstacle: 'answers' },
  ])
  t.same([1, 2, 3, 4, 5].map(quorumOf), [1, 2, 2, 3, 3])
})
