/** Paths that Vault's policies name and that no `path` rule is for here: which rule to write instead. */

const instead: readonly (readonly [path: RegExp, rule: string])[] = [
  [/^sys\/mounts(?:\/|$)/, 'login methods are tuned with the right of path "sys/auth/<path>/tune"'],
  [/^sys\/capabilities-self/, 'every token may ask what it may do: no rule is needed'],
  [
    /^sys\/polic(?:y|ies)(?:\/|\*?$)/,
    'policies are read with acl = "read" and written with acl = "write"',
  ],
  [/^identity\//, 'entities are read with acl = "read" and removed with acl = "write"'],
  [
    /^(?:sys\/)?(?:mounts|internal|health|seal-status|leader|init)(?:\/|$)/,
    'no rule is needed for it, or it is not served',
  ],
  [
    /^(?:secret|kv|cubbyhole)\//,
    'write key "name" { policy = … } for keys, or variables for what is encrypted',
  ],
]

/** What a refusal adds for this path. */
export function ruleInsteadOf(path: string): string {
  const found = instead.find(([pattern]) => pattern.test(path))
  return found === undefined ? 'rules for the rest are key, variables, acl and others' : found[1]
}
