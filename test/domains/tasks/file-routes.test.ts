/** Which part of a file is read, and what it is called. */
import t from 'tap'
import { Search } from '../../../src/api/search.ts'
import { fileRoutes } from '../../../src/domains/tasks/file-routes.ts'
import type { FileToRead } from '../../../src/domains/tasks/services.ts'

const id = 'd9f8f5f0-5f44-4c1e-8d1e-5d1e2f3a4b5c'

const info = { name: 'a', isDir: false, size: 9, mode: '-rw-r--r--', modifiedMs: 0 }

async function answered(verb: string, query: string, data = Buffer.from('text\n')) {
  const route = fileRoutes.find(({ path }) => path === `/v1/client/fs/${verb}/:alloc_id`)
  if (route === undefined) throw new Error(`there is no ${verb}`)
  let asked: FileToRead | undefined
  let isLeft = false
  const chunks = [data, Buffer.from('rest')].map((part) => ({ file: 'a', offset: 0, data: part }))
  async function* source() {
    try {
      yield* chunks
    } finally {
      isLeft = true
    }
  }
  const reply = await route.handle({
    parameter: () => id,
    service: () => null,
    query: async () => ({ value: 'node-1' }),
    call: async () => info,
    search: new Search(query),
    open: async (_: unknown, args: FileToRead) => {
      asked = args
      return source()
    },
  } as never)
  return { ...reply, asked, isLeft: () => isLeft }
}

async function replied(verb: string, query: string, data?: Buffer<ArrayBuffer>) {
  const { stream, ...reply } = await answered(verb, query, data)
  if (stream === undefined) throw new Error('it has no stream')
  return { ...reply, stream }
}

t.test('a limit of nothing or less is the end of the file', async (t) => {
  const limitOf = async (limit: number) =>
    (await replied('readat', `path=a&offset=7&limit=${limit}`)).asked
  t.match(await limitOf(-1), { offset: 7, limit: null, origin: 'start' })
  t.match(await limitOf(0), { limit: null })
  t.match(await limitOf(9), { limit: 9 })
  const refused = (query: string, message: RegExp) =>
    t.rejects(replied('readat', query), { code: 'invalid_argument', message })
  await refused('path=a&offset=-1&limit=-1', /offset/)
  await refused('path=a&offset=1', /limit is missing/)
})

t.test('a file is text unless it begins with bytes that no text has', async (t) => {
  for (const verb of ['cat', 'readat']) {
    const query = 'path=a&offset=0&limit=-1'
    const plain = await replied(verb, query)
    t.equal(plain.type, 'text/plain; charset=utf-8', verb)
    const parts: string[] = []
    for await (const part of plain.stream) parts.push(Buffer.from(part).toString())
    t.equal(parts.join(''), 'text\nrest', 'all of it is given')
    const utf8 = await replied(verb, query, Buffer.from('grün\t✓\u001B[0m\r\n'))
    t.equal(utf8.type, 'text/plain; charset=utf-8')
    const binary = await replied(verb, query, Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 0]))
    t.equal(binary.type, 'application/octet-stream', verb)
    const { stream, isLeft } = binary
    await stream[Symbol.asyncIterator]().return?.()
    t.ok(isLeft(), 'one that is not read is left')
  }
})

t.test('what is known of a file says what it is called', async (t) => {
  const text = await answered('stat', 'path=a')
  t.match(text.json, { Name: 'a', Size: 9, ContentType: 'text/plain; charset=utf-8' })
  t.match(text.asked, { limit: 512, offset: 0, follow: false })
  t.ok(text.isLeft())
  const binary = await answered('stat', 'path=a', Buffer.from([0]))
  t.match(binary.json, { ContentType: 'application/octet-stream' })
})
