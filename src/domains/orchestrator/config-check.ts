/** Whether a configuration can be used, before it is stored. */
import { MusterError } from '../../lib/errors.ts'
import { hostUrl } from './host-model.ts'
import { checkAuthorities, verificationKey } from './keys.ts'
import {
  authoritiesLengthMax,
  issuerLengthMax,
  pemKeyLengthMax,
  pemKeysLengthMax,
  pemKeysMax,
  type Config,
} from './model.ts'

/** Of a reviewer's token; it need not be a JWT. */
export const reviewerLengthMax = 16 * 1024

/** `inPod`: this process has an authority of its own from its pod. Throws `invalid_argument`. */
export function checkConfig(config: Config, reviewer: string, inPod: boolean): void {
  const { host, authorities, pemKeys, issuer, disableLocalCaJwt } = config
  hostUrl(host, 'orchestrator_host')
  if (authorities.length > authoritiesLengthMax) {
    throw unfit(`orchestrator_ca_cert has more than ${authoritiesLengthMax} letters`)
  }
  if (authorities !== '') checkAuthorities(authorities, 'orchestrator_ca_cert')
  checkPemKeys(pemKeys)
  if (issuer.length > issuerLengthMax) {
    throw unfit(`issuer has more than ${issuerLengthMax} letters`)
  }
  if (reviewer.length > reviewerLengthMax || !/^[\x21-\x7e]*$/.test(reviewer)) {
    throw unfit(
      `token_reviewer_jwt must be at most ${reviewerLengthMax} printable letters without blanks`,
    )
  }
  const hasLocal = inPod && !disableLocalCaJwt
  if (authorities === '' && pemKeys.length === 0 && !hasLocal) {
    throw unfit('one of orchestrator_ca_cert and pem_keys must be set outside a pod')
  }
}

function checkPemKeys(pemKeys: readonly string[]): void {
  if (pemKeys.length > pemKeysMax) throw unfit(`pem_keys has more than ${pemKeysMax} items`)
  const letters = pemKeys.reduce((sum, { length }) => sum + length, 0)
  if (letters > pemKeysLengthMax || pemKeys.some(({ length }) => length > pemKeyLengthMax)) {
    throw unfit(
      `pem_keys has more than ${pemKeyLengthMax} letters in an item, or more than ${pemKeysLengthMax} in all`,
    )
  }
  for (const pem of pemKeys) verificationKey(pem)
}

function unfit(text: string): MusterError {
  return new MusterError('invalid_argument', text)
}
