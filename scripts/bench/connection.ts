/** One HTTP connection that is asked one thing after the other, as plainly as can be. */
import { connect } from 'node:net'

export class Connection {
  readonly #socket
  #answered: (status: number) => void = () => undefined

  constructor(port: number, signal: AbortSignal) {
    this.#socket = connect({ host: '127.0.0.1', port, signal, noDelay: true })
    this.#socket.on('data', (data: Buffer) => {
      const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(data.toString('latin1', 0, 12)) ?? []
      if (status !== undefined) this.#answered(Number(status))
    })
    this.#socket.on('error', () => this.#answered(0))
    this.#socket.on('close', () => this.#answered(0))
  }

  /** Sends a whole request. Resolves with the status; 0: none came, in `timeoutMs` if that is not 0. */
  async ask(request: string, timeoutMs: number): Promise<number> {
    if (this.#socket.destroyed) return 0
    return new Promise((resolve) => {
      this.#answered = resolve
      this.#socket.setTimeout(timeoutMs, () => this.#socket.destroy())
      this.#socket.write(request)
    })
  }

  close(): void {
    this.#socket.destroy()
  }
}

/** On a connection of its own, so that it waits behind no other. */
export async function askOnce(
  port: number,
  request: string,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<number> {
  const connection = new Connection(port, signal)
  const status = await connection.ask(request, timeoutMs)
  connection.close()
  return status
}
