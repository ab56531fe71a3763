/** `muster operator raft recover`: of a stopped server's data folder; no agent is asked. */
import { agrees } from '../../agreement.ts'
import { misused, type Flags } from '../../flags.ts'
import { styleOf, type Style } from '../../print/style.ts'
import { pairs, table } from '../../print/table.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'

/** What the process that can open a data folder is told; `main` hands it over. */
export type RecoverArguments = {
  readonly folder:
    | { readonly type: 'config'; readonly paths: readonly string[] }
    | { readonly type: 'path'; readonly path: string }
  /** Null: the server of the folder alone. */
  readonly peersFile: string | null
}

type Member = {
  readonly id: string
  readonly name: string
  readonly address: string
  readonly role: 'voter' | 'learner'
}

type Cluster = { readonly clusterId: string; readonly members: readonly Member[] }

type Report = {
  readonly dataFolder: string
  readonly serverId: string
  readonly before: Cluster
  readonly after: Cluster
  readonly isDone: boolean
  readonly lastIndex: number
  readonly lastTerm: number
  readonly provenIndex: number
  readonly answering: readonly string[]
  readonly hasClusterKey: boolean
}

/** All checks are made, and nothing is changed, when it resolves. */
export type OpenRecovery = (args: RecoverArguments) => Promise<{
  readonly report: Report
  perform(): Promise<void>
  close(): Promise<void>
}>

export function raftRecover(open: OpenRecovery): Verb {
  return {
    operands: noOperands,
    about: `
For a cluster that has lost its quorum for good: a majority of its servers, and their disks, will
never come back. Run it on a survivor, as the user that the server runs as, while the server is
stopped. It makes a new cluster of the servers that you name; their log, and with it variables,
namespaces and keys, goes on. Servers of the old cluster that come back later are refused.

  muster operator raft recover -config /etc/muster -keep-only-self
  muster operator raft recover -config /etc/muster -peers peers.json

Of several survivors keep the one with the highest last term, and of those the highest last index
(-dry-run tells), and let the others begin anew with empty folders. Or name all of them in the same
file, and run it on each before you start any; the most complete then leads:

  [{ "id": "5f0c...", "address": "10.0.0.1:4647" }, { "id": "a91b...", "non_voter": true }]

An id is in server.json of a data folder. What is left out, name and address, stays as it was.
`,
    flags: {
      config: {
        summary: "The server's configuration, as its agent is given it; repeatable",
        value: 'FILE|DIR',
      },
      'data-dir': { summary: 'The data folder, in place of a configuration', value: 'DIR' },
      'keep-only-self': { summary: 'The new cluster is this server alone', value: null },
      peers: { summary: 'The new cluster is what this file names', value: 'FILE' },
      'dry-run': { summary: 'Check and say, and change nothing', value: null },
      yes: { summary: 'Do not ask', value: null },
      force: { summary: 'Go on although other servers still answer', value: null },
    },
    async run({ flags, terminal }) {
      const args = argumentsOf(flags)
      const isDry = flags.has('dry-run')
      const mayAsk = terminal.inIsTerminal && terminal.errIsTerminal
      if (!isDry && !flags.has('yes') && !mayAsk) {
        misused('there is no terminal to ask on: -yes does it, -dry-run says what would be done')
      }
      const recovery = await open(args)
      try {
        const { report } = recovery
        terminal.out(describe(report, styleOf(terminal)))
        if (report.isDone) {
          terminal.out(`\nThis was done already, and nothing is left to do.\n${nextSteps(report)}`)
          return exits.ok
        }
        if (report.answering.length > 0 && !flags.has('force')) {
          terminal.err(stillThere(report.answering))
          return exits.failed
        }
        if (isDry) {
          terminal.out('\nNothing was changed.\n')
          return exits.ok
        }
        if (!flags.has('yes') && !(await agrees(terminal, '\nThis cannot be undone.'))) {
          terminal.err('Nothing was changed.\n')
          return exits.failed
        }
        await recovery.perform()
        terminal.out(`\nDone.\n${nextSteps(report)}`)
        return exits.ok
      } finally {
        await recovery.close()
      }
    },
  }
}

function argumentsOf(flags: Flags): RecoverArguments {
  const paths = flags.all('config')
  const path = flags.last('data-dir')
  if ((paths.length === 0) === (path === undefined)) {
    misused('say where the data is: -config FILE|DIR, or -data-dir DIR')
  }
  const peersFile = flags.last('peers') ?? null
  if (flags.has('keep-only-self') === (peersFile !== null)) {
    misused('say who goes on: -keep-only-self, or -peers FILE')
  }
  const folder =
    path === undefined ? ({ type: 'config', paths } as const) : ({ type: 'path', path } as const)
  return { folder, peersFile }
}

function describe(report: Report, style: Style): string {
  const { before, after, lastIndex, provenIndex, isDone } = report
  const unproven = lastIndex - provenIndex
  const facts = pairs([
    ['Data folder', report.dataFolder],
    ['Server', report.serverId],
    ['Last entry', `index ${lastIndex} of term ${report.lastTerm}`],
    ['Known committed', `up to index ${provenIndex}`],
    ['Old cluster', before.clusterId],
    ...(isDone ? [] : [['New cluster', after.clusterId] as const]),
  ])
  const tail =
    unproven === 0
      ? 'All entries here are known to be committed.'
      : `${unproven} entries after that are kept, and become committed although nobody may have been told so.`
  const key = report.hasClusterKey
    ? ''
    : '\nThere is no cluster key here: give the server its server.keyring_key_file, or variables stay sealed.\n'
  return `${facts}
${members(before, after, style)}
${tail}
What the old cluster acknowledged, and the most complete of the servers that stay never got, is lost.
${key}`
}

/** Who was there, and what becomes of each. */
function members(before: Cluster, after: Cluster, style: Style): string {
  const rows = [...before.members, ...after.members.filter(({ id }) => !find(before, id))].map(
    ({ id, name, address }) => {
      const was = find(before, id)
      const will = find(after, id)
      return [
        name,
        id,
        will?.address ?? address,
        was?.role ?? '-',
        will === undefined ? { text: 'left out', paint: style.bad } : will.role,
      ]
    },
  )
  return table(style, ['Name', 'ID', 'Address', 'Now', 'Then'], rows)
}

function find({ members: all }: Cluster, id: string): Member | undefined {
  return all.find((member) => member.id === id)
}

function stillThere(answering: readonly string[]): string {
  const list = answering.map((text) => `  ${text}\n`).join('')
  return `
Something still answers at the address of another server:
${list}
Nothing was changed. If these servers can be stopped and started again, the quorum may not be lost:
start them instead. If they are survivors too, stop them first. If something else is there by now,
-force goes on.
`
}

function nextSteps({ after, serverId, hasClusterKey }: Report): string {
  const others = after.members.filter(({ id }) => id !== serverId).map(({ name }) => name)
  const steps = [
    ...(hasClusterKey ? [] : ['Give this server its cluster key.']),
    ...(others.length === 0
      ? ['Start this server. It leads by itself.']
      : [
          `Run the same on ${others.join(', ')}, with the same file.`,
          'Start them all, and this server. They elect a leader.',
        ]),
    'Look at it: muster operator raft list-peers',
    'Start new servers with empty data folders and bootstrap_expect = 0. They join by themselves.',
    'Servers left out must not be started with their old data: move their data folders away.',
  ]
  return `\nNext:\n${steps.map((step, at) => `  ${at + 1}. ${step}\n`).join('')}`
}
