/** `muster operator scheduler brake`, and the hints that it is on. */
import t from 'tap'
import { idOf, Workloads } from '../domains/allocations/workloads.ts'
import { serverForCli } from './server-for-cli.ts'

void t.test('the storm brake is shown, set and released', async (t) => {
  const { muster, server } = await serverForCli(t)
  const here = new Workloads(server.machine, async (command) => {
    const { outcome } = await server.propose(command)
    return outcome
  })
  const brake = 'operator scheduler brake'
  t.match(await muster(`${brake} status`), {
    code: 0,
    out: /^On += false\nSince += <none>\n[^]*Lost Nodes += 0 of 0\n[^]*Share += 30 %\nMin Nodes += 5\n/,
  })
  t.match(await muster(`${brake} release`), { code: 0, out: 'The storm brake is not on\n' })
  t.match(await muster(`${brake} set`), { code: 2, err: /-share, -min-nodes, -window, -max-hold/ })
  t.match(await muster(`${brake} set -window soon`), { code: 2, err: /a duration/ })
  t.match(await muster(`${brake} set -share 101`), { code: 1, err: /SharePercent must be/ })
  t.match(await muster(`${brake} set -min-nodes 2 -max-hold 0`), { out: 'Storm brake updated\n' })
  for (let number = 1; number <= 5; number += 1) await here.node(number)
  const lost = (number: number) => here.status(idOf('node', number), 'down')
  await lost(1)
  t.match(await muster('node status'), { code: 0, err: '' })
  await lost(2)
  t.match((await muster('node status')).err, /^The storm brake is on: 2 of 5 nodes are lost/)
  t.match((await muster('node status -json')).code, 0)
  t.match((await muster(`${brake} status`)).out, /^On += true\n[^]*Until += released\n/)
  t.match(await muster([...brake.split(' '), 'status', '-t', '{{.On}} {{.MinNodes}}']), {
    out: 'true 2\n',
  })
  t.match(await muster(`${brake} release`), { code: 0, out: 'Released the storm brake\n' })
  t.match((await muster(`${brake} status`)).out, /Last Release += .*: by an operator\n/)
  t.match(await muster('node status'), { code: 0, err: '' })
})
