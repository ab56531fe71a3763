/**
 * What is left of an environment when its secrets are taken out, by the names of variables and by their values. A value too
 * many costs a look at the machine; a value too few costs a password. So in doubt a value is taken out.
 */

export const redacted = '<redacted>'

/** In any letter case, anywhere in a variable's name. */
const secretParts = /TOKEN|SECRET|PASSW(OR)?D|PASSPHRASE|CREDENTIAL|CONN(ECTION)?_?STR/i

/** As a word of a name, or at the end of one (`PGPASS`, `SSHKEY`): `KEYBOARD` is neither. */
const secretEnds = /(PASS|PWD|AUTH|KEYS?)$/

/** As a word of a name. Certificates are public, and `SSL_CERT_FILE` is worth seeing. */
const secretWords: ReadonlySet<string> = new Set([
  'CONN',
  'CONNECTION',
  'COOKIE',
  'CRED',
  'CREDS',
  'DSN',
  'JWT',
  'LICENSE',
  'OTP',
  'PAT',
  'PIN',
  'PRIVATE',
  'PW',
  'SALT',
  'SAS',
  'SIGNATURE',
])

/** Working folders of a shell, in spite of their names. */
const harmlessNames: ReadonlySet<string> = new Set(['PWD', 'OLDPWD'])

/** `Password=hunter2;` of a connection string, `token=abc` of a query. */
const secretSetting =
  /((?:password|passwd|passphrase|pass|pwd|secret|token|auth|key)\s{0,8}=\s{0,8})("[^"]*"?|'[^']*'?|[^\s;,&"']+)/gi

/** Names stay, so that one sees that a variable is set. */
export function redactEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const shown: [string, string][] = []
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined) continue
    shown.push([name, isSecretName(name) ? redacted : redactedValue(value)])
  }
  return Object.fromEntries(shown)
}

function isSecretName(name: string): boolean {
  if (harmlessNames.has(name)) return false
  return secretParts.test(name) || wordsOf(name).some(isSecretWord)
}

function isSecretWord(word: string): boolean {
  return secretWords.has(word) || secretEnds.test(word)
}

/** `appJWTKey_2` is APP, JWT, KEY. */
function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$3 $2')
    .split(/[^A-Za-z]+/)
    .map((word) => word.toUpperCase())
}

function redactedValue(value: string): string {
  return value
    .replaceAll(/\S+/g, withoutPassword)
    .replaceAll(secretSetting, (_all, name: string) => `${name}${redacted}`)
}

/** `user:secret@host`, behind a scheme or alone, in a text without blanks. */
function withoutPassword(text: string): string {
  const scheme = text.indexOf('://')
  if (scheme < 0) return withoutBarePassword(text)
  return `${withoutBarePassword(text.slice(0, scheme))}${withoutPasswordOfUrl(text.slice(scheme))}`
}

/** As Go names databases: `user:secret@tcp(host)/name`, the one form without a scheme whose secret may have slashes. */
const dataSource = /^([^/:@]*:).+(@\w+\()/

/** Any other secret without a scheme has no slash, or lists of paths such as `/a:/b/@c` would have secrets. It ends at its last `@`. */
function withoutBarePassword(text: string): string {
  const parts = text.replace(dataSource, `$1${redacted}$2`).split('/')
  const shown = parts.map((part) => {
    const colon = part.indexOf(':')
    const end = part.lastIndexOf('@')
    if (colon < 0 || colon + 1 >= end) return part
    return `${part.slice(0, colon + 1)}${redacted}${part.slice(end)}`
  })
  return shown.join('/')
}

/**
 * `text` begins with `://`. The secret ends at the last `@`, for it may hold one, and slashes too. A number that a path follows
 * is a port: `http://db:5432/a@b` has no secret.
 */
function withoutPasswordOfUrl(text: string): string {
  const end = text.lastIndexOf('@')
  let from = 3
  for (;;) {
    const colon = text.indexOf(':', from)
    if (colon < 0 || colon + 1 >= end) return text
    const isPort = /^\d{1,5}[/?#]/.test(text.slice(colon + 1, Math.min(end, colon + 7)))
    if (!isPort) return `${text.slice(0, colon + 1)}${redacted}${text.slice(end)}`
    const scheme = text.indexOf('://', colon)
    if (scheme < 0 || scheme > end) return text
    from = scheme + 3
  }
}
