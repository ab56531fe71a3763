import t from 'tap'
import { isJsonObject, jsonObjectOf } from '../../src/lib/json-object.ts'

void t.test('only an object is one', (t) => {
  for (const value of [null, undefined, 1, '', 'x', true, [], [{}]]) t.notOk(isJsonObject(value))
  for (const value of [{}, { a: 1 }]) t.ok(isJsonObject(value))
  t.end()
})

void t.test('the object of a stored text, and none of what is another thing or no JSON', (t) => {
  t.same(jsonObjectOf('{"HTTP":"http://x","n":{"a":[1]}}'), { HTTP: 'http://x', n: { a: [1] } })
  for (const text of ['', 'x', '{', '{"a":', 'null', '7', '1e400', '"{}"', '[{}]', 'true']) {
    t.same(jsonObjectOf(text), {}, text)
  }
  t.end()
})
