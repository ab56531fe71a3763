/** What the claims of a token must say, and the identity that they name. Nothing here asks whether they are signed. */
import { Refused } from './refused.ts'
import { isJsonObject, type JsonObject } from '../../lib/json-object.ts'
import { memberOf } from '../../lib/strict-json.ts'

/** Clocks of an orchestrator and of a server may differ by this. */
export const leewayMs = 60_000

/** Without `issuer` in the configuration. */
export const defaultIssuer = 'kubernetes/serviceaccount'

export type Identity = {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  /** Of the secret that keeps a token of the old form; else ''. */
  readonly secretName: string
}

/** Each may be absent: tokens that are kept in secrets have none. Throws `Refused`. */
export function checkTimes(claims: JsonObject, nowMs: number): void {
  const expires = timeMsOf(claims, 'exp')
  const notBefore = timeMsOf(claims, 'nbf')
  const issued = timeMsOf(claims, 'iat')
  if (expires !== null && nowMs >= expires + leewayMs) {
    throw new Refused('times', 'the token has expired')
  }
  if (notBefore !== null && nowMs < notBefore - leewayMs) {
    throw new Refused('times', 'the token is not valid yet')
  }
  if (issued !== null && nowMs < issued - leewayMs) {
    throw new Refused('times', 'the token was issued in the future')
  }
}

function timeMsOf(claims: JsonObject, name: string): number | null {
  const value = memberOf(claims, name)
  if (value === undefined) return null
  if (typeof value === 'number' && Number.isFinite(value)) return value * 1_000
  throw new Refused('form', `the claim ${name} is not a number`)
}

/** `issuer` '': the default one. Throws `Refused`. */
export function checkIssuer(claims: JsonObject, issuer: string): void {
  const expected = issuer === '' ? defaultIssuer : issuer
  if (memberOf(claims, 'iss') !== expected) {
    throw new Refused('issuer', `the issuer is not ${JSON.stringify(expected)}`)
  }
}

/** Those that the token is for. Throws `Refused`. */
export function audiencesOf(claims: JsonObject): readonly string[] {
  const value = memberOf(claims, 'aud')
  if (value === undefined || value === '') return []
  if (typeof value === 'string') return [value]
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value
  throw new Refused('form', 'the claim aud is neither a string nor a list of strings')
}

/** `audience` '': any will do. Throws `Refused`. */
export function checkAudience(audiences: readonly string[], audience: string): void {
  if (audience === '' || audiences.includes(audience)) return
  throw new Refused('audience', `the token is not for the audience ${JSON.stringify(audience)}`)
}

/** Of the claim of a projected token, else of the flat claims of one that a secret keeps. Throws `Refused`. */
export function identityOf(claims: JsonObject): Identity {
  const nested = memberOf(claims, 'kubernetes.io')
  if (nested === undefined) return flatIdentity(claims)
  if (!isJsonObject(nested)) throw new Refused('form', 'the claim kubernetes.io is not an object')
  const account = memberOf(nested, 'serviceaccount')
  if (!isJsonObject(account)) {
    throw new Refused('identity', 'the claim kubernetes.io names no service account')
  }
  return {
    namespace: nameIn(nested, 'namespace'),
    name: nameIn(account, 'name'),
    uid: nameIn(account, 'uid'),
    secretName: '',
  }
}

const flat = 'kubernetes.io/serviceaccount/'

function flatIdentity(claims: JsonObject): Identity {
  const hasSecret = memberOf(claims, `${flat}secret.name`) !== undefined
  return {
    namespace: nameIn(claims, `${flat}namespace`),
    name: nameIn(claims, `${flat}service-account.name`),
    uid: nameIn(claims, `${flat}service-account.uid`),
    secretName: hasSecret ? nameIn(claims, `${flat}secret.name`) : '',
  }
}

/** Of an orchestrator's object. A colon would move the borders of the user name that a review answers with. */
const objectName = /^[!-9;-~]{1,253}$/

function nameIn(object: JsonObject, member: string): string {
  const value = memberOf(object, member)
  if (typeof value === 'string' && objectName.test(value)) return value
  throw new Refused('identity', `the claim ${member} is missing, or is no name`)
}
