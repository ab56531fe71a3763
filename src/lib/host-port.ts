/** Every address of a machine: to listen on, not to connect to. */
export const wildcards: readonly string[] = ['0.0.0.0', '::']

/** `host:port`, an IPv6 host in brackets. */
export function hostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** Where an HTTP API is. */
export type HttpAddress = { readonly secure: boolean; readonly host: string; readonly port: number }
