import { once } from 'node:events'
import type { Socket } from 'node:net'

/** Resolves with all that comes until the other side closes, a character for each byte. */
export async function everything(socket: Socket): Promise<string> {
  let text = ''
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => (text += chunk))
  socket.on('error', () => {})
  await once(socket, 'close')
  return text
}
