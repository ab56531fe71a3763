/** `muster kv` and `muster session` against a real server of one. */
import t from 'tap'
import { serverForCli, type ServerForCli } from './server-for-cli.ts'

async function sessionOn({ server }: ServerForCli): Promise<string> {
  await server.ask('PUT', '/v1/catalog/register', { Node: 'box', Address: '10.0.0.1' })
  const answer = await server.ask('PUT', '/v1/session/create', {
    Name: 'worker',
    Node: 'box',
    NodeChecks: [],
    TTL: '15s',
  })
  return (answer.json() as { ID: string }).ID
}

void t.test('keys are written, shown, listed and deleted', async (t) => {
  const { muster } = await serverForCli(t)
  t.match(await muster(['kv', 'put', '-flags', '7', 'app/mode', 'on']), {
    code: 0,
    out: 'Wrote key "app/mode"\n',
  })
  t.equal((await muster('kv get app/mode')).out, 'on')
  const detailed = (await muster('kv get -detailed app/mode')).out
  t.match(detailed, /Flags +=? ?.*7/)
  t.match(detailed, /never held/)
  t.match(JSON.parse((await muster('kv get -json app/mode')).out), {
    Key: 'app/mode',
    Value: 'b24=',
  })

  t.equal((await muster('kv put app/piped -', { input: 'from a pipe' })).code, 0)
  t.equal((await muster('kv get app/piped')).out, 'from a pipe')
  const bytes = Buffer.from([0xff, 0xfe, 0, 0x1b, 0x5b])
  t.equal((await muster('kv put bytes -', { input: bytes })).code, 0)
  t.same((await muster('kv get bytes')).outBytes, bytes, 'a value is its bytes')
  await muster('kv put steers -', { input: 'a\u001b[31m\tb\r\nc' })
  const seen = await muster('kv get steers', { isTerminal: true })
  t.equal(seen.out, 'a\\u001b[31m\tb\r\nc\n', 'and steers no terminal')
  t.equal((await muster('kv delete bytes')).code, 0)
  t.equal((await muster('kv delete steers')).code, 0)
  t.equal((await muster('kv list app/')).out, 'app/mode\napp/piped\n')
  t.equal((await muster('kv list -separator /')).out, 'app/\n')
  t.match(await muster('kv list none'), { code: 0, out: '', err: /No keys/ })

  t.match(await muster('kv put -cas 0 app/mode x'), { code: 1, err: /another index/ })
  t.match(await muster('kv delete -cas 1 app/mode'), { code: 1, err: /another index/ })
  t.match(await muster('kv get none'), { code: 1, err: /no key "none"/ })
  t.equal((await muster('kv delete app/mode')).code, 0)
  t.equal((await muster('kv delete -recurse app')).code, 0)
  t.match(await muster('kv list'), { out: '' })

  t.match(await muster('kv put -cas 1 -acquire x k'), { code: 2 })
  t.match(await muster('kv put -lock k key'), { code: 2, err: /-lock-index/ })
  t.match(await muster('kv delete -recurse -cas 1 k'), { code: 2 })
})

void t.test('locks, and writes that depend on them', async (t) => {
  const cli = await serverForCli(t)
  const { muster } = cli
  const id = await sessionOn(cli)
  t.match(await muster(`kv put -acquire ${id} leader me`), { out: 'Locked key "leader"\n' })
  t.match((await muster('kv get -detailed leader')).out, `held by ${id}, LockIndex 1`)
  t.equal((await muster('kv put -lock leader -lock-index 1 data x')).code, 0)
  t.match(await muster('kv put -lock leader -lock-index 2 data y'), { code: 1, err: /lock/ })
  t.match(await muster(`kv put -release ${id} leader`), { out: 'Released key "leader"\n' })
  t.match(await muster(`kv put -release ${id} leader`), { code: 1, err: /not locked/ })
})

void t.test('sessions are listed, shown and ended', async (t) => {
  const cli = await serverForCli(t)
  const { muster } = cli
  t.match(await muster('session list'), { out: '', err: /No sessions/ })
  const id = await sessionOn(cli)
  t.match((await muster('session list')).out, /worker +box +15s +release/)
  t.match((await muster('session list -node BOX')).out, id)
  t.match((await muster(`session info ${id}`)).out, /Lock Delay +=? ?.*15s/)
  t.match(await muster(`session destroy ${id}`), { code: 0 })
  t.match(await muster(`session destroy ${id}`), { code: 0 })
  t.match(await muster(`session info ${id}`), { code: 1, err: /no session/ })
  t.match(await muster('session destroy nonsense'), { code: 1, err: /UUID/ })
})
