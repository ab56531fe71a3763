/**
 * The rules of all policies of a token, compiled to be asked. The closest pattern wins: first that of the namespace, then
 * that of the name; among equally close ones a denial wins, else their capabilities add up. A namespace that is denied is
 * closed: nothing inside of it is looked at.
 */
import { foldName, rulesOf, type Family } from './capabilities-model.ts'
import {
  exactWeight,
  fits,
  fitsAllBelow,
  headOf,
  isExact,
  isPrefix,
  keyOf,
  mayFitBelow,
  type Pattern,
} from './pattern-model.ts'
import type { Rule } from './policy-model.ts'

export type PolicyRules = { readonly policy: string; readonly rules: readonly Rule[] }

/** What is asked about. `below`: everything whose name begins with `name`. */
export type Target = {
  readonly family: Family
  /** Of scoped families. */
  readonly namespace: string | null
  readonly name: string
  readonly below: boolean
  /** The name with a slash at its end, of what is listed: rules may write it either way. Not in scoped families. */
  readonly listed?: string
}

/** null: no rule is for it. */
export type Verdict = 'granted' | 'refused' | null

/** A rule beside the policy it is from. */
export type Sourced = { readonly policy: string; readonly rule: Rule }

/** Equally close rules, merged. */
class Grant {
  deny = false
  readonly capabilities = new Set<string>()

  add(rule: Rule): void {
    if (rule.deny) this.deny = true
    for (const capability of rule.capabilities) this.capabilities.add(capability)
  }

  gives(capability: string): boolean {
    return !this.deny && this.capabilities.has(capability)
  }
}

type PatternGrant = { readonly pattern: Pattern; readonly grant: Grant }

/** Patterns of one family in one namespace pattern. Names and prefixes are looked up, other patterns are tried in turn. */
class Names {
  readonly all = new Map<string, PatternGrant>()
  readonly #exact = new Map<string, Grant>()
  readonly #prefixes = new Map<string, Grant>()
  #lengths: readonly number[] = []
  #others: readonly PatternGrant[] = []

  add(rule: Rule): void {
    const { pattern } = rule
    const key = keyOf(pattern)
    let known = this.all.get(key)
    if (known === undefined) {
      known = { pattern, grant: new Grant() }
      this.all.set(key, known)
    }
    known.grant.add(rule)
  }

  /** After the last `add`. */
  seal(): void {
    const others: PatternGrant[] = []
    for (const { pattern, grant } of this.all.values()) {
      if (isExact(pattern)) this.#exact.set(pattern.text, grant)
      else if (isPrefix(pattern)) this.#prefixes.set(headOf(pattern), grant)
      else others.push({ pattern, grant })
    }
    this.#lengths = [...new Set([...this.#prefixes.keys()].map((head) => head.length))].sort(
      (left, right) => right - left,
    )
    this.#others = others.sort((left, right) => right.pattern.weight - left.pattern.weight)
  }

  /** The closest, and how close; several when they are equally close. */
  find(name: string): { readonly weight: number; readonly grants: readonly Grant[] } | null {
    const exact = this.#exact.get(name)
    if (exact !== undefined) return { weight: exactWeight, grants: [exact] }
    let weight = -1
    const grants: Grant[] = []
    for (const length of this.#lengths) {
      if (length > name.length) continue
      const grant = this.#prefixes.get(name.slice(0, length))
      if (grant === undefined) continue
      weight = length
      grants.push(grant)
      break
    }
    for (const { pattern, grant } of this.#others) {
      if (pattern.weight < weight) break
      if (!fits(pattern, name)) continue
      if (pattern.weight > weight) grants.length = 0
      ;({ weight } = pattern)
      grants.push(grant)
    }
    return grants.length === 0 ? null : { weight, grants }
  }
}

/** Namespaces of equal closeness stand side by side. */
type Scope = { readonly pattern: Pattern | null; readonly names: Names }

export class RuleSet {
  readonly #scopes = new Map<Family, Scope[]>()
  readonly #sourced: readonly Sourced[]

  constructor(policies: readonly PolicyRules[]) {
    this.#sourced = policies.flatMap(({ policy, rules }) => rules.map((rule) => ({ policy, rule })))
    for (const { rule } of this.#sourced) this.#namesFor(rule).add(rule)
    for (const scopes of this.#scopes.values()) {
      for (const { names } of scopes) names.seal()
      scopes.sort((left, right) => weightOf(right) - weightOf(left))
    }
  }

  judge(target: Target, capability: string): Verdict {
    const { family, namespace } = target
    if (namespace !== null && this.isClosed(namespace)) return 'refused'
    const scopes = this.#scopesFor(family, namespace)
    const name = foldName(family, target.name)
    if (target.below) return judgeBelow(scopes, name, capability)
    return target.listed === undefined
      ? judgeOne(scopes, name, capability)
      : judgeListed(scopes, name, target.listed, capability)
  }

  /** Whether any rule gives it for anything. A closer one may take it away again for the very thing. */
  grantsSome(family: Family, capability: string): boolean {
    return this.#sourced.some(
      ({ rule }) => rule.family === family && !rule.deny && rule.capabilities.includes(capability),
    )
  }

  /** Denied by the closest `namespace` rules. */
  isClosed(namespace: string): boolean {
    const scopes = this.#scopes.get('namespace')
    return scopes?.[0]?.names.find(namespace)?.grants.some(({ deny }) => deny) ?? false
  }

  /** For people: the rules that are for the target, the closest first. A closed namespace comes before all. */
  tried(target: Target): readonly Sourced[] {
    const { family, namespace } = target
    const name = foldName(family, target.name)
    const isListed = ({ pattern }: Rule) =>
      target.listed !== undefined && fits(pattern, target.listed)
    const closing = this.#sourced.filter(
      ({ rule }) =>
        namespace !== null &&
        rule.family === 'namespace' &&
        rule.deny &&
        fits(rule.pattern, namespace),
    )
    const fitting = this.#sourced.filter(
      ({ rule }) =>
        rule.family === family &&
        (rule.namespace === null || namespace === null || fits(rule.namespace, namespace)) &&
        (target.below
          ? mayFitBelow(rule.pattern, name)
          : fits(rule.pattern, name) || isListed(rule)),
    )
    return [
      ...closing,
      ...fitting.toSorted(
        ({ rule: left }, { rule: right }) =>
          (right.namespace?.weight ?? 0) - (left.namespace?.weight ?? 0) ||
          right.pattern.weight - left.pattern.weight ||
          Number(isListed(right)) - Number(isListed(left)) ||
          Number(right.deny) - Number(left.deny),
      ),
    ]
  }

  #scopesFor(family: Family, namespace: string | null): readonly Scope[] {
    const scopes = this.#scopes.get(family) ?? []
    if (!rulesOf(family).scoped || namespace === null) return scopes
    return scopes.filter(({ pattern }) => pattern === null || fits(pattern, namespace))
  }

  #namesFor(rule: Rule): Names {
    const scopes = this.#scopes.get(rule.family) ?? []
    this.#scopes.set(rule.family, scopes)
    const text = rule.namespace?.text ?? null
    let scope = scopes.find(({ pattern }) => (pattern?.text ?? null) === text)
    if (scope === undefined) {
      scope = { pattern: rule.namespace, names: new Names() }
      scopes.push(scope)
    }
    return scope.names
  }
}

function weightOf({ pattern }: Scope): number {
  return pattern?.weight ?? exactWeight
}

function verdict(grants: readonly Grant[], capability: string): Verdict {
  if (grants.some(({ deny }) => deny)) return 'refused'
  return grants.some((grant) => grant.gives(capability)) ? 'granted' : 'refused'
}

function judgeOne(scopes: readonly Scope[], name: string, capability: string): Verdict {
  let scopeWeight = -1
  let nameWeight = -1
  let closest: Grant[] = []
  for (const scope of scopes) {
    if (closest.length > 0 && weightOf(scope) < scopeWeight) break
    const found = scope.names.find(name)
    if (found === null || found.weight < nameWeight) continue
    if (found.weight > nameWeight) closest = []
    scopeWeight = weightOf(scope)
    nameWeight = found.weight
    closest.push(...found.grants)
  }
  return closest.length === 0 ? null : verdict(closest, capability)
}

/**
 * The closest rule for either way to write the name decides, and of equally close ones that with the slash, as in Vault: a
 * list below `groups/` may be given as `groups/*`, `groups/` or `groups`.
 */
function judgeListed(
  scopes: readonly Scope[],
  bare: string,
  slashed: string,
  capability: string,
): Verdict {
  const names = scopes[0]?.names
  const withSlash = names?.find(slashed) ?? null
  const without = names?.find(bare) ?? null
  const isBare = (without?.weight ?? -1) > (withSlash?.weight ?? -1)
  const closest = isBare ? without : withSlash
  return closest === null ? null : verdict(closest.grants, capability)
}

/**
 * Granted when a rule for all below gives it and no rule that may be for something below takes it away. Rules that are
 * less close than the first have been overruled by it everywhere.
 */
function judgeBelow(scopes: readonly Scope[], prefix: string, capability: string): Verdict {
  const all = scopes.flatMap(({ pattern, names }) =>
    [...names.all.values()].map((entry) => ({
      scopeWeight: pattern?.weight ?? exactWeight,
      ...entry,
    })),
  )
  const closeness = (entry: (typeof all)[number]): readonly [number, number] => [
    entry.scopeWeight,
    entry.pattern.weight,
  ]
  const covering = all
    .filter(({ pattern }) => fitsAllBelow(pattern, prefix))
    .toSorted((left, right) => compare(closeness(right), closeness(left)))
  const [first] = covering
  const covered = covering.filter(
    (entry) => first !== undefined && compare(closeness(entry), closeness(first)) === 0,
  )
  const closer = all.filter(
    (entry) =>
      mayFitBelow(entry.pattern, prefix) &&
      !covered.includes(entry) &&
      (first === undefined || compare(closeness(entry), closeness(first)) >= 0),
  )
  if (closer.some(({ grant }) => !grant.gives(capability))) return 'refused'
  if (first === undefined) return null
  return verdict(
    covered.map(({ grant }) => grant),
    capability,
  )
}

function compare(left: readonly [number, number], right: readonly [number, number]): number {
  return left[0] - right[0] || left[1] - right[1]
}
