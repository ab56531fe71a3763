/** `muster login`. */
import { MusterError } from '../../../lib/errors.ts'
import { objectOf, textOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { isObject, type Json } from '../../../lib/exact-json.ts'
import { connectionFlags, readSettings } from '../../api/settings.ts'
import { storeToken } from '../../api/token-file.ts'
import { misused } from '../../flags.ts'
import { itemsMax } from '../../items.ts'
import { Sources } from '../../source.ts'
import { exits, type Call, type Verb } from '../../verb.ts'
import { credentialsOf, mountOf, secret } from './credentials.ts'
import { answerFlags, checkFormat, showAnswer } from '../path/path.ts'

export const login: Verb = {
  operands: { usage: '[TOKEN | -] [KEY=VALUE...]', countMin: 0, countMax: itemsMax },
  about: `
Logs in and stores the token, which later commands use when MUSTER_TOKEN is not set.

  muster login -method=ldap username=ada           asks for the password
  muster login -method=orchestrator role=web       with the pod's own token, or jwt=@FILE
  muster login                                     asks for a token that there is already

The password may come from MUSTER_LDAP_PASSWORD. -no-store prints the token and keeps nothing.
`,
  flags: {
    method: { summary: 'token, ldap, orchestrator or kubernetes [token]', value: 'NAME' },
    path: { summary: 'Where the method is mounted; its name by default', value: 'PATH' },
    'no-store': { summary: 'Keep nothing on this machine', value: null },
    ...answerFlags,
    ...connectionFlags,
  },
  async run(call) {
    checkFormat(call)
    const method = call.flags.last('method') ?? 'token'
    const sources = new Sources(call.terminal)
    const answer =
      method === 'token' ? await byToken(call, sources) : await byMethod(call, method, sources)
    const token = textOf(objectOf(objectOf(answer)['auth']), 'client_token')
    if (!call.flags.has('no-store')) {
      const path = await storeToken(call.terminal, token)
      call.terminal.err(`The token is stored in ${path}\n`)
    }
    return showAnswer(call, answer, 'Logged in')
  },
}

/** In the shape of a login. */
async function byToken(call: Call, sources: Sources): Promise<Json> {
  const [word, ...others] = call.operands
  if (others.length > 0) misused('a token stands alone; name another method with -method')
  const token = word === undefined ? await secret(call, 'Token') : await tokenOf(word, sources)
  if (token === '') misused('the token is empty')
  const client = new ApiClient({ ...(await readSettings(call)), token })
  const data = objectOf(objectOf(await client.get('/v1/auth/token/lookup-self'))['data'])
  const { accessor = '', policies = [], renewable = false, ttl = 0 } = data
  const auth = { client_token: token, accessor, policies, renewable, lease_duration: ttl }
  return { auth }
}

async function tokenOf(word: string, sources: Sources): Promise<string> {
  const text = word === '-' ? await sources.text('-', 'the token') : word
  return text.trim()
}

async function byMethod(call: Call, method: string, sources: Sources): Promise<Json> {
  const sent = await credentialsOf(call, method, sources, true)
  // A token from before would only be sent for others to see.
  const client = new ApiClient({ ...(await readSettings(call)), token: null })
  const ask = async (path: string, json: Json) => (await client.ask('POST', path, { json })).json
  const base = `/v1/auth/${mountOf(call, method)}/login`
  if (sent.type === 'orchestrator') {
    const { role, jwt } = sent
    return signedIn(await ask(base, { role, jwt }))
  }
  const { username, password } = sent
  return signedIn(await ask(`${base}/${encodeURIComponent(username)}`, { password }))
}

function signedIn(answer: Json): Json {
  if (isObject(answer) && isObject(answer['auth'])) return answer
  throw new MusterError('unavailable', 'the answer has no token: is a login method there?')
}

export const logout: Verb = {
  operands: { usage: '', countMin: 0, countMax: 0 },
  about: `
Forgets the stored token. The token itself stays good: 'muster token revoke -self' ends it.
`,
  flags: {},
  async run({ terminal }) {
    const { forgetToken } = await import('../../api/token-file.ts')
    await forgetToken(terminal)
    return exits.ok
  },
}
