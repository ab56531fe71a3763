/** What rules speak of, and what their coarse words stand for. The one list of capabilities there is. */

export type Family = keyof typeof families

type FamilyRules = {
  /** Whether a rule names the things it is for; else it is for all of them. */
  readonly named: boolean
  /** Whether the things live in namespaces. */
  readonly scoped: boolean
  /** Names match in any letter case. */
  readonly folded: boolean
  readonly capabilities: readonly string[]
  /** By the word of `policy`; `deny` is one of all families. */
  readonly words: Readonly<Record<string, readonly string[]>>
}

const readOnly = ['list', 'read'] as const
const readWrite = ['list', 'read', 'write'] as const
/** Most things: who may read may list. */
const usual = {
  capabilities: readWrite,
  words: { list: ['list'], read: readOnly, write: readWrite },
} as const

const readNamespace = [
  'read',
  'list-jobs',
  'parse-job',
  'read-job',
  'list-scaling-policies',
  'read-scaling-policy',
  'read-job-scaling',
] as const
const scaleNamespace = [
  'read',
  'list-scaling-policies',
  'read-scaling-policy',
  'read-job-scaling',
  'scale-job',
] as const
const writeNamespace = [
  ...readNamespace,
  'scale-job',
  'submit-job',
  'dispatch-job',
  'read-logs',
  'read-fs',
  'alloc-exec',
  'alloc-lifecycle',
] as const

const variables = ['list', 'read', 'write', 'destroy'] as const

export const families = {
  acl: { named: false, scoped: false, folded: false, ...usual },
  agent: { named: false, scoped: false, folded: false, ...usual },
  // No word holds `sudo`: a rule gives it by name.
  auth: {
    named: true,
    scoped: false,
    folded: false,
    capabilities: [...readWrite, 'delete', 'sudo'],
    words: { ...usual.words, write: [...readWrite, 'delete'] },
  },
  event: { named: true, scoped: false, folded: false, ...usual },
  // Reading a key and reading the keys below it are one, as a list says whatever a read says.
  key: {
    named: true,
    scoped: true,
    folded: false,
    capabilities: readWrite,
    words: { list: readOnly, read: readOnly, write: readWrite },
  },
  keyring: { named: false, scoped: false, folded: false, ...usual },
  // By the path of a mounted login method.
  login: {
    named: true,
    scoped: false,
    folded: false,
    capabilities: ['explain'],
    words: { explain: ['explain'] },
  },
  namespace: {
    named: true,
    scoped: false,
    folded: false,
    capabilities: [...writeNamespace, 'alloc-node-exec', 'submit-recommendation'],
    words: {
      list: ['list-jobs'],
      read: readNamespace,
      scale: scaleNamespace,
      write: writeNamespace,
    },
  },
  node: { named: true, scoped: false, folded: true, ...usual },
  operator: { named: false, scoped: false, folded: false, ...usual },
  service: { named: true, scoped: true, folded: true, ...usual },
  session: { named: true, scoped: true, folded: true, ...usual },
  variables: {
    named: true,
    scoped: true,
    folded: false,
    capabilities: variables,
    words: { list: ['list'], read: readOnly, write: variables },
  },
} as const satisfies Readonly<Record<string, FamilyRules>>

export function rulesOf(family: Family): FamilyRules {
  return families[family]
}

export const familyNames = Object.keys(families) as readonly Family[]

export function isFamily(word: string): word is Family {
  return Object.hasOwn(families, word)
}

/** A name as rules and requirements of its family compare it. */
export function foldName(family: Family, name: string): string {
  return rulesOf(family).folded ? name.toLowerCase() : name
}
