import t from 'tap'
import { BerWriter } from '../../../src/domains/ldap/ber.ts'
import {
  escapeFilterValue,
  filterDepthMax,
  parseFilter,
  writeFilter,
} from '../../../src/domains/ldap/filter.ts'
import { MusterError } from '../../../src/lib/errors.ts'
import fc from '../../support/fast-check.ts'

t.test('values are escaped for filters (RFC 4515, 3)', async (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['ada', 'ada'],
    ['*', '\\2a'],
    ['(a)', '\\28a\\29'],
    ['a\\b', 'a\\5cb'],
    ['a\0', 'a\\00'],
    ['é', '\\c3\\a9'],
    ['😀', '\\f0\\9f\\98\\80'],
    ['a,b=c', 'a,b=c'],
    ['\\,', '\\5c,'],
  ]
  for (const [given, escaped] of rows) t.equal(escapeFilterValue(given), escaped, given)
})

t.test('any name that was escaped is one value of one filter, with its own bytes', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (name) => {
      const node = parseFilter(`(cn=${escapeFilterValue(name)})`)
      return node.type === 'equal' && node.value.equals(Buffer.from(name))
    }),
  )
})

t.test('a filter goes out as the bytes that RFC 4511 names', async (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['(cn=a)', 'a3 0402636e 040161'],
    ['cn=a', 'a3 0402636e 040161'],
    ['(cn=*)', '87 636e'],
    ['(cn=a*b*c)', 'a4 0402636e 3009 800161 810162 820163'],
    ['(cn=*b*)', 'a4 0402636e 3003 810162'],
    ['(&(a=1)(!(b=2)))', 'a0 a306 040161 040131 a208 a306 040162 040132'],
    ['(|)', 'a1'],
    ['(cn>=a)', 'a5 0402636e 040161'],
    ['(cn~=a)', 'a8 0402636e 040161'],
    [
      '(member:1.2.840.113556.1.4.1941:=x)',
      `a9 8117${Buffer.from('1.2.840.113556.1.4.1941').toString('hex')} 8206${Buffer.from('member').toString('hex')} 830178`,
    ],
    ['(ou:dn:=x)', 'a9 82026f75 830178 8401ff'],
    ['(cn=\\c3\\a9)', 'a3 0402636e 0402c3a9'],
  ]
  for (const [text, expected] of rows) {
    const writer = new BerWriter()
    writeFilter(writer, parseFilter(text))
    const written = writer.take()
    const head = written.subarray(0, 1).toString('hex')
    t.equal(`${head}${written.subarray(2).toString('hex')}`, expected.replaceAll(' ', ''), text)
  }
})

t.test('what is no filter is refused', async (t) => {
  const wrong = [
    '',
    '()',
    '(cn)',
    '(cn=a',
    '(cn=a))',
    '(cn=a)(b=c)',
    '(=a)',
    '(cn=\\zz)',
    '(cn=a(b)',
    '(!(a=b)(c=d))',
    '(cn>=a*)',
    '(:=x)',
    '(a:b:c:=x)',
  ]
  for (const text of wrong) t.throws(() => parseFilter(text), MusterError, text)
  const deep = `${'(!'.repeat(filterDepthMax + 1)}(a=b)${')'.repeat(filterDepthMax + 1)}`
  t.throws(() => parseFilter(deep), MusterError)
})
