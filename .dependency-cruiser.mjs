/**
 * The arrows: who may import whom, also for types alone. The table of ARCHITECTURE.md as rules; `npm run arrows` or
 * `npm test -- --only arrows` checks them.
 *
 * Each row names a folder, what of ours it may import beside itself, and which packages. What a row does not name is
 * refused, so a new folder is refused until it has a row.
 */
import { readFileSync } from 'node:fs'

/** The registry's order is the law: a domain knows earlier ones, never later ones. Folders of domains, in that order. */
const domainOrder = foldersOf(
  'registry',
  'serverDomains',
  foldersOf('local-registry', 'localDomains'),
)

/** Reads the text of the list: these rules judge sources, and run none of them. `spread`: folders of the list it ends with. */
function foldersOf(file, list, spread = []) {
  const text = readFileSync(new URL(`./src/domains/${file}.ts`, import.meta.url), 'utf8')
  const imports = text.matchAll(/^import \{ (\w+) \} from '[.]\/([a-z-]+)\/[a-z-]*domain[.]ts'$/gm)
  const folders = new Map(Array.from(imports, ([, name, folder]) => [name, folder]))
  const [, items] =
    text.match(new RegExp(`^export const ${list}: [^=]*= \\[\\n(.*?)^\\]`, 'ms')) ?? []
  const named = Array.from(items?.matchAll(/^ {2}(\w+),$/gm) ?? [], ([, name]) => folders.get(name))
  if (named.length !== folders.size || named.includes(undefined)) {
    throw new Error(
      `src/domains/${file}.ts: ${list} does not name the domains that it imports, a line each`,
    )
  }
  return [...new Set([...named, ...spread])]
}

/** `keyring-model.ts` is a model too: a domain may hold a second thing with the same roles. */
const stateRoles = '[a-z-]*(model|table|commands|queries)[.]ts$'
const anyPackage = ['.']
const noPackage = []

/** What other folders see of Raft: its entry point, its contracts, the words of the protocol. */
const raftContracts = [
  '^src/raft/(raft|state-machine)[.]ts$',
  '^src/raft/core/message[.]ts$',
  '^src/raft/transport/transport[.]ts$',
]

const belowServer = ['^src/(lib|wire|fsm|rpc|api|metrics|domains|gossip|gossip-pool|runtime)/']

const rows = [
  { name: 'lib', from: '^src/lib/', ours: [], packages: noPackage },
  {
    name: 'raft-core',
    from: '^src/raft/core/',
    ours: ['^src/lib/'],
    packages: noPackage,
    pure: true,
  },
  {
    name: 'gossip-core',
    from: '^src/gossip/core/',
    ours: ['^src/lib/'],
    packages: noPackage,
    pure: true,
  },
  {
    name: 'raft-transport',
    from: '^src/raft/transport/',
    ours: ['^src/raft/', '^src/lib/', '^src/wire/'],
    packages: anyPackage,
  },
  {
    name: 'raft',
    from: '^src/raft/(?!core/|transport/)',
    ours: ['^src/raft/', '^src/lib/'],
    packages: anyPackage,
  },
  {
    name: 'gossip',
    from: '^src/gossip/(?!core/)',
    ours: ['^src/gossip/', '^src/lib/'],
    packages: anyPackage,
  },
  { name: 'wire', from: '^src/wire/', ours: ['^src/lib/'], packages: anyPackage },
  {
    name: 'fsm',
    from: '^src/fsm/',
    ours: ['^src/lib/', ...raftContracts],
    packages: ['level', 'classic-level', 'abstract-level', 'msgpackr', 'typebox'],
  },
  { name: 'metrics', from: '^src/metrics/', ours: ['^src/lib/'], packages: ['prom-client'] },
  {
    name: 'rpc',
    from: '^src/rpc/',
    ours: ['^src/lib/', '^src/fsm/', '^src/wire/'],
    packages: anyPackage,
  },
  {
    name: 'api',
    from: '^src/api/',
    ours: ['^src/lib/', '^src/rpc/'],
    packages: ['fastify', '@fastify', 'ws', 'typebox'],
  },
  ...domainOrder.flatMap(domainRows),
  {
    name: 'scheduler',
    from: '^src/scheduler/',
    ours: [
      '^src/lib/',
      '^src/domains/(nodes|jobs|evaluations|deployments|allocations|scheduler-settings)/[a-z-]*model[.]ts$',
    ],
    packages: noPackage,
    pure: true,
  },
  {
    name: 'domains-define',
    from: '^src/domains/define[.]ts$',
    ours: ['^src/lib/', '^src/fsm/'],
    packages: ['typebox'],
  },
  {
    name: 'domains-duty',
    from: '^src/domains/duty[.]ts$',
    ours: ['^src/lib/', '^src/fsm/domain[.]ts$', '^src/rpc/', '^src/domains/host[.]ts$'],
    packages: noPackage,
  },
  {
    name: 'domains-domain',
    from: '^src/domains/(domain|host)[.]ts$',
    ours: [
      '^src/(lib|fsm|rpc|api)/',
      '^src/metrics/metrics[.]ts$',
      '^src/domains/(duty|host)[.]ts$',
      '^src/domains/events/topic[.]ts$',
      '^src/domains/logins/mounted-routes[.]ts$',
      '^src/domains/namespaces/tenant-model[.]ts$',
    ],
    packages: noPackage,
  },
  {
    name: 'domains-registry',
    from: '^src/domains/((local-)?registry|server-parts)[.]ts$',
    ours: ['^src/lib/', '^src/fsm/', '^src/rpc/', '^src/api/', '^src/domains/'],
    packages: noPackage,
  },
  {
    name: 'gossip-pool',
    from: '^src/gossip-pool/',
    ours: [
      '^src/(lib|gossip)/',
      '^src/runtime/identity[.]ts$',
      '^src/domains/(members|user-events)/',
    ],
    packages: noPackage,
  },
  {
    name: 'runtime',
    from: '^src/runtime/',
    ours: ['^src/(lib|api|domains|gossip|metrics)/'],
    packages: noPackage,
  },
  {
    name: 'server',
    from: '^src/server/(?!consensus-stack[.]ts$)',
    ours: [
      '^src/server/',
      ...belowServer,
      ...raftContracts,
      '^src/raft/quorum-recovery[.]ts$',
      '^src/raft/storage/log-store[.]ts$',
    ],
    packages: anyPackage,
  },
  {
    // Alone makes a log, a transport and a node.
    name: 'server-consensus-stack',
    from: '^src/server/consensus-stack[.]ts$',
    ours: ['^src/server/', ...belowServer, '^src/raft/(?!core/)', '^src/raft/core/message[.]ts$'],
    packages: anyPackage,
  },
  {
    name: 'client-agent',
    from: '^src/client-agent/',
    ours: ['^src/(lib|rpc|api|metrics|domains|gossip|gossip-pool|runtime)/'],
    packages: ['ws', 'typebox'],
  },
  { name: 'tls', from: '^src/tls/', ours: ['^src/lib/'], packages: ['selfsigned'] },
  {
    name: 'cli',
    from: '^src/cli/',
    ours: [
      '^src/(lib|tls)/',
      '^src/domains/[^/]+/model[.]ts$',
      // A format of files that people hold in their hands: snapshots to inspect.
      '^src/domains/operator/archive[.]ts$',
    ],
    packages: anyPackage,
  },
  {
    name: 'process',
    from: '^src/process/',
    ours: ['^src/(lib|tls|server|client-agent|runtime|gossip-pool)/'],
    packages: ['typebox'],
  },
  {
    name: 'main',
    from: '^src/main[.]ts$',
    ours: ['^src/(lib|process|cli|server|client-agent)/'],
    packages: noPackage,
  },
]

/** One domain: its state files are deterministic and know no method; its methods know no route. */
function domainRows(domain, position) {
  const own = `^src/domains/${domain}/`
  const earlier = domainOrder.slice(0, position)
  const others = earlier.length === 0 ? [] : [`^src/domains/(${earlier.join('|')})/`]
  const issuers = earlier.filter((name) => ['entities', 'acl', 'logins'].includes(name))
  const methodsOf = issuers.map((name) => `^src/domains/${name}/(methods|issue)[.]ts$`)
  // What a login method plugs into.
  const isLogin = earlier.includes('logins')
  // The one caller of the pure scheduler, with what it works on.
  if (domain === 'scheduling') methodsOf.push('^src/scheduler/')
  // A dry run takes the jobs that a registration takes.
  if (domain === 'scheduling') methodsOf.push('^src/domains/jobs/(registered-methods|zones)[.]ts$')
  // A job is not scaled while it is deployed.
  if (domain === 'jobs') methodsOf.push('^src/domains/deployments/(model|queries)[.]ts$')
  // A stop of what has ended has its job looked at.
  if (domain === 'allocations') methodsOf.push('^src/domains/jobs/commands[.]ts$')
  // Its duty is the work that marks in the state stand for.
  if (domain === 'cascades') methodsOf.push('^src/fsm/fact[.]ts$')
  if (domain === 'logins') methodsOf.push('^src/domains/acl/(login-grant|vault-paths)[.]ts$')
  if (isLogin) {
    methodsOf.push('^src/domains/logins/(at-mount|freshness|guard|login-type|secrets)[.]ts$')
    methodsOf.push('^src/domains/acl/bound-cidrs[.]ts$')
  }
  // One machine's part of the catalog: it shows, reads and parses what the catalog does.
  const whole = domain === 'local-services' ? '^src/domains/catalog/(?!domain[.]ts$)' : null
  return [
    {
      name: `${domain}-state`,
      from: own + stateRoles,
      ours: [
        '^src/lib/',
        '^src/fsm/',
        '^src/domains/define[.]ts$',
        own + stateRoles,
        ...others.map((path) => path + stateRoles),
      ],
      packages: ['typebox'],
      self: false,
    },
    {
      name: `${domain}-routes`,
      from: `${own}[a-z-]*routes[.]ts$`,
      ours: [
        own,
        '^src/api/',
        '^src/lib/',
        '^src/rpc/services[.]ts$',
        ...others.map((path) => `${path}[a-z-]*(shown|shapes)[.]ts$`),
        ...(isLogin ? ['^src/domains/logins/mounted-routes[.]ts$'] : []),
        // Token parameters in a body are read, and refused, in one place.
        ...(isLogin || domain === 'logins' ? ['^src/domains/acl/token-fields-routes[.]ts$'] : []),
        ...(whole === null ? [] : [whole]),
      ],
      packages: ['typebox'],
    },
    {
      // Schemas of what routes take and answer: data, which no method needs.
      name: `${domain}-shapes`,
      from: `${own}[a-z-]*shapes[.]ts$`,
      ours: [
        '^src/api/shape[.]ts$',
        `${own}[a-z-]*(model|shapes)[.]ts$`,
        ...others.map((path) => `${path}[a-z-]*(model|shapes)[.]ts$`),
      ],
      packages: ['typebox'],
      self: false,
    },
    {
      name: `${domain}-domain`,
      from: `${own}[a-z-]*domain[.]ts$`,
      ours: [
        own,
        '^src/(lib|rpc|api)/',
        '^src/domains/(define|domain|duty|host)[.]ts$',
        ...others.map((path) => `${path}(?![a-z-]*domain[.]ts$)`),
      ],
      packages: noPackage,
    },
    {
      name: `${domain}-methods`,
      from: `${own}(?![a-z-]*(model|table|commands|queries|routes|shapes|domain)[.]ts$)`,
      ours: [
        `${own}(?![a-z-]*(routes|shapes|domain)[.]ts$)`,
        '^src/domains/(duty|host)[.]ts$',
        '^src/metrics/metrics[.]ts$',
        '^src/rpc/',
        '^src/lib/',
        '^src/fsm/domain[.]ts$',
        ...others.map((path) => `${path}[a-z-]*(model|queries|services)[.]ts$`),
        ...methodsOf,
        ...(whole === null ? [] : [whole]),
      ],
      packages: anyPackage,
      self: false,
    },
  ]
}

function rules(row) {
  // The state roles and methods of a domain share its folder, so a folder is not always open to itself.
  const own = row.self === false ? [] : [row.from]
  const allowed = [...row.ours, ...own]
  const made = [
    {
      name: `${row.name}-imports`,
      severity: 'error',
      from: { path: row.from },
      to: { path: '^(src|test|scripts)/', pathNot: allowed },
    },
  ]
  if (row.packages !== anyPackage) {
    made.push({
      name: `${row.name}-packages`,
      severity: 'error',
      from: { path: row.from },
      to: {
        path: '(^|/)node_modules/',
        pathNot: row.packages.map((name) => `(^|/)node_modules/${name}/`),
      },
    })
  }
  if (row.pure === true) {
    made.push({
      name: `${row.name}-is-pure`,
      comment: 'A core has no I/O, no clock and no randomness of its own.',
      severity: 'error',
      from: { path: row.from },
      to: { dependencyTypes: ['core'] },
    })
  }
  return made
}

/** Every file of src must be covered by a row. */
const covered = rows.map((row) => row.from)

export default {
  forbidden: [
    ...rows.flatMap(rules),
    {
      name: 'no-cycles',
      comment: 'Also none of types alone: two files that need each other are one idea or three.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'folder-without-arrows',
      comment: 'Give the folder a row in .dependency-cruiser.mjs and in ARCHITECTURE.md.',
      severity: 'error',
      from: { path: '^src/', pathNot: covered },
      to: {},
    },
    {
      name: 'not-resolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'nothing-imports-tests',
      comment: 'The simulator and the fault runs live in test and have an entry point in scripts.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|scripts)/' },
    },
    {
      name: 'fast-check-with-a-seed',
      comment:
        'Import test/support/fast-check.ts: the gate repeats one seed, the long part prints its own.',
      severity: 'error',
      from: { path: '^test/', pathNot: '^test/support/fast-check[.]ts$' },
      to: { path: 'node_modules/fast-check/', dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.mjs', '.js', '.json'],
      exportsFields: ['exports'],
      conditionNames: ['node', 'import', 'types'],
    },
  },
}
