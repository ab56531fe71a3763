/** Spellings of one name, as directories compare them. */
import t from 'tap'
import { lockKey, normalName, userKeys } from '../../../src/domains/ldap/names.ts'
import { nameKeyLengthMax } from '../../../src/domains/ldap/model.ts'
import fc from '../../support/fast-check.ts'

t.test('spellings that a directory takes for one name are locked as one', async (t) => {
  const letters = ['aAａＡ𝐀ᵃⓐªⒶ', 'dDｄＤ𝐃ᵈⓓⅾⅮ', 'aAａＡ𝐀ᵃⓐªⒶ'].map((row) => Array.from(row))
  const [first = [], second = [], third = []] = letters
  const spellings = first.flatMap((a) => second.flatMap((b) => third.map((c) => `${a}${b}${c}`)))
  t.equal(spellings.length, 729)
  t.same([...new Set(spellings.map(lockKey))], ['ada'])
  for (const name of [' ada', 'ada\u3000', 'a\u00adda', 'ad\u200ba', '\ufeffada', 'ada\u2060']) {
    t.equal(lockKey(name), 'ada', JSON.stringify(name))
  }
  t.equal(lockKey('Ada  von\u00a0 L'), 'ada von l')
  t.equal(lockKey('ΟΔΟΣ'), lockKey('οδοσ'))
  t.equal(lockKey('Zoe\u0308'), lockKey('zo\u00eb'))
  t.not(lockKey('muller'), lockKey('müller'), 'two people')
  t.not(lockKey('ada'), lockKey('a da'))
})

t.test('a name has one normal form, which is its own', async (t) => {
  const check = (name: string) => normalName(normalName(name)) === normalName(name)
  for (let code = 1; code <= 0x10_ff_ff; code += code < 0x3_00_00 ? 1 : 251) {
    const name = String.fromCodePoint(code)
    if (!check(`a${name}b`)) t.fail(code.toString(16))
  }
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 20 }), check))
  t.ok(normalName('\ufdfa'.repeat(500)).length <= nameKeyLengthMax)
  t.equal(normalName('\u200b'), '\u200b', 'never nothing')
})

t.test('users are found by the normal form, and by what earlier versions wrote', async (t) => {
  t.same(userKeys('Ada', { caseSensitiveNames: false }), ['ada'])
  t.same(userKeys(' Ada', { caseSensitiveNames: false }), ['ada', ' ada'])
  t.same(userKeys(' Ada', { caseSensitiveNames: true }), [' Ada'])
})
