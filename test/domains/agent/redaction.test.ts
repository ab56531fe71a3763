/** Which values of an environment are shown. */
import t from 'tap'
import { redactEnvironment, redacted } from '../../../src/domains/agent/redaction.ts'

const cases: readonly (readonly [name: string, value: string, shown: string])[] = [
  ['HOME', '/var/lib/app', '/var/lib/app'],
  ['NPM_TOKEN', 'abc', redacted],
  ['token_file', '/etc/x', redacted],
  ['AppSecretKey', 'abc', redacted],
  ['AWS_ACCESS_KEY_ID', 'abc', redacted],
  ['AWS_SESSION_TOKEN', 'abc', redacted],
  ['NOMAD_LICENSE', 'abc', redacted],
  ['DB_PASSWORD', 'abc', redacted],
  ['GOOGLE_APPLICATION_CREDENTIALS', '/etc/key.json', redacted],
  ['DATABASE_URL', 'postgres://app:hunter2@db:5432/app', `postgres://app:${redacted}@db:5432/app`],
  ['PROXIES', 'http://a:b@c, https://d:e@f', `http://a:${redacted}@c, https://d:${redacted}@f`],
  ['PLAIN_URL', 'http://db:5432/a@b', 'http://db:5432/a@b'],
  ['__proto__', 'x', 'x'],
]

t.test('known secrets are taken out, names stay', (t) => {
  const environment: Record<string, string | undefined> = Object.create(null)
  for (const [name, value] of cases) environment[name] = value
  environment['GONE'] = undefined
  const shown = new Map(Object.entries(redactEnvironment(environment)))
  for (const [name, , value] of cases) t.equal(shown.get(name), value, name)
  t.equal(shown.size, cases.length)
  t.end()
})

t.test('a hostile value takes no time', (t) => {
  const value = 'a://'.repeat(200_000)
  t.equal(redactEnvironment({ X: value })['X'], value)
  t.end()
})
