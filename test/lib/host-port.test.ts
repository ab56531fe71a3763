/** What addresses are, and which texts are repeated where a client was to give one. */
import t from 'tap'
import { isLoopbackAddress, isWildcard, looksLikeAddress } from '../../src/lib/host-port.ts'

t.test('addresses look like addresses', async (t) => {
  for (const text of [
    '10.0.0.2',
    '10.0.0.2:4648',
    '::1',
    'fe80::1',
    '[2001:db8::1]:4648',
    '[::1]',
    'localhost',
    'localhost:8301',
    'web-1:4648',
    'web-1.example',
    's1.dc1.example.org:4648',
    'muster-0.muster.default.svc.cluster.local',
  ]) {
    t.ok(looksLikeAddress(text), text)
  }
})

t.test('tokens do not, nor what looks like one', async (t) => {
  const uuid = '7a4b1c2d-0000-4000-8000-00000000abcd'
  for (const text of [
    '',
    uuid,
    `${uuid}:4648`,
    `${uuid}.example`,
    'secret',
    'web-1',
    ':4648',
    '[secret]:1',
    's.AbCdEfGhIjKl',
    'hvs.0123456789abcdef0123456789',
    'eyJhbGciOi.eyJzdWIi.c2ln',
    'a.1',
    'a..b',
    'a b.c',
    'a/b.c:1',
    'web.example:123456',
    'p_w.example',
  ]) {
    t.notOk(looksLikeAddress(text), text)
  }
})

t.test('all addresses of a machine, and its own, are known in every spelling', async (t) => {
  for (const text of ['0.0.0.0', '::', '::0', '0:0:0:0:0:0:0:0', '::ffff:0.0.0.0']) {
    t.ok(isWildcard(text), text)
  }
  for (const text of ['10.0.0.1', '::1', 'localhost', '', 'fe80::1%eth0']) {
    t.notOk(isWildcard(text), text)
  }
  for (const text of ['127.0.0.1', '127.1.2.3', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1']) {
    t.ok(isLoopbackAddress(text), text)
  }
  for (const text of ['128.0.0.1', '::', '::2', 'localhost', '127.1']) {
    t.notOk(isLoopbackAddress(text), text)
  }
})
