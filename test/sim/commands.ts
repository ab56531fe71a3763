/** What the simulated state machine understands: versioned keys, set always or only at a known version. */

export type Row = { readonly value: string; readonly index: number }

export type Command = Change & {
  /** Of a write that was forwarded. */
  readonly name?: string
}

export type Change =
  | { readonly type: 'put'; readonly key: string; readonly value: string; readonly padding: string }
  | {
      readonly type: 'cas'
      readonly key: string
      readonly value: string
      /** 0: only if absent. */
      readonly expectedIndex: number
    }
  | { readonly type: 'delete'; readonly key: string }

export type Outcome =
  | { readonly type: 'done' }
  | { readonly type: 'refused'; readonly found: Row | null }
  | { readonly type: 'nothing' }

export function encodeCommand(command: Command): Uint8Array {
  return Buffer.from(JSON.stringify(command))
}

export function decodeCommand(data: Uint8Array): Command {
  return JSON.parse(Buffer.from(data).toString()) as Command
}

export function applyCommand(rows: Map<string, Row>, command: Command, index: number): Outcome {
  const found = rows.get(command.key) ?? null
  switch (command.type) {
    case 'put':
      rows.set(command.key, { value: command.value, index })
      return { type: 'done' }
    case 'cas':
      if ((found?.index ?? 0) !== command.expectedIndex) return { type: 'refused', found }
      rows.set(command.key, { value: command.value, index })
      return { type: 'done' }
    case 'delete':
      rows.delete(command.key)
      return { type: 'done' }
  }
}
