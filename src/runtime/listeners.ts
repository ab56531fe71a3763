/** The API and ops listeners of a member with their certificates: opened in order, read again on request. */
import { dialectDefault, type Dialect } from '../lib/dialects.ts'
import type { OpsServer } from '../api/ops.ts'
import type { HttpServer } from '../api/server.ts'
import { Certificate, listenerUse, tlsKeys } from '../lib/certificate.ts'
import { MusterError, textOf } from '../lib/errors.ts'
import { hostPort, isWildcard, type HttpAddress } from '../lib/host-port.ts'
import { reloadAll } from './reload-all.ts'

export type ListenerSettings = {
  readonly purpose: 'api' | 'ops'
  /** Of the API. */
  readonly dialect: Dialect
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  /** null: plain HTTP. */
  readonly tls: {
    readonly certFile: string
    readonly keyFile: string
    readonly minVersion: 'TLSv1.2' | 'TLSv1.3'
    /** Where the configuration names them. */
    readonly block: 'listener' | 'tls'
  } | null
}

export type OpenListener = {
  /** host:port, with the port that the system chose. */
  readonly address: string
  readonly host: string
  readonly port: number
  readonly secure: boolean
  readonly dialect: Dialect
}

type Prepared = {
  readonly settings: ListenerSettings
  /** For messages to people. */
  readonly name: string
  readonly certificate: Certificate | null
}

export class Listeners {
  readonly #prepared: readonly Prepared[]

  private constructor(prepared: readonly Prepared[]) {
    this.#prepared = prepared
  }

  /** Throws `invalid_argument` with the listener, the key and the file that is wrong. */
  static async prepare(listeners: readonly ListenerSettings[]): Promise<Listeners> {
    const prepared: Prepared[] = []
    for (const settings of listeners) {
      const { purpose, host, port, tls } = settings
      const name = `${purpose} listener ${hostPort(host, port)}`
      const certificate = tls === null ? null : await named(name, () => load(tls))
      prepared.push({ settings, name, certificate })
    }
    return new Listeners(prepared)
  }

  /** Rejects with `unavailable`. */
  async open(
    purpose: 'api' | 'ops',
    server: HttpServer | OpsServer,
  ): Promise<readonly OpenListener[]> {
    const open: OpenListener[] = []
    for (const { settings, certificate } of this.#prepared) {
      if (settings.purpose !== purpose) continue
      const { host, port, dialect } = settings
      const opened = server.listen({
        host,
        port,
        ...(certificate !== null && { certificate }),
        ...(dialect !== dialectDefault && { dialect }),
      })
      const chosen = await opened.catch((error: unknown) => {
        if (error instanceof MusterError) throw error
        const text = `cannot listen on ${hostPort(host, port)} for HTTP: ${textOf(error)}; ports.http or a listener block names another port`
        throw new MusterError('unavailable', text, { cause: error })
      })
      const secure = certificate !== null
      open.push({ address: hostPort(host, chosen), host, port: chosen, secure, dialect })
    }
    return open
  }

  /** Reads all certificates again. Throws one line for all that stay as they were. */
  async reload(): Promise<void> {
    await reloadAll(
      this.#prepared.flatMap(({ name, certificate }) =>
        certificate === null ? [] : [() => named(name, () => certificate.reload())],
      ),
    )
  }
}

/** Where others reach the API of a member that is known to them by `advertised`; null: it has none. */
export function reachableApi(
  open: readonly OpenListener[],
  advertised: string,
): HttpAddress | null {
  const onAll = ({ host }: OpenListener) => isWildcard(host)
  // Members name their dialect; those of an earlier program do not.
  const apis = open.filter(({ dialect }) => dialect === dialectDefault)
  const best = apis.find((one) => onAll(one) || one.host === advertised) ?? apis[0]
  if (best === undefined) return null
  const { secure, port } = best
  return { secure, host: onAll(best) ? advertised : best.host, port }
}

function load(tls: NonNullable<ListenerSettings['tls']>): Promise<Certificate> {
  const { certFile, keyFile, minVersion, block } = tls
  const keys = block === 'tls' ? tlsKeys : listenerUse.keys
  return Certificate.load({ certFile, keyFile }, { keys, minVersion })
}

async function named<T>(name: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof MusterError)) throw error
    throw new MusterError(error.code, `${name}: ${error.message}`, { cause: error })
  }
}
