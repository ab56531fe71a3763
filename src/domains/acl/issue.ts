/**
 * The only place that draws the secret and the accessor of a token and builds its row. An entry of the log carries the
 * secret's hash; the answer to the caller is the only place where the secret ever is.
 */
import { randomBytes } from 'node:crypto'
import { assertNever } from '../../lib/assert.ts'
import { uuidOfRandom } from '../../lib/hash-uuid.ts'
import { MusterError } from '../../lib/errors.ts'
import type { LeaderContext } from '../../rpc/method.ts'
import { denied, unknownToken } from '../../rpc/refusal.ts'
import { hashOf } from './authorizer.ts'
import {
  bootstrapAcl,
  createToken,
  type CreateChildTokenOutcome,
  type UnknownName,
} from './commands.ts'
import {
  ancestorsMax,
  checkSecret,
  type DrawnMember,
  type NewToken,
  type TokenRow,
  type TokenSpec,
} from './model.ts'

const secretBytes = 32
const accessorBytes = 16

export type { TokenSpec }

/** A token as operators make them: what the commands of every version take. */
export type OperatorTokenSpec = Omit<NewToken, DrawnMember> & {
  readonly [Member in Exclude<keyof TokenSpec, keyof NewToken>]?: never
}

/** With its secret: shown once. */
export type CreatedToken = { readonly row: TokenRow; readonly secret: string }

/**
 * `chosen`: a secret of the operator's; null: one is drawn. Throws `invalid_argument` for one that is too weak. Both come from one
 * draw: on a machine that was set back, two tokens with one accessor have one secret too.
 */
export function drawToken<Spec extends TokenSpec>(spec: Spec, chosen: string | null) {
  if (chosen !== null) checkSecret(chosen)
  const drawn = randomBytes(secretBytes + accessorBytes)
  const secret = chosen ?? drawn.toString('base64url', 0, secretBytes)
  const accessor = uuidOfRandom(drawn.toString('hex', secretBytes))
  return { token: { ...spec, hash: hashOf(secret), accessor }, secret }
}

/** The caller has decided that this token may be made. */
export async function issueToken(
  context: Pick<LeaderContext, 'propose'>,
  spec: OperatorTokenSpec,
): Promise<CreatedToken> {
  const { token, secret } = drawToken(spec, null)
  const { outcome } = await context.propose(createToken, token)
  return { row: writtenToken(outcome), secret }
}

/** The first token: everything is allowed to it. `resetIndex`: of the operator who wants one more; null: none given. */
export async function issueFirstToken(
  context: Pick<LeaderContext, 'clock' | 'propose'>,
  chosen: string | null,
  resetIndex: number | null,
  refusal: (resetIndex: number) => MusterError = bootstrapDone,
): Promise<CreatedToken> {
  const spec: OperatorTokenSpec = {
    name: 'Bootstrap Token',
    description: '',
    type: 'management',
    policies: [],
    roles: [],
    createTimeMs: Math.floor(context.clock.wallMs()),
    expirationTimeMs: null,
  }
  const { token, secret } = drawToken(spec, chosen)
  const proposed = await context.propose(bootstrapAcl, { token, resetIndex })
  const outcome = proposed.outcome
  switch (outcome.type) {
    case 'written':
      return { row: outcome.row, secret }
    case 'taken':
      throw new MusterError('invalid_argument', 'another token has this secret: choose a new one')
    case 'done':
      throw refusal(outcome.resetIndex)
    default:
      return assertNever(outcome)
  }
}

function bootstrapDone(resetIndex: number): MusterError {
  const text = `ACL bootstrap already done (reset index: ${resetIndex})`
  return new MusterError('invalid_argument', text)
}

/** As Consul refuses, in the words that its tools look for. */
export function bootstrapNoLonger(resetIndex: number): MusterError {
  return denied(`ACL bootstrap no longer allowed (reset index: ${resetIndex})`)
}

export function writtenToken(outcome: CreateChildTokenOutcome): TokenRow {
  switch (outcome.type) {
    case 'written':
      return outcome.row
    case 'absent':
      throw new MusterError('not_found', 'ACL token not found')
    case 'taken':
      throw accessorIsTaken()
    case 'parentIsGone':
      throw unknownToken()
    case 'tooManyAncestors':
      throw new MusterError(
        'invalid_argument',
        `a token has at most ${ancestorsMax} tokens above it`,
      )
    case 'unknownName':
      throw unknown(outcome)
    default:
      return assertNever(outcome)
  }
}

export function accessorIsTaken(): MusterError {
  return new MusterError('conflict', 'another token has this accessor: try again')
}

export function unknown({ what, name }: UnknownName): MusterError {
  return new MusterError(
    'invalid_argument',
    `there is no ${what} ${JSON.stringify(name)}: write it first`,
  )
}
