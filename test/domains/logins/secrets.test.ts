import t from 'tap'
import { openSecret, sealSecret } from '../../../src/domains/logins/secrets.ts'
import { secretBytesMax } from '../../../src/domains/logins/secrets-model.ts'
import { putSecret, removeSecret } from '../../../src/domains/logins/secrets-table.ts'
import { sealedItems } from '../../../src/domains/variables/table.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { serverOfOne, type ServerOfOne } from '../server-of-one.ts'

function contextOf({ machine, services }: ServerOfOne) {
  const { signal } = new AbortController()
  return { clock: systemClock, read: () => machine.reader(), service: services.get, signal }
}

t.test('a secret opens for its owner alone, and there is nothing to be found of it', async (t) => {
  const server = await serverOfOne(t)
  const context = contextOf(server)
  const secret = await sealSecret(context, 'mount-1/bindpass', 'hunter2')
  t.notOk(Buffer.from(secret.sealed).includes('hunter2'))
  t.match(putSecret(secret, 7), { row: { path: 'mount-1/bindpass', modifyIndex: 7 } })
  t.match(removeSecret('mount-1/bindpass'), { key: ['.logins', 'mount-1/bindpass'] })

  const rows = new Map([
    [secret.owner, secret],
    ['mount-2/bindpass', secret],
  ])
  const reader = new Proxy(server.machine.reader(), {
    get(target, name) {
      if (name !== 'get') return Reflect.get(target, name) as unknown
      return (table: unknown, key: readonly string[]) => {
        const found = rows.get(key[1] ?? '')
        if (table !== sealedItems) return target.get(table as never, key)
        return found && { ...found, namespace: '.logins', path: key[1], modifyIndex: 7 }
      }
    },
  })
  const stored = { ...context, read: () => reader }
  t.equal(openSecret(stored, 'mount-1/bindpass'), 'hunter2')
  t.throws(() => openSecret(stored, 'mount-2/bindpass'), { code: 'corrupt' })
  t.equal(openSecret(stored, 'mount-3/bindpass'), null)
})

t.test('a secret is bounded', async (t) => {
  const server = await serverOfOne(t)
  const context = contextOf(server)
  await sealSecret(context, 'm/x', 'x'.repeat(secretBytesMax))
  await t.rejects(sealSecret(context, 'm/x', 'x'.repeat(secretBytesMax + 1)), {
    code: 'invalid_argument',
  })
})
