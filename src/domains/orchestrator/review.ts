/**
 * The orchestrator's own word on a token, asked at every login and kept by nobody: a token whose pod is gone is good by its
 * signature until it expires. This file has the question and what a good answer is; `review-client.ts` sends and receives.
 */
import type { Identity } from './claims.ts'
import { Refused } from './refused.ts'
import { isJsonObject, type JsonObject } from '../../lib/json-object.ts'
import { memberOf, parseStrictJson } from '../../lib/strict-json.ts'

/** Below the URL of the API server. */
export const reviewPath = '/apis/authentication.k8s.io/v1/tokenreviews'

const apiVersion = 'authentication.k8s.io/v1'

/** `audiences` empty: the orchestrator's own. */
export function reviewQuestion(token: string, audiences: readonly string[]): string {
  const spec = audiences.length === 0 ? { token } : { token, audiences }
  return JSON.stringify({ apiVersion, kind: 'TokenReview', spec })
}

export type ReviewAnswer = { readonly status: number; readonly text: string }

/** Throws `Refused` unless it says that the token is good, for this identity and one of these audiences. */
export function checkReview(
  answer: ReviewAnswer,
  identity: Identity,
  audiences: readonly string[],
): void {
  const status = statusOf(answer)
  if (memberOf(status, 'authenticated') !== true) throw refused('the token is not authenticated')
  checkAudiences(status, audiences)
  const user = memberOf(status, 'user')
  if (!isJsonObject(user)) throw refused('there is no user in the answer')
  const { namespace, name, uid } = identity
  if (memberOf(user, 'username') !== `system:serviceaccount:${namespace}:${name}`) {
    throw refused('the answer is about another user')
  }
  if (memberOf(user, 'uid') !== uid) throw refused('the answer is about another uid')
}

function statusOf(answer: ReviewAnswer): JsonObject {
  if (answer.status < 200 || answer.status > 299) {
    throw new Refused('unreachable', `the API server answered with status ${answer.status}`)
  }
  let review: unknown
  try {
    review = parseStrictJson(answer.text)
  } catch {
    throw refused('the answer is not JSON')
  }
  if (!isJsonObject(review) || memberOf(review, 'kind') !== 'TokenReview') {
    throw refused('the answer is no TokenReview')
  }
  const status = memberOf(review, 'status')
  if (!isJsonObject(status)) throw refused('the answer has no status')
  const error = memberOf(status, 'error')
  if (error !== undefined && error !== null && error !== '') {
    throw refused('the answer has an error')
  }
  return status
}

function checkAudiences(status: JsonObject, asked: readonly string[]): void {
  if (asked.length === 0) return
  const confirmed = memberOf(status, 'audiences')
  if (Array.isArray(confirmed) && asked.some((audience) => confirmed.includes(audience))) return
  throw refused('the answer confirms none of the audiences that were asked for')
}

function refused(reason: string): Refused {
  return new Refused('review', reason)
}
