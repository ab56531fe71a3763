/** A login method that is disabled takes its tokens with it, and those below them: at once for readers, row by row in bounded entries. */
import t from 'tap'
import { drawToken, type TokenSpec } from '../../../src/domains/acl/issue.ts'
import { tokenByAccessor } from '../../../src/domains/acl/queries.ts'
import { aclTokenParents, aclTokens } from '../../../src/domains/acl/table.ts'
import type { Table } from '../../../src/fsm/domain.ts'
import { AclMachine, resolved } from './acl-machine.ts'
import { specWith } from './token-rows.ts'

const ofMount = (mountId: string) => ({ mount: mountId, mountId, alias: 'ada' })

async function issue(acl: AclMachine, more: Partial<TokenSpec>) {
  const { token, secret } = drawToken(specWith({ createTimeMs: acl.nowMs, ...more }), null)
  await acl.apply('acl.createIssuedToken', token)
  return { ...token, secret }
}

async function rowsOf<Row>(acl: AclMachine, table: Table<Row>): Promise<number> {
  let rows = 0
  for await (const page of acl.machine.reader().pages(table)) rows += page.length
  return rows
}

void t.test(
  'all of a mount is refused in the entry that disables it, however much that is',
  async (t) => {
    const acl = await AclMachine.open(t, 16)
    const authorizer = acl.authorizer()
    const issuer = ofMount('first-ldap')
    const logins = []
    for (let number = 0; number < 60; number += 1) logins.push(await issue(acl, { issuer }))
    const last = logins.at(-1)
    const child = await issue(acl, { parent: last?.accessor ?? '' })
    const grandchild = await issue(acl, { parent: child.accessor })
    const other = await issue(acl, { issuer: ofMount('first-orchestrator') })
    const all = [...logins, child, grandchild]
    for (const { secret } of all) await resolved(authorizer, secret)

    await acl.apply('logins.disable', { path: 'ldap', nowMs: acl.nowMs })
    t.ok((await rowsOf(acl, aclTokens)) > 1, 'rows are left')
    const reader = acl.machine.reader()
    for (const { secret, accessor } of all) {
      await t.rejects(resolved(authorizer, secret), { code: 'unauthenticated' })
      await t.rejects(resolved(acl.authorizer(), secret), { code: 'unauthenticated' })
      t.equal(await tokenByAccessor(reader, accessor), null)
    }
    await resolved(authorizer, other.secret)
    const late = drawToken(specWith({ createTimeMs: acl.nowMs, parent: child.accessor }), null)
    t.match(await acl.apply('acl.createIssuedToken', late.token), { type: 'parentIsGone' })

    for (let turn = 0; turn < 100 && (await rowsOf(acl, aclTokens)) > 1; turn += 1) {
      await acl.continueCascades(16)
    }
    t.equal(await rowsOf(acl, aclTokens), 1)
    t.equal(await rowsOf(acl, aclTokenParents), 1)
    await resolved(authorizer, other.secret)
  },
)

void t.test('an orphan of a token of a login outlives the mount', async (t) => {
  const acl = await AclMachine.open(t)
  const authorizer = acl.authorizer()
  const login = await issue(acl, { issuer: ofMount('first-ldap') })
  const child = await issue(acl, { parent: login.accessor })
  for (const type of ['more', 'gone']) {
    const args = { accessor: login.accessor, nowMs: acl.nowMs }
    t.match(await acl.apply('acl.orphanToken', args), { type })
  }
  await t.rejects(resolved(authorizer, login.secret), { code: 'unauthenticated' })
  await acl.apply('logins.disable', { path: 'ldap', nowMs: acl.nowMs })
  await resolved(authorizer, child.secret)
  t.equal(await rowsOf(acl, aclTokenParents), 0)
})
