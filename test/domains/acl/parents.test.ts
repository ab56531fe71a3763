/** Tokens end with the tokens that they were made with: at once for every reader, however many rows are still to be written. */
import fc from '../../support/fast-check.ts'
import t, { type Test } from 'tap'
import type { AclAuthorizer } from '../../../src/domains/acl/authorizer.ts'
import { tokenReactions } from '../../../src/domains/acl/ending-commands.ts'
import { ancestorsMax } from '../../../src/domains/acl/model.ts'
import { allTokens, expiredTokens, tokenByAccessor } from '../../../src/domains/acl/queries.ts'
import { aclTokenParents, aclTokens } from '../../../src/domains/acl/table.ts'
import { tokenTopic } from '../../../src/domains/acl/topics.ts'
import { marksVersion, hasMarks } from '../../../src/fsm/fact.ts'
import type { Key, Reader, Table } from '../../../src/fsm/domain.ts'
import { codeOf } from '../../../src/lib/errors.ts'
import { AclMachine, mayRead, reads, resolved } from './acl-machine.ts'

async function isUsable(authorizer: AclAuthorizer, secret: string): Promise<boolean> {
  try {
    return mayRead(await resolved(authorizer, secret), 'app/x')
  } catch (error) {
    t.equal(codeOf(error), 'unauthenticated')
    return false
  }
}

async function accessorsIn(pages: AsyncIterable<readonly { readonly accessor: string }[]>) {
  const accessors: string[] = []
  for await (const page of pages) accessors.push(...page.map(({ accessor }) => accessor))
  return accessors.sort()
}

/** Counts rows that are read by key. */
function counting(reader: Reader): { readonly reader: Reader; readonly tables: string[] } {
  const tables: string[] = []
  const counted = Object.create(reader, {
    get: {
      value: <Row>(table: Table<Row>, key: Key): Row | undefined => {
        tables.push(table.name)
        return reader.get(table, key)
      },
    },
  }) as Reader
  // Getters of the reader need the reader itself.
  for (const name of ['appliedIndex', 'floorIndex', 'counterFloor', 'commandVersion'] as const) {
    Object.defineProperty(counted, name, { get: () => reader[name] })
  }
  for (const name of ['tableIndex', 'pages', 'pagesBy'] as const) {
    Object.defineProperty(counted, name, { value: reader[name].bind(reader) })
  }
  return { reader: counted, tables }
}

/** A parent with so many children, which may read `app/`. */
async function family(t: Test, children: number, cascadeRowsMax: number) {
  const acl = await AclMachine.open(t, cascadeRowsMax)
  await acl.putPolicy('app', reads('app/'))
  const parent = await acl.makeToken({ policies: ['app'] })
  const made = []
  for (let number = 0; number < children; number += 1) {
    made.push(await acl.makeChild(parent.accessor, { policies: ['app'] }))
  }
  return { acl, parent, children: made }
}

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ does: fc.constant('make' as const), below: fc.nat(9) }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('root' as const) }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('delete' as const), at: fc.nat(29) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('go on' as const),
      rows: fc.integer({ min: 1, max: 30 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('another' as const) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('expire' as const), at: fc.nat(29) }) },
)

void t.test('a token is usable exactly when neither it nor one above it was deleted', async (t) => {
  let refused = 0
  let unswept = 0
  const run = async (
    rowsMax: number,
    steps: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[],
  ) => {
    const acl = await AclMachine.open(t, rowsMax)
    await acl.putPolicy('app', reads('app/'))
    const keeping = acl.authorizer()
    /** The rule, written down once more. */
    const tokens: { accessor: string; secret: string; parent: number | null; deleted: boolean }[] =
      []
    const stands = (at: number | null): boolean => {
      const token = at === null ? undefined : tokens[at]
      return at === null || (token !== undefined && !token.deleted && stands(token.parent))
    }
    for (const one of steps) {
      switch (one.does) {
        case 'root':
          tokens.push({
            ...(await acl.makeToken({ policies: ['app'] })),
            parent: null,
            deleted: false,
          })
          break
        case 'make': {
          const parent = tokens.length - 1 - one.below
          const above = tokens[parent]
          if (above === undefined) break
          const made = await acl.makeChild(above.accessor, { policies: ['app'] })
          const wanted = stands(parent) ? 'written' : 'parentIsGone'
          if (made.outcome.type !== wanted) throw new Error(`${made.outcome.type}, not ${wanted}`)
          if (wanted === 'written') tokens.push({ ...made, parent, deleted: false })
          break
        }
        case 'delete':
        case 'expire': {
          const token = tokens[one.at]
          if (token === undefined) break
          const args = {
            accessors: [token.accessor],
            nowMs: acl.nowMs,
            expiredOnly: one.does === 'expire',
          }
          const outcome = await acl.apply('acl.deleteTokens', args)
          const deletes = one.does === 'delete' && stands(one.at)
          if (JSON.stringify(outcome) !== JSON.stringify({ deleted: deletes ? 1 : 0 })) {
            throw new Error(`deleted: ${JSON.stringify(outcome)}`)
          }
          if (deletes) token.deleted = true
          break
        }
        case 'go on':
          await acl.continueCascades(one.rows)
          break
        case 'another':
          await acl.deleteToken((await acl.makeToken()).accessor)
      }
      await compare()
    }
    while (hasMarks(acl.machine.reader())) await acl.continueCascades(5)
    await compare()
    const standing = tokens.filter((_, at) => stands(at))
    const reader = acl.machine.reader()
    const accessors = standing.map(({ accessor }) => accessor).sort()
    const children = standing.filter(({ parent }) => parent !== null)
    t.strictSame(await accessorsIn(reader.pages(aclTokens)), accessors, 'rows, in the end')
    t.strictSame(
      await accessorsIn(reader.pages(aclTokenParents)),
      children.map(({ accessor }) => accessor).sort(),
    )
    await acl.machine.close()

    async function compare(): Promise<void> {
      const reader = acl.machine.reader()
      if (hasMarks(reader)) unswept += 1
      const fresh = acl.authorizer()
      const listed = await accessorsIn(allTokens(reader))
      for (const [at, { secret, accessor }] of tokens.entries()) {
        const wanted = stands(at)
        const found = [
          await isUsable(keeping, secret),
          await isUsable(fresh, secret),
          (await tokenByAccessor(reader, accessor)) !== null,
          listed.includes(accessor),
        ]
        if (found.some((one) => one !== wanted)) {
          throw new Error(`token ${at} is usable: ${found.join()}, not ${wanted}`)
        }
        if (!wanted) refused += 1
      }
    }
  }
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 40 }),
      fc.array(step, { minLength: 15, maxLength: 50 }),
      run,
    ),
    { numRuns: 40 },
  )
  t.ok(refused > 100 && unswept > 20, `${refused} refusals, ${unswept} states with marks`)
})

void t.test('a child is refused with its parent, before its row is swept', async (t) => {
  const { acl, parent, children } = await family(t, 12, 6)
  const authorizer = acl.authorizer()
  for (const { secret } of children) t.ok(await isUsable(authorizer, secret))
  await acl.deleteToken(parent.accessor)
  const reader = acl.machine.reader()
  t.ok(hasMarks(reader), 'rows are left')
  t.ok((await accessorsIn(reader.pages(aclTokens))).length > 5)
  for (const { secret } of children) t.notOk(await isUsable(authorizer, secret))
  t.strictSame(await accessorsIn(allTokens(reader)), [])
  const shown = tokenTopic.shown(reader)
  for await (const page of reader.pages(aclTokens)) {
    for (const row of page) t.equal(shown(row), null, 'nor in the snapshot of an event stream')
  }
})

void t.test(
  'a request with a known token reads nothing more, and no mark when there are none',
  async (t) => {
    const { acl, parent, children } = await family(t, 2, 1_024)
    const [child] = children
    const { reader, tables } = counting(acl.machine.reader())
    const authorizer = acl.authorizer(async () => {}, reader)
    const secret = child?.secret ?? ''
    const readBy = async (one: string) => {
      tables.length = 0
      t.ok(await isUsable(authorizer, one))
      return [...tables]
    }
    await readBy(secret)
    await readBy(parent.secret)
    t.strictSame(await readBy(secret), [], 'while the table of tokens stands still')
    const other = await acl.makeToken()
    t.strictSame(await readBy(secret), ['acl_tokens', 'marks'], 'when it changed')
    t.strictSame(await readBy(parent.secret), ['acl_tokens'], 'a token without a parent')
    await acl.deleteToken(other.accessor)
    t.strictSame(await readBy(secret), ['acl_tokens', 'marks'])
    t.strictSame(await readBy(secret), [])
  },
)

void t.test(
  'the child of a token that is gone, or whose time is over, cannot be made',
  async (t) => {
    const { acl, parent, children } = await family(t, 4, 5)
    const expired = await acl.makeToken({ expirationTimeMs: acl.nowMs })
    t.match((await acl.makeChild(expired.accessor)).outcome, { type: 'parentIsGone' })
    t.match((await acl.makeChild('nobody')).outcome, { type: 'parentIsGone' })
    t.match((await acl.makeChild(parent.accessor, { policies: ['x'] })).outcome, {
      type: 'unknownName',
    })
    await acl.deleteToken(parent.accessor)
    t.ok(hasMarks(acl.machine.reader()))
    for (const { accessor } of [parent, ...children]) {
      t.match((await acl.makeChild(accessor)).outcome, { type: 'parentIsGone' })
    }
  },
)

void t.test('a token has no more tokens above it than a request may look at', async (t) => {
  const acl = await AclMachine.open(t, 10)
  await acl.putPolicy('app', reads('app/'))
  const root = await acl.makeToken({ policies: ['app'] })
  let lowest: { readonly accessor: string; readonly secret: string } = root
  for (let depth = 1; depth <= ancestorsMax; depth += 1) {
    const made = await acl.makeChild(lowest.accessor, { policies: ['app'] })
    t.equal(made.outcome.type, 'written')
    lowest = made
  }
  t.match((await acl.makeChild(lowest.accessor)).outcome, { type: 'tooManyAncestors' })
  const authorizer = acl.authorizer()
  t.ok(await isUsable(authorizer, lowest.secret))
  await acl.deleteToken(root.accessor)
  t.ok(hasMarks(acl.machine.reader()))
  t.notOk(await isUsable(authorizer, lowest.secret), 'the mark on the uppermost is honoured')
})

void t.test('tokens that are gone do not hide those that expired, nor expire again', async (t) => {
  const { acl, parent } = await family(t, 3, 4)
  const expirationTimeMs = acl.nowMs + 1_000
  await acl.makeChild(parent.accessor, { expirationTimeMs })
  const other = await acl.makeToken({ expirationTimeMs: expirationTimeMs + 1 })
  await acl.deleteToken(parent.accessor)
  const reader = acl.machine.reader()
  const rows = await expiredTokens(reader, expirationTimeMs + 2)
  t.strictSame(
    rows.map(({ accessor }) => accessor),
    [other.accessor],
  )
})

void t.test(
  'until every server knows of parents, no token has one and no entry looks for children',
  async (t) => {
    t.ok(tokenReactions.every(({ sinceVersion = 0 }) => sinceVersion > marksVersion))
    const acl = await AclMachine.openAt(t, marksVersion)
    const parent = await acl.makeToken()
    await t.rejects(acl.makeChild(parent.accessor), { code: 'not_implemented' })
  },
)
