/** One request over a connection of its own, by HTTP or HTTPS; its reply is looked at as those of `HttpClient`. */
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { faultOf } from './http-client.ts'

export type Answer = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** With a certificate to trust: over HTTPS. */
export function ask(port: number, method: string, path: string, ca?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, method, path, agent: false, timeout: 5_000 }
    const sent = ca === undefined ? httpRequest(options) : httpsRequest({ ...options, ca: [ca] })
    sent.on('timeout', () => sent.destroy(new Error('no answer')))
    sent.on('error', reject)
    sent.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => {
        const { statusCode: status = 0, headers } = response
        const body = Buffer.concat(chunks)
        const fault = faultOf({ method, url: path, headers: {} }, { status, headers, body })
        if (fault === null) resolve({ status, headers, body: body.toString() })
        else reject(fault)
      })
    })
    sent.end()
  })
}
