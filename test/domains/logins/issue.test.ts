/** The entry that makes a login's token decides whether its mount is still there. */
import t from 'tap'
import { systemLifetimes } from '../../../src/domains/acl/lifetime-model.ts'
import { drawLoginToken } from '../../../src/domains/acl/login-grant.ts'
import { tokenByHash } from '../../../src/domains/acl/queries.ts'
import { noTokenParameters } from '../../../src/domains/acl/token-parameters-model.ts'
import { createLogin, disableMount } from '../../../src/domains/logins/commands.ts'
import { firstMounts } from '../../../src/domains/logins/model.ts'
import { commandVersion } from '../../../src/fsm/codec.ts'
import { typedPropose } from '../../../src/rpc/write.ts'
import { serverOfOne } from '../server-of-one.ts'

void t.test('a login that a disabled mount overtakes gets no token', async (t) => {
  const server = await serverOfOne(t, { acl: { enabled: true }, begin: false })
  const propose = typedPropose((command) => server.propose(command))
  for (const { id, path } of firstMounts) {
    const logIn = async () => {
      const { token } = drawLoginToken(
        {
          kind: 'service',
          policies: ['default'],
          displayName: `${path}-ada`,
          path: `auth/${path}/login`,
          metadata: [],
          issuer: { mount: path, mountId: id, alias: 'ada' },
          entityId: null,
          parameters: noTokenParameters,
          lifetimes: systemLifetimes,
          remote: '127.0.0.1',
        },
        Date.now(),
        commandVersion,
      )
      const { outcome } = await propose(createLogin, { token })
      return { type: outcome.type, row: tokenByHash(server.machine.reader(), token.hash) }
    }
    const before = await logIn()
    t.match(before, { type: 'written', row: { issuer: { mountId: id } } })
    await propose(disableMount, { path, nowMs: Date.now() })
    t.same(await logIn(), { type: 'mountIsGone', row: null })
    t.equal(tokenByHash(server.machine.reader(), before.row?.hash ?? ''), null)
  }
})
