/**
 * A connection to one URL of a directory: TCP, then TLS where the URL or `starttls` wants it. The answer to StartTLS must be the
 * only thing that came in clear text, or bytes that an attacker put behind it would be taken for the directory's.
 */
import { connect as connectTcp, isIP, type Socket, type TcpNetConnectOpts } from 'node:net'
import { connect as connectTls, type SecureContext } from 'node:tls'
import { textOf } from '../../lib/errors.ts'
import { bounded, type Budget } from './budget.ts'
import { berElement, readLength } from './ber.ts'
import { DirectoryError } from './directory-error.ts'
import { FramedSocket } from './framed-socket.ts'
import { envelopeOf, operation, resultOf } from './messages.ts'
import type { DirectoryUrl } from './urls.ts'

export type DialOptions = {
  readonly starttls: boolean
  readonly insecure: boolean
  /** Authorities, client certificate, protocol versions. */
  readonly secureContext: () => SecureContext
}

const startTlsOid = '1.3.6.1.4.1.1466.20037'
/** Bytes that one read takes off a connection in clear text. */
const readBytes = 16 * 1024
/** A refusal has a text of the directory's in it. */
const startTlsAnswerMax = 16_384

const startTlsRequest = berElement(
  0x30,
  Buffer.concat([
    Buffer.from([0x02, 0x01, 0x01]),
    berElement(operation.extended, berElement(0x80, Buffer.from(startTlsOid))),
  ]),
)

/** Rejects with a `DirectoryError`; nothing stays open then. */
export async function dial(
  url: DirectoryUrl,
  options: DialOptions,
  budget: Budget,
  limitMs: number,
): Promise<FramedSocket> {
  const open: Socket[] = []
  const reasons: DirectoryError[] = []
  const stop = (reason: DirectoryError): void => {
    reasons.push(reason)
    for (const socket of open) socket.destroy()
  }
  try {
    return await bounded(budget, limitMs, stop, async () => {
      const to = { host: url.host, port: url.port, noDelay: true }
      if (!url.secure && !options.starttls) {
        const [clear, socket] = inClearText(to)
        open.push(clear)
        await established(clear, 'connect')
        return keptAlive(clear, socket)
      }
      const plain = connectTcp(to)
      open.push(plain)
      await established(plain, 'connect')
      if (!url.secure) await startTls(plain)
      const secure = connectTls({
        socket: plain,
        host: url.host,
        servername: isIP(url.host) === 0 ? url.host : '',
        secureContext: options.secureContext(),
        rejectUnauthorized: !options.insecure,
      })
      open.push(secure)
      await established(secure, 'secureConnect')
      const socket = new FramedSocket(secure)
      secure.on('data', (chunk: Buffer) => socket.take(chunk))
      return keptAlive(secure, socket)
    })
  } catch (error) {
    stop(new DirectoryError('closed', 'given up'))
    const [reason] = reasons
    if (reason?.kind === 'timeout') throw reason
    throw error instanceof DirectoryError
      ? error
      : new DirectoryError('unreachable', `${url.text}: ${textOf(error)}`, { cause: error })
  }
}

/** It reads into one buffer for as long as it lives. Otherwise Node makes one of 64 KiB, and a stream's event, for each read. */
function inClearText(to: TcpNetConnectOpts): readonly [Socket, FramedSocket] {
  const buffer = Buffer.allocUnsafeSlow(readBytes)
  const take = (length: number): boolean => {
    socket.take(Buffer.from(buffer.subarray(0, length)))
    return true
  }
  const clear = connectTcp({ ...to, onread: { buffer, callback: take } })
  const socket = new FramedSocket(clear)
  return [clear, socket]
}

function keptAlive(socket: Socket, framed: FramedSocket): FramedSocket {
  socket.setKeepAlive(true, 30_000)
  return framed
}

/** Resolves with `event`; the socket has no listeners of this afterwards. */
function established(socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (end: () => void): void => {
      socket.off(event, onOpen).off('error', onError).off('close', onClose)
      // A socket that fails later than its owner cares about must not end the process.
      socket.on('error', () => undefined)
      end()
    }
    const onOpen = (): void => settle(resolve)
    const onError = (error: Error): void => settle(() => reject(error))
    const onClose = (): void => settle(() => reject(new DirectoryError('closed', 'closed early')))
    socket.once(event, onOpen).once('error', onError).once('close', onClose)
  })
}

/** Resolves when the directory has agreed and said nothing more. */
async function startTls(socket: Socket): Promise<void> {
  socket.write(startTlsRequest)
  const answer = await new Promise<Buffer>((resolve, reject) => {
    let bytes = Buffer.alloc(0)
    const settle = (end: () => void): void => {
      socket.off('data', onData).off('close', onClose)
      socket.pause()
      end()
    }
    const onClose = (): void => settle(() => reject(new DirectoryError('closed', 'closed early')))
    const onData = (chunk: Buffer): void => {
      bytes = Buffer.concat([bytes, chunk])
      const length = readLength(bytes, 1)
      if (bytes[0] !== 0x30 || length === null || bytes.length > startTlsAnswerMax) {
        settle(() => reject(new DirectoryError('protocol', 'no answer to StartTLS')))
      } else if (length !== 'short' && bytes.length >= length.end + length.value) {
        const isAlone = bytes.length === length.end + length.value
        if (isAlone) settle(() => resolve(bytes))
        else settle(() => reject(new DirectoryError('protocol', 'more than an answer to StartTLS')))
      }
    }
    socket.on('data', onData).once('close', onClose)
  })
  const envelope = envelopeOf(answer)
  if (envelope === null || envelope.id !== 1 || envelope.tag !== operation.extendedDone) {
    throw new DirectoryError('protocol', 'no answer to StartTLS')
  }
  const resultCode = resultOf(answer, envelope.contentAt)?.code ?? null
  if (resultCode === null) throw new DirectoryError('protocol', 'no answer to StartTLS')
  if (resultCode !== 0) throw new DirectoryError('refused', 'StartTLS refused', { resultCode })
}
