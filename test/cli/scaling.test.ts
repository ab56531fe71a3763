/** `muster scaling policy`. */
import t, { type Test } from 'tap'
import { standIn, type Reply } from './api-stand-in.ts'
import { run } from './terminal.ts'

const id = 'a1111111-0000-8000-8000-000000000001'
const policy = {
  ID: id,
  Enabled: true,
  Type: 'horizontal',
  Target: { Namespace: 'default', Job: 'web', Group: 'front' },
  CreateIndex: 12,
  ModifyIndex: 15,
}
const whole = { ...policy, Policy: { cooldown: '1m' }, Min: 1, Max: 5 }

async function against(t: Test, replies: Readonly<Record<string, Reply>>) {
  const { address, asked } = await standIn(t, replies)
  return {
    asked,
    muster: (line: string) => run(line.split(' '), { env: { MUSTER_ADDR: address } }),
  }
}

void t.test('scaling policies are listed', async (t) => {
  const { muster, asked } = await against(t, { 'GET /v1/scaling/policies': { json: [policy] } })
  t.match(await muster('scaling policy list -job web -type horizontal'), {
    code: 0,
    out: `
ID        Enabled  Type        Target
a1111111  true     horizontal  Namespace:default,Job:web,Group:front
`.trimStart(),
  })
  t.match(asked.at(-1)?.url, /job=web&type=horizontal/)
  t.match(await muster('scaling policy list -verbose'), { out: new RegExp(`\n${id} `) })
  const none = await against(t, { 'GET /v1/scaling/policies': { json: [] } })
  t.match(await none.muster('scaling policy list'), { code: 0, err: 'No policies found\n' })
})

void t.test('a scaling policy is shown by the front of its id', async (t) => {
  const { muster } = await against(t, {
    'GET /v1/scaling/policies': { json: [policy] },
    [`GET /v1/scaling/policy/${id}`]: { json: whole },
  })
  t.match(await muster('scaling policy info a11'), {
    code: 0,
    out: `
ID      = a1111111
Enabled = true
Type    = horizontal
Target  = Namespace:default,Job:web,Group:front
Min     = 1
Max     = 5

Policy
{
    "cooldown": "1m"
}
`.trimStart(),
  })
  const bare = await against(t, {
    [`GET /v1/scaling/policy/${id}`]: { json: { ...whole, Policy: {} } },
  })
  t.match(await bare.muster(`scaling policy info ${id}`), { out: /\nPolicy\n<empty>\n$/ })
})
