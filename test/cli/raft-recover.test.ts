import t from 'tap'
import type { OpenRecovery } from '../../src/cli/verbs/raft/recover.ts'
import { run, type Typed } from './terminal.ts'

type Report = Awaited<ReturnType<OpenRecovery>>['report']

const s1 = { id: 'id-1', name: 's1', address: '10.0.0.1:4647', role: 'voter' } as const
const s2 = { id: 'id-2', name: 's2', address: '10.0.0.2:4647', role: 'voter' } as const

const usual: Report = {
  dataFolder: '/data',
  serverId: 'id-1',
  before: { clusterId: 'old', members: [s1, s2] },
  after: { clusterId: 'new', members: [s1] },
  isDone: false,
  lastIndex: 12,
  lastTerm: 3,
  provenIndex: 10,
  answering: [],
  hasClusterKey: true,
}

/** Runs the command on a folder of which this is known, and says what was done to it. */
async function recover(words: string, changed: Partial<Report> = {}, typed: Typed = {}) {
  const done: string[] = []
  const ran = await run(['operator', 'raft', 'recover', ...words.split(' ')], {
    ...typed,
    recovery: async (args) => {
      done.push(`open ${JSON.stringify(args)}`)
      return {
        report: { ...usual, ...changed },
        perform: async () => void done.push('perform'),
        close: async () => void done.push('close'),
      }
    },
  })
  return { ...ran, did: done.slice(1).join(' '), asked: done[0] ?? '' }
}

const self = '-data-dir /data -keep-only-self'

void t.test('what is to be done is said clearly, or nothing is opened', async (t) => {
  const rows: readonly (readonly [string, RegExp])[] = [
    ['-keep-only-self -yes', /-config FILE\|DIR, or -data-dir/],
    ['-config c -data-dir d -keep-only-self -yes', /-config FILE\|DIR, or -data-dir/],
    ['-data-dir d -yes', /-keep-only-self, or -peers/],
    ['-data-dir d -keep-only-self -peers p -yes', /-keep-only-self, or -peers/],
    [self, /-yes does it/],
  ]
  for (const [words, expected] of rows) {
    t.match(await recover(words), { code: 2, err: expected, asked: '' }, words)
  }
})

void t.test('with -yes it says what it does, and does it', async (t) => {
  const { code, out, did, asked } = await recover(`${self} -yes`)
  t.equal(code, 0)
  t.equal(did, 'perform close')
  t.match(asked, '{"folder":{"type":"path","path":"/data"},"peersFile":null}')
  t.match(out, /Old cluster +=\sold\nNew cluster +=\snew/)
  t.match(out, /s1 +id-1 +10\.0\.0\.1:4647 +voter +voter/)
  t.match(out, /s2 +id-2 +10\.0\.0\.2:4647 +voter +left out/)
  t.match(out, /2 entries after that are kept/)
  t.match(out, /Next:\n {2}1\. Start this server\./)
})

void t.test('several survivors are told to do the same', async (t) => {
  const { out, asked } = await recover('-config c -config d -peers p.json -yes', {
    after: { clusterId: 'new', members: [s1, s2] },
  })
  t.match(asked, '{"folder":{"type":"config","paths":["c","d"]},"peersFile":"p.json"}')
  t.match(out, /1\. Run the same on s2, with the same file\./)
})

void t.test('a dry run changes nothing', async (t) => {
  const { code, out, did } = await recover(`${self} -dry-run`)
  t.match({ code, did }, { code: 0, did: 'close' })
  t.match(out, /Nothing was changed/)
})

void t.test('on a terminal it asks, and takes a whole yes alone', async (t) => {
  const typed = (input: string) => ({ isTerminal: true, input })
  t.match(await recover(self, {}, typed('yes\n')), { code: 0, did: 'perform close' })
  for (const answer of ['y\n', 'no\n', '', 'yes please\n']) {
    t.match(await recover(self, {}, typed(answer)), { code: 1, did: 'close' }, answer)
  }
})

void t.test('it refuses while other servers answer, until it is forced', async (t) => {
  const answering = ['s2 (id-2) at 10.0.0.2:4647']
  const refused = await recover(`${self} -yes`, { answering })
  t.match(refused, { code: 1, did: 'close', err: /s2 \(id-2\) at 10\.0\.0\.2:4647/ })
  t.match(await recover(`${self} -yes -force`, { answering }), { did: 'perform close' })
})

void t.test('what was done before is not done again', async (t) => {
  const again = await recover(`${self} -yes`, { isDone: true, before: usual.after })
  t.match(again, { code: 0, did: 'close', out: /done already/ })
})

void t.test('a missing cluster key is said', async (t) => {
  const { out } = await recover(`${self} -yes`, { hasClusterKey: false })
  t.match(out, /no cluster key here[^]*1\. Give this server its cluster key/)
})
