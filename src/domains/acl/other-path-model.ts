/** Paths that Vault's policies name and that no `path` rule is for here: what their writers are told. */

const instead: readonly (readonly [path: RegExp, rule: string])[] = [
  [/^sys\/mounts(?:\/|$)/, 'login methods are tuned with the right of path "sys/auth/<path>/tune"'],
  [/^sys\/capabilities-self/, 'every token may ask what it may do: no rule is needed'],
  [
    /^sys\/polic(?:y|ies)(?:\/|\*?$)/,
    'policies are read with acl = "read" and written with acl = "write"',
  ],
  [/^identity\//, 'entities are read with acl = "read" and removed with acl = "write"'],
  [
    /^(?:sys\/)?(?:internal|health|seal-status|leader|init)(?:\/|$)/,
    'no rule is needed for it, or it is not served',
  ],
  [
    /^(?:secret|kv|cubbyhole)\//,
    'write key "name" { policy = … } for keys, or variables for what is encrypted',
  ],
]

/** A policy may have two thousand of them. */
const pathsShownMax = 100
const pathLettersMax = 256

/** One for all paths that want the same rule instead. */
export function warningsOf(paths: readonly string[]): readonly string[] {
  const byAdvice = Map.groupBy(new Set(paths), adviceFor)
  return [...byAdvice].map(([advice, some]) => {
    const shown = some
      .slice(0, pathsShownMax)
      .map((path) => JSON.stringify(path.slice(0, pathLettersMax)))
    const left = some.length - shown.length
    const more = left > 0 ? ` and ${left} more` : ''
    return `rules without effect here, for ${shown.join(', ')}${more}: ${advice}`
  })
}

function adviceFor(path: string): string {
  const found = instead.find(([pattern]) => pattern.test(path.replace(/^\//, '')))
  return found === undefined ? 'nothing is served there' : found[1]
}
