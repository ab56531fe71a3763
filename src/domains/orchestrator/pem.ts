/** Texts in PEM as an operator gives them, cut into blocks. The callers read what is in a block. */

export type PemBlock = {
  /** `CERTIFICATE` */
  readonly label: string
  /** With both its lines of dashes. */
  readonly text: string
}

const block = /-----BEGIN ([A-Z0-9 ]{1,64})-----[^-]*-----END \1-----/g

/** Null: something between dashes is no whole block. What stands around the blocks is ignored, as other readers do. */
export function pemBlocks(text: string): readonly PemBlock[] | null {
  const blocks = [...text.matchAll(block)].map(([whole, label = '']) => ({ label, text: whole }))
  const rest = text.replaceAll(block, '')
  return rest.includes('-----') ? null : blocks
}
