/**
 * The one table from what a request requires to the rule that grants it. Every method says its requirement; whether a
 * token's rules satisfy it is decided here and nowhere else.
 */
import type { Requirement } from '../../rpc/method.ts'
import { defaultNamespace } from '../namespaces/model.ts'
import type { Target, RuleSet, Sourced } from './rule-set-model.ts'
import type { Family } from './capabilities-model.ts'

/** Characters of a name that a refusal repeats. */
export const nameShownMax = 256

/** Null: nothing is asked for. */
export type Question = {
  readonly target: Target
  readonly capability: string
  /** Whether the default policy may grant it where no rule says anything. */
  readonly byDefault: boolean
} | null

type Resource = Requirement['resource']
type Of<Name extends Resource> = Extract<Requirement, { readonly resource: Name }>

/** One row per resource: the rules that are asked, about which name, and for which capability. */
// oxfmt-ignore
const table: { readonly [Name in Resource]: (requirement: Of<Name>) => Question } = {
  none:      () => null,
  // A caller who may change tokens may do everything: no default gives that away.
  acl:       ({ access })                     => ({ ...about('acl', '', access), byDefault: false }),
  agent:     ({ access })                     => about('agent', '', access),
  auth:      ({ path, access })               => atPath(path, access),
  event:     ({ event, access })              => orAll('event', event, access),
  key:       ({ namespace, key, access, prefix }) => inside('key', namespace, key, access, prefix),
  keyring:   ({ access })                     => about('keyring', '', access),
  // It tests passwords: no default gives that away.
  login:     ({ mount, access })              => ({ ...about('login', mount, access), byDefault: false }),
  namespace: ({ namespace, access })          => about('namespace', namespace, access),
  node:      ({ node, access })               => orAll('node', node, access),
  operator:  ({ access })                     => about('operator', '', access),
  service:   ({ namespace, service, access }) => inside('service', namespace, service, access),
  session:   ({ namespace, node, access })    => inside('session', namespace, node, access),
  variables: ({ namespace, path, access })    => inside('variables', namespace, path, access),
}

function about(family: Family, name: string, capability: string) {
  return { target: { family, namespace: null, name, below: false }, capability, byDefault: true }
}

/**
 * Who may say how logins work, or has the tokens of others, gets any policy that way: no default gives that away. What remains is
 * what a token does to itself.
 */
function atPath(path: string, access: Of<'auth'>['access']): Question {
  const byDefault = ownToken.get(path) === access
  const question = { ...about('auth', path, access), byDefault }
  if (access !== 'list') return question
  return { ...question, target: { ...question.target, listed: `${path}/` } }
}

const ownToken: ReadonlyMap<string, Of<'auth'>['access']> = new Map([
  ['token/lookup-self', 'read'],
  ['token/renew-self', 'write'],
  ['token/revoke-self', 'write'],
])

/** Families of which the default policy gives next to nothing. */
const closedFamilies: ReadonlySet<Family> = new Set(['acl', 'auth', 'login'])

/** Whether the default policy may give something of a family to a caller without a rule. */
export function opensByDefault(family: Family, defaultPolicy: DefaultPolicy): boolean {
  return defaultPolicy === 'allow' && !closedFamilies.has(family)
}

/** Without a name: all of them, so nothing may be held back. */
function orAll(family: Family, name: string | undefined, capability: string) {
  const target = { family, namespace: null, name: name ?? '', below: name === undefined }
  return { target, capability, byDefault: true }
}

function inside(
  family: Family,
  namespace: string,
  name: string,
  capability: string,
  below = false,
) {
  return { target: { family, namespace, name, below }, capability, byDefault: true }
}

export function questionOf(requirement: Requirement): Question {
  return table[requirement.resource](requirement as never)
}

export type DefaultPolicy = 'allow' | 'deny'

/** Where no rule is for the gossip keyring, it belongs to those who may write the agent. */
function questionTo(rules: RuleSet, requirement: Requirement): Question {
  const question = questionOf(requirement)
  if (requirement.resource !== 'keyring' || question === null) return question
  if (rules.judge(question.target, question.capability) !== null) return question
  return questionOf({ resource: 'agent', access: 'write' })
}

export function isAllowed(
  rules: RuleSet,
  requirement: Requirement,
  defaultPolicy: DefaultPolicy,
): boolean {
  const question = questionTo(rules, requirement)
  if (question === null) return true
  const verdict = rules.judge(question.target, question.capability)
  if (verdict === null) return question.byDefault && defaultPolicy === 'allow'
  return verdict === 'granted'
}

/** `key:write`, as policies and documents name it. */
export function capabilityName({ target, capability }: NonNullable<Question>): string {
  return `${target.family}:${capability}`
}

/** `'key:write' on "app/x"`, as a refusal names it; with a star: all below. */
export function missingText(requirement: Requirement): string {
  const question = questionOf(requirement)
  if (question === null) return ''
  const { name, below, namespace } = question.target
  const shown = `${name.slice(0, nameShownMax)}${below ? '*' : ''}`
  const on = shown === '' ? '' : ` on ${JSON.stringify(shown)}`
  const inside =
    namespace === null || namespace === defaultNamespace
      ? ''
      : ` in namespace ${JSON.stringify(namespace.slice(0, nameShownMax))}`
  return `'${capabilityName(question)}'${on}${inside}`
}

export type Explanation = {
  readonly allowed: boolean
  /** Null: nothing is required. */
  readonly question: Question
  /** The closest first; the first one, with its equals, decided. */
  readonly tried: readonly Sourced[]
  readonly decidedBy: 'nothing is required' | 'management' | 'rules' | 'default policy'
}

export function explain(
  rules: RuleSet | 'management',
  requirement: Requirement,
  defaultPolicy: DefaultPolicy,
): Explanation {
  const question = rules === 'management' ? questionOf(requirement) : questionTo(rules, requirement)
  const tried = question === null || rules === 'management' ? [] : rules.tried(question.target)
  if (question === null) {
    return { allowed: true, question, tried, decidedBy: 'nothing is required' }
  }
  if (rules === 'management') return { allowed: true, question, tried, decidedBy: 'management' }
  const verdict = rules.judge(question.target, question.capability)
  return {
    allowed: isAllowed(rules, requirement, defaultPolicy),
    question,
    tried,
    decidedBy: verdict === null ? 'default policy' : 'rules',
  }
}
