/** The files of a folder that `tls.folder` names: what one agent needs for TLS, and nothing else. */
export const tlsFolderFiles = {
  /** The certificate of the authority; its key is never here. */
  ca: 'ca.pem',
  cert: 'cert.pem',
  key: 'key.pem',
} as const

/** Of the first server, in what 'muster tls bootstrap' makes. */
export const tlsFolderOfFirst = 'server-1'
