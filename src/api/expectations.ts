/** `Expect` headers: Node meets `100-continue`, and RFC 9110 knows no other. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'

const text = 'the only expectation that is met is 100-continue'

/** Node's own refusal says nothing. */
export function refuseExpectations(server: Server): void {
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(417, {
      Connection: 'close',
      'Content-Type': 'text/plain; charset=utf-8',
      'Content-Length': text.length,
    })
    response.end(text)
  })
}
