/** The texts of `muster help`, of a group of commands, and of one command. */
import type { FlagTable } from './flags.ts'
import type { Verb, VerbEntry, Verbs } from './verb.ts'

/** What the words say that begin several commands. */
const groups: Readonly<Record<string, string>> = {
  acl: 'Tokens, roles and policies: who may do what',
  'acl policy': 'What tokens may do',
  'acl role': 'Policies under one name',
  'acl token': 'Who may do something',
  auth: 'Login methods: where they are mounted',
  event: 'What changes, as it changes',
  token: 'Tokens with leases',
  kv: 'Keys and values, for services to share and lock',
  session: 'Sessions, which hold locks',
  var: 'Encrypted variables',
  alloc: 'Allocations: what runs on which node',
  deployment: 'Deployments: how a version of a job replaces the one before it',
  catalog: 'Nodes and services of the cluster',
  services: 'Services of one agent',
  namespace: 'Namespaces of variables',
  node: 'Client nodes',
  operator: 'The cluster itself: consensus, snapshots, keys',
  'operator autopilot': 'How the leader looks after the servers',
  'operator raft': 'The consensus group: who is in it and who leads',
  'operator scheduler': 'Which work is placed, and which waits',
  'operator scheduler brake': 'The storm brake, which holds back the work of many lost nodes',
  'operator snapshot': 'The whole state as a file',
  'operator root': 'The keys that seal variables',
  'operator root keyring': 'The keys that seal variables',
  'operator gossip': 'The keys between gossiping members',
  'operator gossip keyring': 'The keys between gossiping members',
  gossip: 'The key between gossiping members',
  eval: 'Evaluations: what the scheduler looked at',
  job: 'Jobs, and the files they are written in',
  system: 'What the leader does by itself, by hand',
  'job periodic': 'Jobs that are started by time',
  scaling: 'How far groups of jobs are scaled',
  'scaling policy': 'How far groups of jobs are scaled, and by which rules',
  server: 'The members of the gossip pool',
  tls: 'Certificates for a cluster of its own',
  'tls ca': 'The certificate authority',
  'tls cert': 'Certificates signed by it',
}

/** The next words after `prefix`, each with its summary, sorted. Empty: no command begins with `prefix`. */
export function nextWords(verbs: Verbs, prefix: readonly string[]): ReadonlyMap<string, string> {
  const start = prefix.map((word) => `${word} `).join('')
  const found = new Map<string, string>()
  for (const [name, entry] of Object.entries(verbs).sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (!name.startsWith(start)) continue
    const [word = ''] = name.slice(start.length).split(' ')
    const whole = start + word
    if (!found.has(word) || whole === name) {
      found.set(word, whole === name ? entry.summary : (groups[whole] ?? ''))
    }
  }
  return found
}

export function groupHelp(verbs: Verbs, prefix: readonly string[]): string {
  const words = [...nextWords(verbs, prefix)]
  const top = prefix.length === 0
  if (top) words.push(['help', 'Says more about a command: muster help agent'])
  const name = ['muster', ...prefix].join(' ')
  const about = top ? '' : `${groups[prefix.join(' ')] ?? ''}\n\n`
  return `${about}Usage: ${name} <command> [options]\n\nCommands:\n${columns(words)}`
}

export function verbHelp(name: string, entry: VerbEntry, verb: Verb): string {
  const options = flagLines(verb.flags)
  const usage = ['muster', name, options === '' ? '' : '[options]', verb.operands.usage]
  const parts = [
    `${entry.summary}\n`,
    `Usage: ${usage.filter((word) => word !== '').join(' ')}\n`,
    ...(verb.about === undefined ? [] : [`${verb.about.trim()}\n`]),
    ...(options === '' ? [] : [`Options:\n${options}`]),
  ]
  return parts.join('\n')
}

function flagLines(flags: FlagTable): string {
  return columns(
    Object.entries(flags).map(([name, flag]) => [
      `-${name}${flag.value === null ? '' : ` ${flag.value}`}`,
      flag.summary,
    ]),
  )
}

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(0, ...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}\n`).join('')
}
