import { nanoseconds } from '../../src/lib/date-text.ts'
import t from 'tap'
import { Fields } from '../../src/api/fields.ts'
import { acceptsGzip } from '../../src/api/headers.ts'
import { decodeJson, encodeJson } from '../../src/api/json.ts'
import { readPaging } from '../../src/api/pages.ts'
import { Search } from '../../src/api/search.ts'
import { RouteTable } from '../../src/api/route-table.ts'
import type { Route } from '../../src/api/route.ts'
import { randomInteger, seededRandom } from '../../src/lib/random.ts'

t.test('a query string is pairs in order, decoded once', async (t) => {
  const search = new Search('a=1&b&c=x%20y+z&a=2&&d=%3D%26&e=a=b&__proto__=p')
  t.equal(search.text('a'), '1')
  t.same(search.all('a'), ['1', '2'])
  t.equal(search.text('b'), '')
  t.equal(search.text('c'), 'x y z')
  t.equal(search.text('d'), '=&')
  t.equal(search.text('e'), 'a=b')
  t.equal(search.text('__proto__'), 'p')
  t.equal(search.text('toString'), null)
  t.throws(() => new Search('a=%zz'), { code: 'invalid_argument' })
  t.throws(() => new Search('a=%ff'), { code: 'invalid_argument' })
})

t.test('boolean words of a query', async (t) => {
  for (const word of ['1', 't', 'T', 'true', 'TRUE', 'True']) {
    t.equal(new Search(`x=${word}`).boolean('x'), true, word)
  }
  for (const word of ['0', 'f', 'F', 'false', 'FALSE', 'False']) {
    t.equal(new Search(`x=${word}`).boolean('x', true), false, word)
  }
  t.equal(new Search('x').boolean('x', true), true)
  t.equal(new Search('x').flag('x'), true)
  t.equal(new Search('').flag('x'), false)
  for (const word of ['yes', 'tRUE', '2', '__proto__', 'constructor']) {
    t.throws(() => new Search(`x=${word}`).boolean('x'), { code: 'invalid_argument' }, word)
  }
})

t.test('numbers of a query are strictly decimal', async (t) => {
  const unsigned = (text: string) => new Search(`cas=${text}`).unsigned('cas')
  t.equal(new Search('').unsigned('cas'), null)
  t.equal(unsigned('0'), 0n)
  t.equal(unsigned('007'), 7n)
  t.equal(unsigned('18446744073709551615'), 18_446_744_073_709_551_615n)
  for (const bad of [
    '',
    '-1',
    '%2B1',
    '1.0',
    '1e3',
    '0x1',
    '18446744073709551616',
    '1_0',
    '%D9%A1',
  ]) {
    t.throws(() => unsigned(bad), { code: 'invalid_argument' }, bad)
  }
})

t.test('per_page is a 32-bit integer', async (t) => {
  const paging = (text: string) => readPaging(new Search(text))
  t.same(paging(''), { perPage: null, nextToken: null })
  t.same(paging('per_page=0&next_token='), { perPage: null, nextToken: null })
  t.same(paging('per_page=10&next_token=a.b'), { perPage: 10, nextToken: 'a.b' })
  t.same(paging('per_page=2147483647').perPage, 2_147_483_647)
  t.same(paging('per_page=-1').perPage, null)
  for (const bad of ['2147483648', 'x', '1.5', '1e3', '%201', '0x10', '-2147483649']) {
    t.throws(() => paging(`per_page=${bad}`), { code: 'invalid_argument' }, bad)
  }
})

t.test('members of a body are read by type and named when they are wrong', async (t) => {
  const fields = new Fields({
    text: 'a',
    number: 3,
    half: 1.5,
    below: -1,
    yes: true,
    nothing: null,
    list: ['a', 'b'],
    mixed: ['a', 1],
    inner: { wait: '1m30s', number: 'x' },
    items: JSON.parse('{"__proto__":"p","a":"1"}') as unknown,
  })
  t.equal(fields.text('text'), 'a')
  t.equal(fields.text('nothing'), undefined)
  t.equal(fields.text('absent'), undefined)
  t.equal(fields.text('toString'), undefined)
  t.equal(fields.integer('number'), 3)
  t.equal(fields.count('number'), 3)
  t.equal(fields.count('absent'), undefined)
  t.equal(fields.boolean('yes'), true)
  t.same(fields.texts('list'), ['a', 'b'])
  t.equal(fields.object('inner')?.durationMs('wait'), 90_000)
  t.same(fields.textPairs('items'), [
    ['__proto__', 'p'],
    ['a', '1'],
  ])
  t.throws(() => fields.text('number'), { message: 'number must be a string' })
  t.throws(() => fields.integer('half'), { message: 'half must be a whole number' })
  t.throws(() => fields.integer('text'), { code: 'invalid_argument' })
  t.throws(() => fields.count('below'), { message: 'below must not be below 0' })
  t.throws(() => fields.boolean('text'), { message: 'text must be true or false' })
  t.throws(() => fields.texts('mixed'), { message: 'mixed must be a list of strings' })
  t.throws(() => fields.object('list'), { message: 'list must be an object' })
  t.throws(() => fields.object('inner')?.integer('number'), {
    message: 'inner.number must be a whole number',
  })
  t.throws(() => fields.textPairs('inner') && fields.textPairs('list'), {
    code: 'invalid_argument',
  })
  for (const bad of [undefined, null, 1, 'x', []]) {
    t.throws(() => new Fields(bad), { code: 'invalid_argument' })
  }
})

t.test('names match in any letter case where asked, the exact one first', async (t) => {
  const fields = new Fields(
    { ttl: '1s', TTL: '2s', lockdelay: 5, Inner: { a: 1 } },
    { anyCase: true },
  )
  t.equal(fields.text('TTL'), '2s')
  t.equal(fields.integer('LockDelay'), 5)
  t.equal(fields.object('inner')?.integer('A'), 1)
  t.equal(new Fields({ ttl: 'x' }).text('TTL'), undefined)
})

t.test('nanoseconds print exactly', async (t) => {
  const seed = 7
  const random = seededRandom(seed)
  t.equal(encodeJson({ at: nanoseconds(1_700_000_000_123) }, false), '{"at":1700000000123000000}')
  for (let n = 0; n < 20_000; n += 1) {
    const milliseconds = randomInteger(random, 0, n % 2 === 0 ? 4_000_000_000_000 : 10_000)
    const text = JSON.stringify(nanoseconds(milliseconds))
    if (text !== `${BigInt(milliseconds) * 1_000_000n}`) {
      t.fail(`${milliseconds} ms print as ${text} (seed ${seed})`)
      break
    }
  }
})

t.test('bigints print as integers, at any depth', async (t) => {
  const value = { a: [1n, { b: 18_446_744_073_709_551_615n }], c: 'x' }
  t.equal(encodeJson(value, false), '{"a":[1,{"b":18446744073709551615}],"c":"x"}')
  t.equal(encodeJson(5n, false), '5')
  t.equal(encodeJson(undefined, false), 'null')
  const circle: { self?: unknown } = {}
  circle.self = circle
  t.throws(() => encodeJson(circle, false), TypeError)
})

t.test('blanks alone are an empty body', async (t) => {
  t.equal(decodeJson(Buffer.from('')), undefined)
  t.equal(decodeJson(Buffer.from(' \n')), undefined)
  t.equal(decodeJson(Buffer.from('null')), null)
  t.throws(() => decodeJson(Buffer.from('\u{FEFF}{}')), { code: 'invalid_argument' })
})

t.test('a table tells what a path allows', async (t) => {
  const route = (method: Route['method'], path: string): Route => ({
    method,
    path,
    handle: () => ({}),
  })
  const table = new RouteTable([
    route('GET', '/v1/node/:id'),
    route('PUT', '/v1/node/:id/drain'),
    route('GET', '/v1/var/*'),
    route('DELETE', '/v1/var/*'),
  ])
  t.same(table.methodsOf('/v1/node/a', 'nomad'), ['GET', 'HEAD'])
  t.same(table.methodsOf('/v1/node/a/drain', 'nomad'), ['POST', 'PUT'])
  t.same(table.methodsOf('/v1/var/a/b\n/', 'nomad'), ['DELETE', 'GET', 'HEAD'])
  t.same(table.methodsOf('/v1/node', 'nomad'), [])
  t.same(table.methodsOf('/v1/nodes/a', 'nomad'), [])
})

t.test('an odd quality is no wish', async (t) => {
  t.equal(acceptsGzip('gzip;q=abc'), false)
  t.equal(acceptsGzip('gzip;q=2'), false)
  t.equal(acceptsGzip(',,;q=1,'), false)
  t.equal(acceptsGzip('x-gzip'), true)
})
