import t from 'tap'
import {
  commonNameOf,
  domainOf,
  escapeDnValue,
  normalisedDn,
  parseDn,
} from '../../../src/domains/ldap/dn.ts'
import fc from '../../support/fast-check.ts'

t.test('values are escaped for names (RFC 4514, 2.4)', async (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['ada', 'ada'],
    ['Lovelace, Ada', 'Lovelace\\, Ada'],
    ['a+b"c;d<e>f\\g', 'a\\+b\\"c\\;d\\<e\\>f\\\\g'],
    [' a ', '\\ a\\ '],
    ['#1', '\\#1'],
    ['a#1', 'a#1'],
    ['a\\,b', 'a\\\\\\,b'],
    ['é\u0000', '\\c3\\a9\\00'],
    [' ', '\\ '],
  ]
  for (const [given, escaped] of rows) t.equal(escapeDnValue(given), escaped, given)
})

t.test('any name that was escaped is one value of one RDN', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (name) => {
      const dn = parseDn(`cn=${escapeDnValue(name)},dc=test`)
      return dn?.length === 2 && dn[0]?.length === 1 && dn[0][0]?.value === name
    }),
  )
})

t.test('two spellings of one name are equal', async (t) => {
  const same: readonly (readonly [string, string])[] = [
    ['cn=Ada,dc=test', 'CN = ada , DC=TEST'],
    ['cn=a+sn=b,dc=test', 'SN=b+CN=a,dc=test'],
    ['cn=Lovelace\\, Ada,dc=test', 'cn=Lovelace\\2c Ada,dc=test'],
    ['cn=a  b,dc=test', 'cn=a b,dc=test'],
    ['cn=\\c3\\89t\\c3\\a9,dc=test', 'cn=été,dc=test'],
    ['Just A Name', 'just a name'],
  ]
  for (const [one, other] of same) t.equal(normalisedDn(one), normalisedDn(other), one)
  t.not(normalisedDn('cn=a\\,b,dc=test'), normalisedDn('cn=a,b=dc,dc=test'))
  t.not(normalisedDn('cn=a,dc=test'), normalisedDn('cn=a,dc=test,dc=x'))
})

t.test('the common name of a name is its first', async (t) => {
  const rows: readonly (readonly [string, string | null])[] = [
    ['cn=a,cn=b,dc=test', 'a'],
    ['ou=x+CN=y\\, z,dc=test', 'y, z'],
    ['uid=a,ou=b', null],
    ['plain', null],
    ['', null],
    ['cn=a,', null],
    ['cn=a\\', null],
  ]
  for (const [dn, name] of rows) t.equal(commonNameOf(dn), name, dn)
})

t.test('the domain of a name is the parts at its end', async (t) => {
  const rows: readonly (readonly [string, string | null])[] = [
    ['cn=a, OU=b ,DC=Corp , dc=test', 'dc=Corp,dc=test'],
    ['cn=a,dc=inner,ou=b,0.9.2342.19200300.100.1.25=test', 'dc=test'],
    ['dc=a\\,b,dc=c', 'dc=a\\,b,dc=c'],
    ['cn=a,dc=b+l=c,dc=d', 'dc=d'],
    ['cn=a,o=b', null],
    ['', null],
    ['ada@corp.test', null],
  ]
  for (const [name, domain] of rows) t.equal(domainOf(name), domain, name)
})
