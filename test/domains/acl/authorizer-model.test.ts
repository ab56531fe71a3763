/**
 * An authorizer that keeps what it found answers like one that was made a moment ago, whatever happens to tokens, policies and
 * roles, with time, restores and clocks that go back. Two callers have the same rights object only if all their answers are equal.
 */
import fc from '../../support/fast-check.ts'
import t from 'tap'
import type { AclAuthorizer } from '../../../src/domains/acl/authorizer.ts'
import { codeOf } from '../../../src/lib/errors.ts'
import type { Requirement } from '../../../src/rpc/method.ts'
import { AclMachine, reads, resolved, type Archive } from './acl-machine.ts'
import { issuedMembers } from './token-rows.ts'

const policies = ['a', 'b', 'anonymous'] as const
const roles = ['r', 's'] as const
const ruleTexts = [
  reads('a/'),
  reads('b/'),
  'acl = "read"',
  'key_prefix "" { policy = "deny" }',
  '',
]
const remotes = ['10.0.0.1', '192.0.2.1']
const tokensMax = 6

const questions: readonly Requirement[] = [
  { resource: 'none' },
  { resource: 'acl', access: 'read' },
  { resource: 'acl', access: 'write' },
  ...['a/x', 'b/x', 'c'].map(
    (key) => ({ resource: 'key', namespace: 'default', key, access: 'read' }) as const,
  ),
]

const at = fc.nat(tokensMax - 1)
const policyNames = fc.subarray([...policies])
const roleNames = fc.subarray([...roles])
const type = fc.constantFrom('client' as const, 'client' as const, 'management' as const)
const aWhile = fc.constantFrom(0, 1, 500, 1_000, 2_000)
const { lease } = issuedMembers

const making = fc.record({
  type,
  policies: policyNames,
  roles: roleNames,
  endsInMs: fc.option(aWhile),
  more: fc.constantFrom(
    {},
    {},
    { usesLeft: 0 },
    { usesLeft: 1_000_000 },
    { boundCidrs: ['10.0.0.0/8'] },
    { lease: { ...lease, explicitMaxTtlMs: 1_000 } },
  ),
})

/** What happens next: which, and with what. */
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ does: fc.constant('make' as const), making }) },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('change' as const),
      at,
      type,
      policies: policyNames,
      roles: roleNames,
    }),
  },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('revoke' as const), at }) },
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constant('policy' as const),
      name: fc.constantFrom(...policies),
      rules: fc.option(fc.constantFrom(...ruleTexts)),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('role' as const),
      name: fc.constantFrom(...roles),
      policies: fc.option(policyNames),
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('wait' as const), forMs: aWhile }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('turn the clock back' as const) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('archive' as const) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('restore' as const) }) },
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

class World {
  readonly acl: AclMachine
  readonly secrets: (string | null)[] = [null, 'nobody knows it']
  readonly #accessors: string[] = []
  #archive: Archive | null = null

  constructor(acl: AclMachine) {
    this.acl = acl
  }

  async take(step: Step): Promise<void> {
    const { acl } = this
    switch (step.does) {
      case 'make': {
        const { endsInMs, more, ...fields } = step.making
        const expirationTimeMs = endsInMs === null ? null : acl.nowMs + endsInMs
        const { secret, accessor } = await acl.makeToken({ ...fields, ...more, expirationTimeMs })
        this.secrets.push(secret)
        this.#accessors.push(accessor)
        return
      }
      case 'change': {
        const { type, policies, roles } = step
        const accessor = this.#accessorAt(step.at)
        const fields = { name: null, description: null, type, policies, roles }
        await acl.apply('acl.updateToken', { accessor, ...fields })
        return
      }
      case 'revoke':
        return acl.deleteToken(this.#accessorAt(step.at))
      case 'policy':
        if (step.rules === null) await acl.apply('acl.deletePolicy', { name: step.name })
        else await acl.putPolicy(step.name, step.rules)
        return
      case 'role':
        if (step.policies === null) await acl.apply('acl.deleteRole', { name: step.name })
        else await acl.putRole(step.name, step.policies)
        return
      case 'wait':
        acl.nowMs += step.forMs
        return
      case 'turn the clock back':
        acl.nowMs -= 700
        return
      case 'archive':
        this.#archive = await acl.archive()
        return
      case 'restore':
        if (this.#archive !== null) await acl.restore(this.#archive)
    }
  }

  #accessorAt(at: number): string {
    return this.#accessors.at(-1 - at) ?? 'none'
  }
}

type Answers = { readonly text: string; readonly rights: object | undefined }

async function answersOf(
  authorizer: AclAuthorizer,
  secret: string | null,
  from: string,
): Promise<Answers> {
  try {
    const found = await resolved(authorizer, secret, from)
    const some = found.maySome?.({ resource: 'key', access: 'read' })
    return {
      text: JSON.stringify([questions.map((one) => found.may(one)), some, found.accessor]),
      rights: found.rights,
    }
  } catch (error) {
    return { text: codeOf(error), rights: undefined }
  }
}

void t.test('what is kept answers like what is looked up anew', async (t) => {
  let compared = 0
  const run = async (steps: readonly Step[]) => {
    const world = new World(await AclMachine.open(t))
    const keeping = world.acl.authorizer()
    const byRights = new Map<object, string>()
    for (const name of policies) await world.acl.putPolicy(name, reads(`${name}/`))
    for (const name of roles) await world.acl.putRole(name, ['a'])
    for (const step of steps) {
      await world.take(step)
      const fresh = world.acl.authorizer()
      for (const secret of world.secrets) {
        for (const from of remotes) {
          const kept = await answersOf(keeping, secret, from)
          const wanted = await answersOf(fresh, secret, from)
          if (kept.text !== wanted.text) {
            throw new Error(`after ${JSON.stringify(step)}: ${kept.text}, not ${wanted.text}`)
          }
          compared += 1
          if (kept.rights === undefined) continue
          // The accessor is no right: readers are told apart by it in no other way.
          const verdicts = kept.text.replace(/,"[^"]*"\]$|,null\]$/, '')
          const known = byRights.get(kept.rights)
          if (known !== undefined && known !== verdicts) {
            throw new Error(`one rights object, two answers: ${known} and ${verdicts}`)
          }
          byRights.set(kept.rights, verdicts)
        }
      }
    }
    await world.acl.machine.close()
  }
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 30 }), run), {
    numRuns: 40,
  })
  t.ok(compared > 1_000, `${compared} answers were compared`)
})
