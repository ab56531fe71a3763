/**
 * Why a login by an orchestrator's token was refused. The caller learns none of it: one status and one text stand for all
 * of these. The rule is for the server's log and for the operator who has a login explained; it never holds any of the token.
 */

export type Rule =
  | 'form'
  | 'size'
  | 'duplicate member'
  | 'algorithm'
  | 'critical header'
  | 'signature'
  | 'times'
  | 'issuer'
  | 'audience'
  | 'identity'
  | 'binding'
  /** The API server says no. */
  | 'review'
  /** The API server says nothing that counts: it is at fault, not the token. */
  | 'unreachable'

export class Refused extends Error {
  override readonly name = 'Refused'
  readonly rule: Rule

  /** `reason` is a sentence of this program's own, or quotes what an operator configured. */
  constructor(rule: Rule, reason: string) {
    super(reason)
    this.rule = rule
  }
}
