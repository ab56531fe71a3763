/** What makes a reply in a test one that its route does not describe. */
import t from 'tap'
import { Type } from 'typebox'
import type { DescribedRoute } from '../../src/api/route.ts'
import { done, frames, jsonType, ok, textType } from '../../src/api/shape.ts'
import { ReplyShapes } from './reply-shapes.ts'

const common = { summary: 'Test', permission: 'none', example: {}, handle: () => ({}) }
const Thing = Type.Object({ Name: Type.String(), Size: Type.Optional(Type.Integer()) })

const routes: readonly DescribedRoute[] = [
  { ...common, method: 'GET', path: '/v1/thing/:id', reply: ok(Thing), errors: ['not_found'] },
  { ...common, method: 'GET', path: '/v1/thing/:name', dialect: 'consul', reply: ok(Type.Null()) },
  { ...common, method: 'LIST', path: '/v1/thing/:id', reply: ok(Type.Array(Thing)) },
  { ...common, method: 'PUT', path: '/v1/thing/:id', reply: done },
  {
    ...common,
    method: 'GET',
    path: '/v1/thing/stream',
    reply: { 200: { [jsonType]: frames(Thing, 'Things'), [textType]: Type.String() } },
  },
]

const consul = { 'x-service-dialect': 'consul' }

const json = (value: unknown, status = 200) => ({
  status,
  type: jsonType,
  body: JSON.stringify(value),
})
const text = (body: string, status = 200) => ({ status, type: 'text/plain; charset=utf-8', body })

// oxfmt-ignore
const rows: readonly (readonly [method: string, url: string, headers: object, reply: ReturnType<typeof json>, fault: RegExp | null])[] = [
  ['GET',  '/v1/thing/a',           {},     json({ Name: 'a' }),                  null],
  ['GET',  '/v1/thing/a?pretty',    {},     json({ Name: 'a', Size: 1 }),         null],
  ['GET',  '/v1/thing/a',           {},     json({ Name: 1 }),                    /\/Name must be string/],
  ['GET',  '/v1/thing/a',           {},     json({}),                             /Name/],
  ['GET',  '/v1/thing/a',           {},     json({ Name: 'a', Other: 1 }),        /\/Other/],
  ['GET',  '/v1/thing/a',           {},     text('a'),                            /no content type text\/plain/],
  ['GET',  '/v1/thing/a',           {},     json({ Name: 'a' }, 201),             /no status 201/],
  ['GET',  '/v1/thing/a',           {},     text('no such thing', 404),           null],
  ['GET',  '/v1/thing/a',           {},     text('taken', 409),                   /no error with status 409/],
  ['GET',  '/v1/thing/a',           {},     text('wrong', 400),                   null],
  ['GET',  '/v1/thing/a',           consul, json(null),                           null],
  ['GET',  '/v1/thing/a',           consul, json({ Name: 'a' }),                  /must be null/],
  ['LIST', '/v1/thing/a',           {},     json([{ Name: 'a' }]),                null],
  ['GET',  '/v1/thing/a?list=true', {},     json([{ Name: 'a' }]),                null],
  ['GET',  '/v1/thing/a?list=true', {},     json({ Name: 'a' }),                  /must be array/],
  ['PUT',  '/v1/thing/a',           {},     text(''),                             null],
  ['PUT',  '/v1/thing/a',           {},     json(true),                           /there is a body/],
  ['GET',  '/v1/thing/stream',      {},     { ...json(0), body: '{"Name":"a"}\n{"Name":"b"}\n' }, null],
  ['GET',  '/v1/thing/stream',      {},     { ...json(0), body: '{"Name":"a"}{"Name":2}' },       /\/Name must be string/],
  ['GET',  '/v1/thing/stream',      {},     text('a line'),                       null],
  ['GET',  '/v1/other',             {},     json(1),                              null],
]

for (const [method, url, headers, { status, type, body }, fault] of rows) {
  const how = fault === null ? 'is as described' : `is not: ${fault.source}`
  void t.test(`${method} ${url} ${status} ${body} ${how}`, async (t) => {
    const before = process.exitCode
    const check = () => {
      const request = { method, url, headers: { ...headers } }
      new ReplyShapes(routes).check(request, { status, headers: { 'content-type': type }, body })
    }
    if (fault === null) t.doesNotThrow(check)
    else t.throws(check, { message: fault })
    process.exitCode = before
  })
}
