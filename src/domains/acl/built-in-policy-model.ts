/** The policy `default`, which most issued tokens have: with it a token cares for itself. One of that name that an operator writes goes before. */
import type { PolicyRow } from './model.ts'

export const defaultPolicyName = 'default'

/** What a token of the type management is shown to have. Nobody writes it. */
export const rootPolicy = 'root'

const defaultPolicy: PolicyRow = {
  name: defaultPolicyName,
  description: 'A token may look itself up, renew itself and revoke itself',
  rules: ['lookup-self', 'renew-self', 'revoke-self']
    .map((name) => `auth "token/${name}" { policy = "write" }`)
    .join('\n'),
  createIndex: 0,
  modifyIndex: 0,
}

/** null: the name stands for nothing that nobody wrote. */
export function builtInPolicy(name: string): PolicyRow | null {
  return name === defaultPolicyName ? defaultPolicy : null
}
