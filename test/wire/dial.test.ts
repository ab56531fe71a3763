/** One dial: what it counts, and what it leaves behind. */
import { ServerCredentials, Server, status, type ServerDuplexStream } from '@grpc/grpc-js'
import t, { type Test } from 'tap'
import { dial } from '../../src/wire/dial.ts'
import { Wire } from '../../src/wire/wire.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { manualClock } from '../support/manual-clock.ts'
import { echoServer, path, wireOf } from './echo.ts'

/** A server that answers each stream as `answer` does. */
async function foreignServer(
  t: Test,
  answer: (call: ServerDuplexStream<Buffer, Buffer>) => void,
): Promise<string> {
  const server = new Server()
  const passBytes = (bytes: Buffer): Buffer => bytes
  const stream = {
    path,
    requestStream: true,
    responseStream: true,
    requestSerialize: passBytes,
    requestDeserialize: passBytes,
    responseSerialize: passBytes,
    responseDeserialize: passBytes,
  } as const
  server.addService({ stream }, { stream: answer })
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    )
  })
  t.teardown(() => server.forceShutdown())
  return `127.0.0.1:${port}`
}

void t.test('a server that answers and refuses at once is one refusal', async (t) => {
  const address = await foreignServer(t, (call) => {
    call.on('error', () => {})
    call.write(Buffer.from('no handshake'))
    const refusal = { code: status.FAILED_PRECONDITION, details: 'another cluster' }
    call.emit('error', Object.assign(new Error(refusal.details), refusal))
  })
  const wire = wireOf({ id: 'a' })
  const dials = 5
  for (let made = 0; made < dials; made += 1) {
    const dialed = dial(wire, { address, path, to: 'b' })
    await t.rejects(dialed, { failure: 'rejected', message: /handshake/ })
  }
  t.equal(wire.refusals.count('handshake'), dials)
})

void t.test('what gRPC does not even begin is unreachable', async (t) => {
  const wire = wireOf({ id: 'a' })
  const target = { address: '127.0.0.1:1', path: 7 as unknown as string, to: '' }
  await t.rejects(dial(wire, target), { failure: 'unreachable', message: /cannot be dialled/ })
})

void t.test('a stream that ends leaves no timer', async (t) => {
  const { address } = await echoServer(t, { id: 'b' })
  const clock = manualClock()
  const identity = () => ({ clusterId: 'c1', serverId: 'a' })
  const wire = new Wire({ identity, clock })
  const stream = await dial(wire, { address, path, to: 'b' })
  t.equal(clock.timerCount, 0)
  stream.finish('the end')
  await eventuallyTrue('the grace is over', () => clock.timerCount === 0)
  await dial(wire, { address, path, to: 'b' }).then((other) => other.close('the end'))
  t.equal(clock.timerCount, 0)
})
