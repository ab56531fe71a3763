/** Addresses of services by what they are called. */
import t from 'tap'
import { addressOf } from '../../../src/domains/jobs/tagged-address-model.ts'

t.test('an address has a port or none', async (t) => {
  const cases: readonly (readonly [string, string, number | null])[] = [
    ['10.0.0.7', '10.0.0.7', null],
    ['10.0.0.7:80', '10.0.0.7', 80],
    ['web.example:8080', 'web.example', 8080],
    ['::1', '::1', null],
    ['fe80::1:2', 'fe80::1:2', null],
    ['[::1]:443', '::1', 443],
  ]
  for (const [text, address, port] of cases) t.strictSame(addressOf(text), { address, port }, text)
})

t.test('anything else is none', async (t) => {
  for (const text of [
    '',
    'a b',
    'host:',
    'host:x',
    ':80',
    '[::1]',
    '[]:80',
    'host:65536',
    'h:1 ',
  ]) {
    t.equal(addressOf(text), null, text)
  }
})
