import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { IncomingRequest } from '../../src/api/incoming.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { collectGarbage } from '../support/heap.ts'

const chunkedHead = 'PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n'

/** A connection to a server whose requests go to `serve`; each is answered 200 when that resolves. */
async function talking(
  t: Test,
  serve: (request: IncomingRequest) => Promise<unknown>,
): Promise<Socket> {
  const options = { IncomingMessage: IncomingRequest, keepAliveTimeout: 600_000 }
  const server = createServer(options, (request, response) => {
    void serve(request).then(() => response.end())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const socket = connect(typeof address === 'object' ? (address?.port ?? 0) : 0, '127.0.0.1')
  socket.on('error', () => {})
  t.teardown(() => {
    socket.destroy()
    server.close()
  })
  return socket
}

/** Resolves with the whole body. */
function whole(request: IncomingRequest): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    request.takeBody((piece) => (piece === null ? resolve(text) : (text += piece.toString())))
  })
}

t.test('a body is taken piece by piece, and the next request comes after it', async (t) => {
  const bodies: string[] = []
  const socket = await talking(t, async (request) => bodies.push(await whole(request)))
  for (const piece of [chunkedHead, '2\r\nab\r\n', '1\r\nc\r\n', '0\r\n\r\n']) {
    socket.write(piece)
    if (piece === chunkedHead) await eventuallyTrue('sent', () => socket.bytesWritten > 0)
  }
  await once(socket, 'data')
  socket.write('PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\ndef'.repeat(2))
  await eventuallyTrue('three bodies', () => bodies.length === 3)
  t.same(bodies, ['abc', 'def', 'def'])
})

t.test('whoever leaves a body in the middle finds the rest in the stream', async (t) => {
  let [taken, streamed] = ['', '']
  const socket = await talking(t, async (request) => {
    await new Promise<void>((resolve) => {
      request.takeBody((piece) => {
        taken += String(piece)
        request.leaveBody()
        resolve()
      })
    })
    for await (const chunk of request) streamed += String(chunk)
  })
  socket.write(`${chunkedHead}2\r\nab\r\n`)
  await eventuallyTrue('the first piece', () => taken === 'ab')
  socket.write('1\r\nc\r\n0\r\n\r\n')
  await once(socket, 'data')
  t.same([taken, streamed], ['ab', 'c'])
})

t.test('a body that breaks off closes its request', async (t) => {
  let closed = false
  const socket = await talking(t, async (request) => {
    request.on('close', () => (closed = true))
    await whole(request)
  })
  await new Promise((resolve) => socket.write(`${chunkedHead}2\r\nab\r\n`, resolve))
  socket.destroy()
  await eventuallyTrue('closed', () => closed)
  t.ok(closed)
})

t.test('a connection that waits for its next request does not keep the last', async (t) => {
  const requests: WeakRef<IncomingRequest>[] = []
  const socket = await talking(t, (request) => {
    requests.push(new WeakRef(request))
    return whole(request)
  })
  socket.write(`${chunkedHead}2\r\nab\r\n0\r\n\r\n`)
  await once(socket, 'data')
  await eventuallyTrue('collected', () => {
    collectGarbage()
    return requests[0]?.deref() === undefined
  })
  t.equal(requests.length, 1)
})
