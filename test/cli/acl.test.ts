/** `muster acl`. */
import t from 'tap'
import { serverForCli } from './server-for-cli.ts'

void t.test('tokens, policies and roles from the first token on', async (t) => {
  const { muster } = await serverForCli(t, { begin: false, acl: { enabled: true } })
  t.match(await muster(['acl', 'bootstrap', '-t', '{{.SecretID']), { code: 2, err: /never closed/ })
  const first = await muster('acl bootstrap')
  t.match(first, { code: 0, out: /^Accessor ID {2}= [\w-]{36}\nSecret ID {4}= \S{43}\n/ })
  const root = /Secret ID +?= (\S+)/.exec(first.out)?.[1] ?? ''
  t.match(await muster('acl bootstrap'), { code: 1, err: /already done \(reset index: \d+\)/ })
  const manage = (line: string | string[], input?: string) =>
    muster(line, { env: { MUSTER_TOKEN: root }, ...(input !== undefined && { input }) })

  t.match(await muster('acl token list'), {
    code: 1,
    err: /Permission denied: the request has no token.* \(403\)/,
  })
  t.match(await manage('acl policy apply -description=reads app -', 'key_prefix "app/" {\n'), {
    code: 1,
    err: /policy:1:1: the block key_prefix is never closed/,
  })
  const rules = 'key_prefix "app/" {\n  policy = "read"\n}\n'
  t.match(await manage('acl policy apply -description=reads app -', rules), {
    code: 0,
    out: 'Applied policy "app"\n',
  })
  t.match(await manage('acl policy read app'), { out: /Rules\nkey_prefix "app\/" \{\n {2}policy/ })
  t.match(await manage('acl policy list'), { out: /^Name {2}Description\napp {3}reads\n/ })
  t.match(await manage('acl role apply team -policy app'), { out: 'Applied role "team"\n' })
  t.match(await manage('acl role read team'), { out: /Policies {5}= app\n/ })

  const made = await manage('acl token create -name ci -role team -ttl 8h')
  t.match(made, { code: 0, out: /Roles {8}= team\n[^]*Expiration {3}= 2/ })
  const [, accessor = '', secret = ''] = /= (\S+)\nSecret ID +?= (\S+)/.exec(made.out) ?? []
  const self = await muster('acl token self', { env: { MUSTER_TOKEN: secret } })
  t.match(self, { code: 0, out: new RegExp(`^Accessor ID {2}= ${accessor}\\nName`) })
  t.match(await manage(`acl token update ${accessor} -policy app`), { out: /Policies {5}= app\n/ })
  t.match(await manage(`acl token update ${accessor}`), { code: 2, err: /say what to change/ })
  t.match(await manage('acl token list'), { out: /ci {15}client {6}app {7}team {3}2/ })

  t.match(await manage(`acl explain -of ${accessor} GET /v1/kv/app/x`), { code: 0, out: /yes/ })
  t.match(await manage(`acl explain -of ${accessor} PUT /v1/kv/app/x`), {
    code: 1,
    out: /Requires {7}= key:write on "app\/x" in namespace default\nMissing {8}= key:write\n[^]*app {5}line 1 {2}key "app\/\*" {2}default {4}list, read\n/,
  })
  t.match(await muster('acl explain GET /v1/kv/app/x', { env: { MUSTER_TOKEN: secret } }), {
    code: 1,
    err: /Permission denied: token .* lacks permission 'acl:read', request \S+ \(403\)/,
  })

  t.match(await manage(`acl token delete ${accessor}`), { code: 0 })
  t.match(await manage(`acl token read ${accessor}`), { code: 1, err: /there is no token/ })
  t.match(await manage('acl role delete team'), { out: 'Deleted role "team"\n' })
  t.match(await manage('acl policy delete app'), { out: 'Deleted policy "app"\n' })
  t.match(await manage('acl policy delete app'), { code: 1, err: /there is no policy "app"/ })
})
