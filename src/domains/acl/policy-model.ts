/**
 * The policy language: text to checked rules. A rule says of things of one family, named by a pattern, which
 * capabilities its holder has, or that it has none. `docs/access-control.md` is the reference for people.
 */
import { MusterError } from '../../lib/errors.ts'
import { isNamespaceName } from '../namespaces/model.ts'
import { familyNames, foldName, isFamily, rulesOf, type Family } from './capabilities-model.ts'
import { warningsOf } from './other-path-model.ts'
import { isReadByAll, patternOfPath } from './path-pattern-model.ts'
import { patternLengthMax, patternOf, starsMax, type Pattern } from './pattern-model.ts'
import {
  parsePolicySource,
  refuse,
  type SourceBlock,
  type SourceBody,
  type SourceValue,
} from './policy-source-model.ts'

export const rulesMax = 2_000

export type Rule = {
  readonly family: Family
  /** Of scoped families; null for the others. */
  readonly namespace: Pattern | null
  readonly pattern: Pattern
  /** None when it denies. */
  readonly capabilities: readonly string[]
  readonly deny: boolean
  /** `line 3`, for explanations. */
  readonly where: string
}

/** Consul's rules for what this program does not have. They are checked like others, and say nothing of anything. */
const withoutEffect = new Set(['identity', 'mesh', 'peering', 'query'])
const namedWithoutEffect = new Set(['identity', 'query'])
const wordsWithoutEffect: readonly unknown[] = ['read', 'write', 'deny']

/** Of `keyring`, and of rules that have no effect here. */
const laterRulesVersion = 3

const everything = patternOf('*')

/** Rules outside of a namespace's block are for the one that is always there. */
const defaultScope = patternOf('default')

/** Of `namespace` blocks: what may stand inside beside policy and capabilities. */
const nested = ['key', 'service', 'session'] as const satisfies readonly Family[]

/** Throws `invalid_argument` with the place and what would be right, `too_large` for a text or a number of rules over its bound. */
export function parsePolicy(text: string): readonly Rule[] {
  const rules: Rule[] = []
  const { values, blocks } = parsePolicySource(text)
  for (const [name, value] of values) {
    if (withoutEffect.has(name)) checkWithoutEffect(name, value)
    else rules.push(wordRule(name, value))
  }
  for (const block of blocks) rules.push(...blockRules(block))
  if (rules.length > rulesMax) {
    throw new MusterError(
      'too_large',
      `a policy has at most ${rulesMax} rules, this one has ${rules.length}: use patterns, or several policies`,
    )
  }
  return rules
}

/** Which rules of a policy that `parsePolicy` takes have no effect, and what to write instead. */
export function warningsOfPolicy(text: string): readonly string[] {
  const { blocks } = parsePolicySource(text)
  const paths = blocks.filter(({ kind }) => kind === 'path')
  return warningsOf(
    paths.flatMap(({ labels: [label = ''], where }) =>
      patternOfPath(label, where) === null ? [label] : [],
    ),
  )
}

/** A rule, and the command version from which on every server reads it. */
export type NewRule = { readonly word: string; readonly version: number }

const pathRulesVersion = 6
const loginRulesVersion = 7
const laterAuthVersion = 14

/** Capabilities that `auth` rules of before did not have. */
const laterAuth = ['delete', 'sudo']

/** The newest rule of a policy. A server that does not know it refuses the whole policy. null: all versions know all its rules. */
export function newestRuleOf(text: string): NewRule | null {
  const { values, blocks } = parsePolicySource(text)
  const words = [...values.keys(), ...blocks.map(({ kind }) => kind)].flatMap((word) => {
    const version = versionOf(word.replace(/_prefix$/, ''))
    return version === null ? [] : { word, version }
  })
  const everywhere = [...blocks, ...blocks.flatMap(({ body }) => body.blocks)]
  if (everywhere.some(({ body }) => body.values.has('intentions'))) {
    words.push({ word: 'intentions', version: laterRulesVersion })
  }
  words.push(...blocks.flatMap(laterWords))
  return words.toSorted((left, right) => right.version - left.version)[0] ?? null
}

/** Of a word that stands outside of all blocks; null: the first one. */
function versionOf(word: string): number | null {
  if (word === 'login') return loginRulesVersion
  if (word === 'path') return pathRulesVersion
  return word === 'keyring' || withoutEffect.has(word) ? laterRulesVersion : null
}

/** What a block that older servers know has inside that they refuse. */
function laterWords({ kind, labels, body, where }: SourceBlock): readonly NewRule[] {
  const [label = ''] = labels
  if (kind === 'path' && !isReadByAll(label, where)) {
    return [{ word: `path ${JSON.stringify(label.slice(0, 64))}`, version: laterAuthVersion }]
  }
  const given = body.values.get('capabilities')?.value
  if (!/^auth(?:_prefix)?$/.test(kind) || !Array.isArray(given)) return []
  return laterAuth
    .filter((name) => given.includes(name) || given.includes(`auth:${name}`))
    .map((word) => ({ word, version: laterAuthVersion }))
}

/** `operator = "read"` */
function wordRule(name: string, value: SourceValue): Rule {
  const { where } = value
  if (!isFamily(name) || name === 'variables') return refuse(where, unknownRule(name))
  if (rulesOf(name).named) {
    return refuse(where, `${name} is a block: ${name} "name" { policy = "read" }`)
  }
  return {
    family: name,
    namespace: null,
    pattern: everything,
    where,
    ...granted(name, new Map([['policy', value]]), where),
  }
}

function blockRules(block: SourceBlock): readonly Rule[] {
  const { kind, where } = block
  if (kind === 'namespace' || kind === 'namespace_prefix') return namespaceRules(block)
  if (isWithoutEffect(kind)) {
    checkBlockWithoutEffect(block)
    return []
  }
  if (kind === 'path') return pathRules(block)
  const { family, prefix } = familyOf(kind, where)
  if (family === 'variables') {
    return refuse(where, 'variables stands inside of a namespace block: namespace "default" { … }')
  }
  return [ruleOf(block, family, prefix, rulesOf(family).scoped ? defaultScope : null)]
}

/** Whether rules of this kind say nothing of anything. */
export function isWithoutEffect(kind: string): boolean {
  return withoutEffect.has(kind.replace(/_prefix$/, ''))
}

/**
 * As Vault writes rules: `path "auth/ldap/*" { capabilities = ["read"] }`. A path that nothing here asks a right for
 * has none: its rule would give nothing and deny nothing, and policies of Vault are full of them (`warningsOfPolicy`).
 */
function pathRules({ labels, body, where }: SourceBlock): readonly Rule[] {
  const label = oneLabel('path', labels, where)
  if (label === null) return refuse(where, 'path needs a name: path "auth/ldap/*"')
  const pattern = patternOfPath(label, where)
  refuseOthers(body, pattern === null ? pathMembers : ['capabilities'], 'path', pattern === null)
  const list = body.values.get('capabilities')
  if (pattern === null && list === undefined) return []
  if (list === undefined || !Array.isArray(list.value)) {
    return refuse(
      where,
      `capabilities must be a list of ${Object.keys(pathCapabilities).join(', ')}`,
    )
  }
  const capabilities = new Set<string>()
  for (const given of list.value) {
    if (!Object.hasOwn(pathCapabilities, given)) {
      refuse(
        list.where,
        `no capability ${JSON.stringify(given.slice(0, 64))} of a path: they are ${Object.keys(pathCapabilities).join(', ')}`,
      )
    }
    for (const capability of pathCapabilities[given] ?? []) capabilities.add(capability)
  }
  if (pattern === null) return []
  const deny = list.value.includes('deny')
  return [
    {
      family: 'auth',
      namespace: null,
      pattern: checked(pattern, where),
      capabilities: deny ? [] : [...capabilities],
      deny,
      where,
    },
  ]
}

/** Of Vault's rules. All but the capabilities narrow what a rule allows, so they are refused where a rule has an effect. */
const pathMembers = [
  'capabilities',
  'policy',
  'allowed_parameters',
  'denied_parameters',
  'required_parameters',
  'min_wrapping_ttl',
  'max_wrapping_ttl',
  'control_group',
  'mfa_methods',
]

/** What makes and changes is one right here. */
const pathCapabilities: Readonly<Record<string, readonly string[]>> = {
  create: ['write'],
  update: ['write'],
  patch: ['write'],
  delete: ['delete'],
  read: ['read'],
  list: ['list'],
  sudo: ['sudo'],
  deny: [],
}

function checkWithoutEffect(name: string, { value, where }: SourceValue): void {
  if (namedWithoutEffect.has(name)) {
    refuse(where, `${name} is a block: ${name} "name" { policy = "read" }`)
  }
  checkWordWithoutEffect('policy', value, where)
}

function checkBlockWithoutEffect({ kind, labels, body, where }: SourceBlock): void {
  const word = kind.replace(/_prefix$/, '')
  if (!namedWithoutEffect.has(word)) {
    refuse(where, `${kind} is not a block: ${word} = "read"`)
  }
  const label = oneLabel(kind, labels, where)
  if (label === null) refuse(where, `${kind} needs a name`)
  refuseOthers(body, word === 'identity' ? ['policy', 'intentions'] : ['policy'], kind)
  if (!body.values.has('policy')) refuse(where, `this rule says nothing: ${kind} has a policy`)
  for (const [name, value] of body.values) checkWordWithoutEffect(name, value.value, value.where)
}

function checkWordWithoutEffect(name: string, value: unknown, where: string): void {
  if (wordsWithoutEffect.includes(value)) return
  refuse(where, `${name} must be one of ${wordsWithoutEffect.join(', ')}`)
}

function familyOf(
  kind: string,
  where: string,
): { readonly family: Family; readonly prefix: boolean } {
  const prefix = kind.endsWith('_prefix')
  const word = prefix ? kind.slice(0, -'_prefix'.length) : kind
  if (!isFamily(word)) return refuse(where, unknownRule(kind))
  return { family: word, prefix }
}

function ruleOf(
  { kind, labels, body, where }: SourceBlock,
  family: Family,
  prefix: boolean,
  namespace: Pattern | null,
): Rule {
  const known = ['policy', 'capabilities']
  const intentions = family === 'service' ? body.values.get('intentions') : undefined
  if (intentions !== undefined) {
    // Of Consul's service mesh.
    checkWordWithoutEffect('intentions', intentions.value, intentions.where)
    known.push('intentions')
  }
  refuseOthers(body, known, kind)
  const label = oneLabel(kind, labels, where)
  return {
    family,
    namespace,
    pattern: patternFor(family, label, prefix, where),
    where,
    ...granted(family, body.values, where),
  }
}

function patternFor(family: Family, label: string | null, prefix: boolean, where: string): Pattern {
  if (label === null) {
    if (prefix) return refuse(where, `${family}_prefix needs a name: ${family}_prefix "" is all`)
    return everything
  }
  if (!rulesOf(family).named && label !== '*' && !(prefix && label === '')) {
    return refuse(where, `${family} rules are for all of them: leave ${JSON.stringify(label)} out`)
  }
  return checkedPattern(foldName(family, label) + (prefix ? '*' : ''), where)
}

function checkedPattern(text: string, where: string): Pattern {
  return checked(patternOf(text), where)
}

function checked(pattern: Pattern, where: string): Pattern {
  if (pattern.text.length > patternLengthMax || pattern.pieces.length - 1 > starsMax) {
    return refuse(where, `a name has at most ${patternLengthMax} letters and ${starsMax} stars`)
  }
  return pattern
}

/** A block with a namespace's capabilities, and with rules for what lives in it. */
function namespaceRules(block: SourceBlock): readonly Rule[] {
  const { kind, labels, body, where } = block
  const label = oneLabel(kind, labels, where)
  if (label === null) return refuse(where, `${kind} needs a name: namespace "*" is all of them`)
  if (!isNamespaceName(label.replaceAll('*', 'x')) && label !== '') {
    return refuse(where, 'a namespace is letters, digits, hyphens, and * in patterns')
  }
  const scope = checkedPattern(label + (kind === 'namespace' ? '' : '*'), where)
  refuseOthers(body, ['policy', 'capabilities'], kind, true)
  const inside = body.blocks.flatMap((child) => nestedRules(child, scope))
  const bare = !body.values.has('policy') && !body.values.has('capabilities')
  if (bare && inside.length === 0)
    return refuse(where, `this block says nothing: ${oneOf('namespace')}`)
  const grant = bare ? { capabilities: [], deny: false } : granted('namespace', body.values, where)
  const opens = grant.capabilities.length > 0 || inside.some((rule) => !rule.deny)
  const capabilities = opens && !grant.deny ? withImplied(grant.capabilities) : grant.capabilities
  const own: Rule = {
    family: 'namespace',
    namespace: null,
    pattern: scope,
    capabilities,
    deny: grant.deny,
    where,
  }
  return [own, ...inside]
}

/**
 * A caller with a right in a namespace may know that the namespace exists, and one that may submit a job may have its
 * file read, and scale it. One that may read a job may read how it was scaled, and one that may list jobs too may read the policies
 * of their groups.
 */
function withImplied(capabilities: readonly string[]): readonly string[] {
  const implied = ['read']
  if (capabilities.includes('submit-job')) implied.push('parse-job', 'scale-job')
  if (capabilities.includes('read-job')) {
    implied.push('read-job-scaling')
    if (capabilities.includes('list-jobs')) {
      implied.push('list-scaling-policies', 'read-scaling-policy')
    }
  }
  return [...implied.filter((name) => !capabilities.includes(name)), ...capabilities]
}

function nestedRules(block: SourceBlock, scope: Pattern): readonly Rule[] {
  const { kind, labels, body, where } = block
  if (kind !== 'variables') {
    const { family, prefix } = familyOf(kind, where)
    if (!nested.some((name) => name === family)) {
      return refuse(
        where,
        `${kind} has no place in a namespace; ${nested.join(', ')} and variables have`,
      )
    }
    return [ruleOf(block, family, prefix, scope)]
  }
  if (labels.length > 0)
    return refuse(where, 'variables has no name: variables { path "app/*" { … } }')
  refuseOthers(body, [], kind, true)
  return body.blocks.flatMap((child) => {
    if (child.kind !== 'path') return refuse(child.where, 'variables has blocks path "app/*" { … }')
    if (child.labels.length === 0) return refuse(child.where, 'path needs a name: path "*" is all')
    return [ruleOf(child, 'variables', false, scope)]
  })
}

function granted(
  family: Family,
  values: SourceBody['values'],
  where: string,
): { readonly capabilities: readonly string[]; readonly deny: boolean } {
  const word = values.get('policy')
  const list = values.get('capabilities')
  if (word === undefined && list === undefined) {
    return refuse(where, `this rule says nothing: ${oneOf(family)}`)
  }
  const capabilities = new Set<string>()
  let deny = false
  if (word !== undefined) {
    const { words } = rulesOf(family)
    if (word.value === 'deny') deny = true
    else if (typeof word.value === 'string' && Object.hasOwn(words, word.value)) {
      for (const capability of words[word.value] ?? []) capabilities.add(capability)
    } else {
      refuse(word.where, `policy must be one of ${[...Object.keys(words), 'deny'].join(', ')}`)
    }
  }
  if (list !== undefined) {
    if (!Array.isArray(list.value)) refuse(list.where, 'capabilities must be a list of texts')
    for (const given of list.value ?? []) {
      const name = given.startsWith(`${family}:`) ? given.slice(family.length + 1) : given
      if (name === 'deny') deny = true
      else if (rulesOf(family).capabilities.includes(name)) capabilities.add(name)
      else
        refuse(list.where, `no capability ${JSON.stringify(given.slice(0, 64))}: ${oneOf(family)}`)
    }
  }
  // Who may write may delete, but for what `path` rules say.
  if (family === 'auth' && capabilities.has('write')) capabilities.add('delete')
  // As Nomad has it: who may read a variable may see that it is there.
  if (family === 'variables' && capabilities.has('read')) capabilities.add('list')
  return { capabilities: deny ? [] : [...capabilities], deny }
}

function oneOf(family: Family): string {
  const { words, capabilities } = rulesOf(family)
  return `policy is one of ${[...Object.keys(words), 'deny'].join(', ')}; capabilities are of ${[...new Set(capabilities), 'deny'].join(', ')}`
}

function oneLabel(kind: string, labels: readonly string[], where: string): string | null {
  if (labels.length > 1) return refuse(where, `${kind} has one name, not ${labels.length}`)
  return labels[0] ?? null
}

function refuseOthers(
  { values, blocks }: SourceBody,
  known: readonly string[],
  kind: string,
  blocksToo = false,
): void {
  for (const [name, { where }] of values) {
    if (!known.includes(name)) {
      refuse(
        where,
        `${kind} has no ${name}${known.length === 0 ? '' : `; it has ${known.join(' and ')}`}`,
      )
    }
  }
  const [first] = blocks
  if (!blocksToo && first !== undefined) {
    refuse(first.where, `${kind} has no block ${first.kind}`)
  }
}

function unknownRule(word: string): string {
  const known = familyNames.filter((name) => name !== 'variables').join(', ')
  return `there are no rules for ${JSON.stringify(word.slice(0, 64))}; there are for ${known}`
}
