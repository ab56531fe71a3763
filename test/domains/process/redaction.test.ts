/** Which values of an environment are shown. */
import t from 'tap'
import { redactEnvironment, redacted } from '../../../src/domains/process/redaction.ts'

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
  ['DB_PASS', 'abc', redacted],
  ['SMTP_PASS', 'abc', redacted],
  ['PGPASS', 'abc', redacted],
  ['dbPass2', 'abc', redacted],
  ['MYSQL_PWD', 'abc', redacted],
  ['PASSWD', 'abc', redacted],
  ['REDIS_AUTH', 'abc', redacted],
  ['JWT_KEY', 'abc', redacted],
  ['signingJWTKey', 'abc', redacted],
  ['SSHKEY', 'abc', redacted],
  ['APP_KEYS', 'abc', redacted],
  ['KEY', 'abc', redacted],
  ['DJANGO_SALT', 'abc', redacted],
  ['PRIVATE', 'abc', redacted],
  ['SENTRY_DSN', 'abc', redacted],
  ['DB_CONN', 'abc', redacted],
  ['ConnectionStrings__Main', 'abc', redacted],
  ['DB_CONNSTR', 'abc', redacted],
  ['GIT_CREDS', 'abc', redacted],
  ['KEYBOARD', 'us', 'us'],
  ['KEYMAP_LAYOUT', 'us', 'us'],
  ['PASSENGER_ROOT', '/srv', '/srv'],
  ['AUTHOR', 'ada', 'ada'],
  ['CONNECTOR', 'x', 'x'],
  ['PATH', '/bin', '/bin'],
  ['SSL_CERT_FILE', '/etc/ca.pem', '/etc/ca.pem'],
  ['PWD', '/srv', '/srv'],
  ['OLDPWD', '/', '/'],
  ['BROKER', 'redis://:hunter2@db', `redis://:${redacted}@db`],
  ['MYSQL', 'app:hunter2@tcp(db:3306)/app', `app:${redacted}@tcp(db:3306)/app`],
  ['AT_IN_IT', 'x://app:hun@ter2@db', `x://app:${redacted}@db`],
  ['SLASH_IN_IT', 'x://app:hun/ter2@db', `x://app:${redacted}@db`],
  ['TWO', 'http://db:80/,http://a:b@c', `http://db:80/,http://a:${redacted}@c`],
  ['ENCODED', 'x://app:hun%2Fter%402@db', `x://app:${redacted}@db`],
  ['DATA_SOURCE', 'app:hun/ter2@tcp(db)/a@b', `app:${redacted}@tcp(db)/a@b`],
  ['TWO_BARE', 'a:b@c/d,e:f@g/h', `a:${redacted}@c/d,e:${redacted}@g/h`],
  ['BEFORE_URL', 'a:b@c/d,http://e:f@g', `a:${redacted}@c/d,http://e:${redacted}@g`],
  ['BARE', 'app:hun@ter2@db/app', `app:${redacted}@db/app`],
  ['NODE_PATH', '/a/.bin:/b/node_modules/@npmcli/x/bin', '/a/.bin:/b/node_modules/@npmcli/x/bin'],
  ['VERSIONS', '/opt/openssl@3/bin:/opt/node@24:/bin', '/opt/openssl@3/bin:/opt/node@24:/bin'],
  ['MAIL', 'ada@example.com', 'ada@example.com'],
  ['ADO', 'Server=db;Password=hunter2;Pooling=true', `Server=db;Password=${redacted};Pooling=true`],
  ['LIBPQ', "host=db password='hun ter2' user=x", `host=db password=${redacted} user=x`],
  ['AZURE', 'AccountName=x;AccountKey=YWJj==', `AccountName=x;AccountKey=${redacted}`],
  ['LAYOUT', '--keyboard=us', '--keyboard=us'],
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
  for (const text of ['a://', 'a:', 'key ', 'key= ', ' ', 'a:1/', ':', 'a:@b', '@(']) {
    const value = text.repeat(200_000)
    t.equal(typeof redactEnvironment({ X: value })['X'], 'string')
    t.equal(typeof redactEnvironment({ X: `${value}@` })['X'], 'string')
    t.equal(typeof redactEnvironment({ [value]: 'x' })[value], 'string')
  }
  t.end()
})
