/** Whether one of the configured keys signed a token. The library verifies; which key and which algorithm is decided here. */
import { compactVerify } from 'jose/jws/compact/verify'
import type { Jwt } from './jwt.ts'
import type { VerificationKey } from './keys.ts'
import { Refused } from './refused.ts'

/** Any key may verify, and one that does not fit the algorithm is passed over. Throws `Refused`. */
export async function verifySignature(jwt: Jwt, keys: readonly VerificationKey[]): Promise<void> {
  const fitting = keys.filter(({ algorithms }) => algorithms.includes(jwt.algorithm))
  if (fitting.length === 0) {
    throw new Refused('algorithm', `no key of the configuration verifies ${jwt.algorithm}`)
  }
  for (const { key } of namedFirst(fitting, jwt.keyId)) {
    if (await isSignedBy(jwt, key)) return
  }
  throw new Refused('signature', 'no key of the configuration verifies the signature')
}

/** A token that names its key saves the attempts with the others. It is no more than a hint. */
function namedFirst(
  keys: readonly VerificationKey[],
  keyId: string | null,
): readonly VerificationKey[] {
  const named = keys.find(({ id }) => id === keyId)
  return named === undefined ? keys : [named, ...keys.filter((key) => key !== named)]
}

async function isSignedBy(jwt: Jwt, key: VerificationKey['key']): Promise<boolean> {
  try {
    await compactVerify(jwt.text, key, { algorithms: [jwt.algorithm] })
    return true
  } catch {
    return false
  }
}
