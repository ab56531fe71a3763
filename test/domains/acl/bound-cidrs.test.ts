/** Which callers the networks of a token admit. */
import t from 'tap'
import { admittedBy } from '../../../src/domains/acl/bound-cidrs.ts'

const rows: readonly (readonly [cidrs: string, remote: string, admits: boolean])[] = [
  ['10.0.0.0/8', '10.1.2.3', true],
  ['10.0.0.0/8', '::ffff:10.1.2.3', true],
  ['10.0.0.0/8', '11.0.0.1', false],
  ['10.1.2.3', '10.1.2.3', true],
  ['::/0', '10.1.2.3', false],
  ['fe80::/10', 'fe80::1%eth0', true],
  ['2001:db8::/32', '2001:db8::7', true],
  ['::ffff:127.0.0.0/104', '127.9.9.9', true],
  ['::FFFF:127.0.0.0/104', '128.0.0.1', false],
  ['::ffff:7f00:1', '127.0.0.1', true],
  ['::ffff:7f00:1', '127.0.0.2', false],
  ['0:0:0:0:0:ffff:0:0/96', '192.0.2.1', true],
  ['none', '10.1.2.3', false],
  ['10.0.0.0/33', '10.0.0.0', false],
  ['fe80::1%eth0', 'fe80::1', false],
]

t.test('a caller is in one of the networks, or in none', (t) => {
  for (const [cidrs, remote, admits] of rows) {
    t.equal(admittedBy(['192.168.0.0/16', cidrs])(remote), admits, `${cidrs} and ${remote}`)
  }
  t.notOk(admittedBy([])('10.1.2.3'))
  t.end()
})
