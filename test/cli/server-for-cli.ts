/** A real server of one behind a socket, and command lines that are run against it. */
import { createServer } from 'node:http'
import type { Test } from 'tap'
import { serverOfOne, type ServerOfOne, type ServerOfOneOptions } from '../domains/server-of-one.ts'
import { run, type Ran, type Typed } from './terminal.ts'

export type ServerForCli = {
  readonly server: ServerOfOne
  readonly address: string
  /** The words of a command line. */
  readonly muster: (args: readonly string[] | string, typed?: Typed) => Promise<Ran>
}

export async function serverForCli(
  t: Test,
  options: ServerOfOneOptions = {},
): Promise<ServerForCli> {
  const server = await serverOfOne(t, options)
  const socket = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => void parts.push(part))
    request.on('end', () => {
      const body = parts.length === 0 ? undefined : Buffer.concat(parts)
      const token = request.headers['x-service-token']
      const sent = typeof token === 'string' ? token : undefined
      void server.ask(request.method ?? '', request.url ?? '', body, sent).then((answer) => {
        response.writeHead(answer.status, answer.headers as Record<string, string>)
        response.end(answer.bytes)
      })
    })
  })
  await new Promise<void>((resolve) => {
    socket.listen(0, '127.0.0.1', resolve)
  })
  t.teardown(
    () =>
      new Promise<void>((resolve) => {
        socket.close(() => resolve())
      }),
  )
  const bound = socket.address()
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0
  const address = `http://127.0.0.1:${port}`
  return {
    server,
    address,
    muster: (args, typed = {}) =>
      run(typeof args === 'string' ? args.split(' ') : args, {
        ...typed,
        env: { MUSTER_ADDR: address, ...typed.env },
      }),
  }
}
