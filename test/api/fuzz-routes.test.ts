/**
 * Hostile input over all of HTTP: every route, with and without access control, is sent generated paths, queries,
 * headers and bodies, good ones with something wrong among them. None makes the server fail, hang or crash, and every
 * answer follows the rules. FUZZ_SEED repeats a run; FUZZ_REQUESTS says how many each route gets, FUZZ_MINUTES for how
 * long: run the file with node then, for the test runner ends what takes long.
 */
import fc from '../support/fast-check.ts'
import t, { type Test } from 'tap'
import type { Route } from '../../src/api/route.ts'
import type { Logger } from '../../src/lib/log.ts'
import { serverOfOne, type ServerOfOne } from '../domains/server-of-one.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { amount, seed } from '../support/randomness.ts'
import { bodiesOf, furnish, learnNames, nameOf, type Learned } from './fuzz/furniture.ts'
import { flawOf } from './fuzz/judge.ts'
import { quietPool } from './fuzz/quiet-pool.ts'
import { hostileRequest, shown, type HostileRequest } from './fuzz/requests.ts'
import { Sender } from './fuzz/sender.ts'

const requestsOfEach = amount('FUZZ_REQUESTS', { gate: 1, long: 2 })
const durationMs = Number(process.env['FUZZ_MINUTES'] ?? 0) * 60_000

/** Beside the time that was asked for. */
const patienceMs = 200_000
t.setTimeout(durationMs + 2 * patienceMs)

let learned: Learned | null = null

for (const enabled of [false, true]) {
  const name = `hostile requests ${enabled ? 'with' : 'without'} access control, FUZZ_SEED=${seed}`
  void t.test(name, { timeout: durationMs + patienceMs }, async (t) => {
    const failures: string[] = []
    const server = await serverOfOne(t, {
      acl: { enabled },
      log: noting(failures),
      agent: { enableDebug: true },
      pool: quietPool,
    })
    const sender = new Sender(await server.listen())
    t.teardown(() => sender.close())
    const token = enabled ? await bootstrap(server) : null
    const names = (learned ??= await learnNames(server.composed.routes, sender))
    const untilMs = performance.now() + durationMs / 2
    let round = 0
    let requests = 0
    do {
      for (const route of inOrder(server.composed.routes)) {
        const known = {
          ...(names.get(nameOf(route)) ?? { parameters: [], members: [] }),
          texts: await furnish(sender, token),
          bodies: bodiesOf(route),
          tokens: [token, token, token, null, 'nonsense'],
        }
        const judge = async (request: HostileRequest): Promise<void> => {
          requests += 1
          const flaw = flawOf(route, request, await sender.send(request))
          const flaws = [...(flaw === null ? [] : [flaw]), ...failures.splice(0)]
          if (flaws.length > 0) throw new Error(flaws.join('; '))
        }
        const property = fc.asyncProperty(hostileRequest(route, known), judge)
        const result = await fc.check(property, {
          seed: seed + round,
          numRuns: requestsOfEach,
          // A request that hangs would hang in every step of shrinking.
          endOnFailure: true,
        })
        if (result.failed) t.fail(`${nameOf(route)}: ${toldOf(result)}`)
      }
      round += 1
    } while (performance.now() < untilMs)
    t.comment(`${requests} requests`)
    await holdsNothing(t, server)
  })
}

/** Writes first, so that reads find what they left. */
function inOrder(routes: readonly Route[]): readonly Route[] {
  const order = ['PUT', 'POST', 'PATCH', 'GET', 'DELETE']
  return routes.toSorted((left, right) => order.indexOf(left.method) - order.indexOf(right.method))
}

function toldOf({ counterexample, errorInstance }: fc.RunDetails<[HostileRequest]>): string {
  const why = errorInstance instanceof Error ? errorInstance.message : String(errorInstance)
  return counterexample === null ? why : `${why}\n${shown(counterexample[0])}`
}

/** Whatever the server holds to be a defect of its own, it logs as an error. */
function noting(failures: string[]): Logger {
  const logger: Logger = {
    trace() {},
    debug() {},
    info() {},
    warn() {},
    error: (message, fields) => void failures.push(`${message} ${JSON.stringify(fields ?? {})}`),
    named: () => logger,
    listens: () => false,
  }
  return logger
}

async function bootstrap(server: ServerOfOne): Promise<string> {
  const made = (await server.ask('PUT', '/v1/acl/bootstrap')).json()
  return String((made as { readonly SecretID: unknown }).SecretID)
}

/** All who waited hung up, so nobody waits. */
async function holdsNothing(t: Test, server: ServerOfOne): Promise<void> {
  await eventuallyTrue('no request is under way', () => server.underWay() === 0)
  t.equal(server.underWay(), 0)
}
