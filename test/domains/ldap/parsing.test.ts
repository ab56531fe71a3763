/** Templates, SIDs, URLs and schedules: what a configuration and a directory bring as text or bytes. */
import t from 'tap'
import { scheduleOf } from '../../../src/domains/ldap/schedule.ts'
import { sidText } from '../../../src/domains/ldap/sid.ts'
import { fillTemplate, parseTemplate, usesVariable } from '../../../src/domains/ldap/template.ts'
import { parseUrls } from '../../../src/domains/ldap/urls.ts'
import { MusterError } from '../../../src/lib/errors.ts'

t.test('templates are filled in', async (t) => {
  const values = { UserAttr: 'uid', Username: 'ada', UserDN: '' }
  const rows: readonly (readonly [string, string])[] = [
    ['({{.UserAttr}}={{.Username}})', '(uid=ada)'],
    ['({{ .UserAttr }}={{- .Username -}} )', '(uid=ada)'],
    ['(cn=a)', '(cn=a)'],
    ['', ''],
  ]
  for (const [text, filled] of rows) {
    const template = parseTemplate(text, ['UserAttr', 'Username'], 'userfilter')
    t.equal(fillTemplate(template, values), filled, text)
    t.equal(usesVariable(template, 'UserAttr'), text.includes('UserAttr'), text)
  }
})

t.test('what is no template, or one that does more, is refused', async (t) => {
  const wrong = [
    '{{',
    '{{.Username',
    '{{}}',
    '{{.UserDN}}',
    '{{.Nothing}}',
    '{{Username}}',
    '{{if .Username}}a{{end}}',
    '{{.Username | printf "%s"}}',
    '{{.Username.Length}}',
    '{{"a"}}',
    '{{template "x"}}',
  ]
  for (const text of wrong) {
    t.throws(() => parseTemplate(text, ['UserAttr', 'Username'], 'userfilter'), MusterError, text)
  }
})

t.test('a binary SID is printed, a malformed one is not', async (t) => {
  const sid = Buffer.from('010500000000000515000000a065cf7e784b9b5fe77c8770091c0100', 'hex')
  t.equal(sidText(sid), 'S-1-5-21-2127521184-1604012920-1887927527-72713')
  t.equal(
    sidText(Buffer.from('0101000000000020ffffffff'.replace('0020', '0005'), 'hex')),
    'S-1-5-4294967295',
  )
  t.equal(sidText(Buffer.from('0100ffffffffffff', 'hex')), 'S-1-281474976710655')
  for (const wrong of [
    '',
    '01',
    '0101000000000005',
    '01010000000000052000',
    '010100000000000520000000ff',
  ]) {
    t.equal(sidText(Buffer.from(wrong, 'hex')), null, wrong)
  }
})

t.test('URLs are parsed in order, and what is none keeps its place', async (t) => {
  const shown = parseUrls(
    'ldap://a, LDAPS://b:99 ,ldap://[::1]:7,http://c,ldaps://d/dc=x,ldap://',
  ).map((url) => url && `${url.secure} ${url.host} ${url.port}`)
  t.same(shown, [
    'false a 389',
    'true b 99',
    'false ::1 7',
    null,
    'true d 636',
    'false localhost 389',
  ])
  t.same(parseUrls('ldap://u:p@a,ldap://a:0,ldap://a:65536,a'), [null, null, null, null])
})

t.test('a schedule has five fields of numbers, names, ranges, lists and steps', async (t) => {
  const right = [
    '* * * * *',
    '0 0 * * SAT',
    '*/15 0-6,22 1,15 jan-mar 1-5/2',
    '5/10 * ? * 7',
    '59 23 31 12 0',
  ]
  for (const text of right) t.not(scheduleOf(text), null, text)
  t.same([...(scheduleOf('5/20 * * * 7')?.minutes ?? [])], [5, 25, 45])
  t.same([...(scheduleOf('* * * * 5-7')?.daysOfWeek.plain ?? [])], [5, 6, 0])
  const wrong = [
    '',
    '* * * *',
    '* * * * * *',
    '60 * * * *',
    '* 24 * * *',
    '* * 0 * *',
    '* * * 13 *',
    '* * * * 8',
    '5-1 * * * *',
    '*/0 * * * *',
    'a * * * *',
    '1, * * * *',
    '@daily',
    '* * * foo *',
  ]
  for (const text of wrong) t.equal(scheduleOf(text), null, text)
})
