/** Ids as clients write them. */
import t from 'tap'
import { checkIdPrefix, checkWholeId } from '../../../src/domains/evaluations/id-model.ts'
import { completed, jobWith } from '../jobs/job-drafts.ts'
import { register } from '../jobs/registered.ts'
import { serverOfOne } from '../server-of-one.ts'

const id = '1f077c05-3531-4a2b-8c3d-0123456789ab'

t.test('a prefix reads with and without dashes, in any letter case', async (t) => {
  const digits = id.replaceAll('-', '')
  for (let length = 0; length <= digits.length; length += 2) {
    const prefix = checkIdPrefix(digits.slice(0, length))
    t.ok(id.startsWith(prefix), prefix)
    t.equal(prefix.replaceAll('-', '').length, length)
  }
  t.equal(checkIdPrefix(id), id)
  t.equal(checkIdPrefix(id.toUpperCase()), id)
  t.equal(checkIdPrefix('1F077C05-'), '1f077c05')
  t.equal(checkIdPrefix(`${digits}ab`), `${id}ab`, 'the id of nothing')
  t.throws(() => checkIdPrefix('1f0'), { message: /^prefix must have an even number/ })
  t.throws(() => checkIdPrefix('1g'), { message: /^prefix must be hexadecimal/ })
  t.equal(checkWholeId('node', id.toUpperCase()), id)
})

t.test('a long prefix without dashes finds its evaluation', async (t) => {
  const server = await serverOfOne(t)
  await register(server, completed(jobWith()))
  const list = async (query = '') =>
    (await server.ask('GET', `/v1/evaluations${query}`)).json() as readonly { ID: string }[]
  const [{ ID } = { ID: '' }] = await list()
  const short = ID.replaceAll('-', '').slice(0, 12)
  for (const prefix of [short, short.toUpperCase(), ID, ID.toUpperCase()]) {
    t.match(await list(`?prefix=${prefix}`), [{ ID }], prefix)
  }
  t.match((await server.ask('GET', `/v1/evaluation/${ID.toUpperCase()}`)).json(), { ID })
})
