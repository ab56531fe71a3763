/** What is left of an environment when its known secrets are taken out. */

export const redacted = '<redacted>'

/** In any letter case, anywhere in a variable's name. */
const secretWords =
  /TOKEN|SECRET|PASSW(OR)?D|PASSPHRASE|CREDENTIAL|PRIVATE_?KEY|API_?KEY|ACCESS_?KEY|ENCRYPTION_?KEY/i

/** Well-known names of credentials in which none of those words stands. */
const secretNames: ReadonlySet<string> = new Set([
  'AWS_ACCESS_KEY_ID',
  'CONSUL_ENCRYPT_KEY',
  'CONSUL_HTTP_AUTH',
  'CONSUL_LICENSE',
  'DOCKER_AUTH_CONFIG',
  'GPG_KEY',
  'MYSQL_PWD',
  'NOMAD_LICENSE',
  'NPM_AUTH',
  'PGPASS',
  'SSHPASS',
  'VAULT_LICENSE',
])

/** A password in an address: `postgres://app:secret@db/app`. */
const passwordInUrl = /(\b[a-z][a-z0-9+.-]{0,30}:\/\/[^/?#\s:@]{0,256}:)[^/?#\s@]{1,1024}(?=@)/gi

/** Names stay, so that one sees that a variable is set. */
export function redactEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const shown: [string, string][] = []
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined) continue
    const secret = secretWords.test(name) || secretNames.has(name.toUpperCase())
    shown.push([name, secret ? redacted : value.replaceAll(passwordInUrl, `$1${redacted}`)])
  }
  return Object.fromEntries(shown)
}
