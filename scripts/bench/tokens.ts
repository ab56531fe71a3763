/**
 * What finding a caller costs a request, alone and while 2,500 other tokens are made a second, each in a batch of its own:
 * the time of the authorizer alone, in this process, as a share of what a whole GET costs a server is too small to be told from
 * the noise of a machine.
 */
import type { AclAuthorizer } from '../../src/domains/acl/authorizer.ts'
import { AclMachine } from '../../test/domains/acl/acl-machine.ts'
import { medianOf } from './plan.ts'

export type LookUps = {
  readonly callers: number
  readonly requestsPerSecond: number
  /** Of one look-up, in µs: median of the rounds. */
  readonly aloneUs: number
  readonly besideUs: number
}

const tokensPerSecond = 2_500
/** Callers that take turns, each with a policy of its own and two roles of together three more. */
const callerCounts = [1, 16, 512]
const callersMax = Math.max(...callerCounts)
const rates = [4_000, 40_000]
const rulesPerPolicy = 10
/** Tokens made in a round. */
const tokensPerRound = 2_000
const rounds = 9

export async function measureTokens(): Promise<readonly LookUps[]> {
  const ends: (() => unknown)[] = []
  const acl = await AclMachine.open({ teardown: (end) => ends.push(end) })
  try {
    const secrets = await prepare(acl)
    const authorizer = acl.authorizer()
    const results: LookUps[] = []
    for (const callers of callerCounts) {
      for (const rate of rates) {
        results.push(await measure(acl, authorizer, secrets.slice(0, callers), rate))
      }
    }
    return results
  } finally {
    for (const end of ends.toReversed()) await end()
  }
}

async function prepare(acl: AclMachine): Promise<readonly string[]> {
  const rulesOf = (name: string) =>
    Array.from({ length: rulesPerPolicy }, (_, at) => `key "${name}/${at}" { policy = "write" }`)
  const putPolicy = (name: string) => acl.putPolicy(name, rulesOf(name).join('\n'))
  for (const name of ['shared-0', 'shared-1', 'shared-2']) await putPolicy(name)
  await acl.putRole('one', ['shared-0', 'shared-1'])
  await acl.putRole('two', ['shared-2'])
  const secrets: string[] = []
  for (let at = 0; at < callersMax; at += 1) {
    const name = `own-${at}`
    await putPolicy(name)
    const { secret } = await acl.makeToken({ policies: [name], roles: ['one', 'two'] })
    secrets.push(secret)
  }
  return secrets
}

async function measure(
  acl: AclMachine,
  authorizer: AclAuthorizer,
  secrets: readonly string[],
  requestsPerSecond: number,
): Promise<LookUps> {
  const perToken = requestsPerSecond / tokensPerSecond
  let next = 0
  /** Returns how long the look-ups took. */
  const round = async (makes: boolean): Promise<number> => {
    let tookMs = 0
    let due = 0
    let done = 0
    for (let made = 0; made < tokensPerRound; made += 1) {
      if (makes) await acl.makeToken({ policies: ['own-0'] })
      due += perToken
      const fromMs = performance.now()
      for (; done < due; done += 1) {
        const token = secrets[next % secrets.length] ?? null
        next += 1
        void authorizer.resolve({ token, remote: '10.0.0.1', requestId: 'r' })
      }
      tookMs += performance.now() - fromMs
    }
    return (tookMs * 1_000) / done
  }
  const alone: number[] = []
  const beside: number[] = []
  // The first ones warm the program up.
  for (let number = 0; number < rounds + 2; number += 1) {
    const both = [await round(false), await round(true)] as const
    if (number < 2) continue
    alone.push(both[0])
    beside.push(both[1])
  }
  return {
    callers: secrets.length,
    requestsPerSecond,
    aloneUs: medianOf(alone),
    besideUs: medianOf(beside),
  }
}

export function tokensTable(results: readonly LookUps[]): string {
  const rows = results.map(({ callers, requestsPerSecond, aloneUs, besideUs }) => [
    `${callers}`,
    `${requestsPerSecond}/s`,
    aloneUs.toFixed(2),
    besideUs.toFixed(2),
  ])
  const lines = [['callers', 'requests', 'alone', 'beside'], ...rows].map((cells) =>
    cells.map((cell) => cell.padStart(9)).join(' '),
  )
  return [...lines, `µs to find a caller; beside: ${tokensPerSecond} tokens/s`].join('\n')
}
