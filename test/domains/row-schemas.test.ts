/** The schemas of all tables against rows that requests wrote, and against what they are to refuse. */
import t from 'tap'
import { everyTableOptions, fillEveryTable, meetEveryTable } from './every-table.ts'
import { sweepRows, tableNames, tables } from './row-faults.ts'
import { serverOfOne } from './server-of-one.ts'

void t.test('rows of every table are such as its schema says', async (t) => {
  const server = await serverOfOne(t, everyTableOptions)
  await fillEveryTable(server)
  const { faults, seen } = await sweepRows(server.machine)
  t.same(faults, [])
  t.same([...seen].sort(), tableNames.toSorted(), 'each table has rows')

  const archive = await server.ask('GET', '/v1/operator/snapshot')
  for (const { request, answer } of await meetEveryTable(server)) {
    t.ok(answer.status < 500, `${request}: ${answer.status} ${answer.body.slice(0, 200)}`)
  }
  t.same((await sweepRows(server.machine)).faults, [])
  const restored = await server.ask('PUT', '/v1/operator/snapshot', archive.bytes)
  t.equal(restored.status, 200, restored.body)
  t.same((await sweepRows(server.machine)).seen, seen)
})

void t.test('rows that older programs wrote are taken', (t) => {
  t.equal(tables.get('kv_reaped').faultOf({ namespace: 'default', index: 9 }), null)
  t.end()
})

void t.test('no table takes what is no row, or more than a row', (t) => {
  for (const name of tableNames) {
    const { faultOf } = tables.get(name)
    for (const value of [null, 1, 'row', [], {}, { more: 1 }]) t.type(faultOf(value), 'string')
  }
  t.end()
})
