/**
 * One login: from the text of a token to the service account that it stands for, step by step. What the token says is
 * compared with the configuration and the role before the API server is asked, and the API server is asked every time.
 */
import { isBound } from './binding-model.ts'
import {
  audiencesOf,
  checkAudience,
  checkIssuer,
  checkTimes,
  identityOf,
  type Identity,
} from './claims.ts'
import { hostUrl } from './host-model.ts'
import { parseJwt, type Jwt } from './jwt.ts'
import type { KeyCache } from './keys.ts'
import type { Config, Role } from './model.ts'
import type { PodFiles } from './pod-files.ts'
import { Refused } from './refused.ts'
import type { ReviewClients } from './review-client.ts'
import { checkReview, reviewPath, reviewQuestion } from './review.ts'
import { verifySignature } from './signature.ts'

/** By which a token is judged. */
export type Judges = {
  readonly config: Config
  /** Of the configuration; null: it has none. */
  readonly reviewer: string | null
  readonly role: Role
  readonly clients: ReviewClients
  readonly pod: PodFiles
  readonly keys: KeyCache
  readonly nowMs: number
  readonly signal: AbortSignal
}

export const steps = [
  'form',
  'signature',
  'times',
  'issuer',
  'audience',
  'identity',
  'bindings',
  'review',
] as const
export type Step = (typeof steps)[number]

/** Told before each step, and with what the step found of the account once it is known. */
export type Watch = (step: Step, identity: Identity | null) => void

/** Throws `Refused`. */
export async function proveAccount(
  text: string,
  judges: Judges,
  watch: Watch = () => {},
): Promise<Identity> {
  const { config, role, nowMs } = judges
  watch('form', null)
  const jwt = parseJwt(text)
  const { claims } = jwt
  watch('signature', null)
  // Without keys the claims are believed once the API server has vouched for the token.
  if (config.pemKeys.length > 0) {
    const keys = config.pemKeys.map((pem) => judges.keys.of(pem))
    await verifySignature(jwt, keys)
  }
  watch('times', null)
  checkTimes(claims, nowMs)
  watch('issuer', null)
  if (!config.disableIssValidation) checkIssuer(claims, config.issuer)
  watch('audience', null)
  const audiences = audiencesOf(claims)
  checkAudience(audiences, role.audience)
  watch('identity', null)
  const identity = identityOf(claims)
  watch('bindings', identity)
  checkBound(role, identity)
  watch('review', identity)
  await review(jwt, identity, role.audience === '' ? audiences : [role.audience], judges)
  return identity
}

function checkBound(role: Role, { namespace, name }: Identity): void {
  if (!isBound(role.namespaces, namespace)) {
    throw new Refused('binding', 'bound_service_account_namespaces does not hold the namespace')
  }
  if (!isBound(role.names, name)) {
    throw new Refused('binding', 'bound_service_account_names does not hold the name')
  }
}

async function review(
  { text }: Jwt,
  identity: Identity,
  audiences: readonly string[],
  judges: Judges,
): Promise<void> {
  const { url, authorities, reviewer } = await reviewWay(judges)
  const body = reviewQuestion(text, audiences)
  const bearer = reviewer.token ?? text
  const { signal } = judges
  const answer = await judges.clients
    .of({ url, authorities: authorities.pem })
    .ask({ bearer, body, signal })
  checkReview(answer, identity, audiences)
}

/** Where a review is asked, and with what. */
export type ReviewWay = {
  readonly url: string
  readonly authorities: {
    readonly from: 'configuration' | 'pod' | 'system'
    readonly pem: string | null
  }
  /** Null: the token that logs in. */
  readonly reviewer: {
    readonly from: 'configuration' | 'pod' | 'login'
    readonly token: string | null
  }
}

export async function reviewWay({
  config,
  reviewer,
  pod,
}: Pick<Judges, 'config' | 'reviewer' | 'pod'>): Promise<ReviewWay> {
  const usesPod = !config.disableLocalCaJwt
  const token = reviewer === null && usesPod ? await pod.token() : null
  const pem = config.authorities === '' && usesPod ? await pod.authorities() : null
  return {
    url: hostUrl(config.host, 'orchestrator_host') + reviewPath,
    authorities:
      config.authorities !== ''
        ? { from: 'configuration', pem: config.authorities }
        : { from: pem === null ? 'system' : 'pod', pem },
    reviewer:
      reviewer !== null
        ? { from: 'configuration', token: reviewer }
        : { from: token === null ? 'login' : 'pod', token },
  }
}
