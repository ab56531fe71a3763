/** Wires for tests, and what they counted. */
import { emptyCounters, type WireCounters } from '../../../src/gossip/wire/counters.ts'
import { Keyring } from '../../../src/gossip/wire/keyring.ts'
import { PacketWire, type WireOptions } from '../../../src/gossip/wire/packet.ts'
import { StreamWire } from '../../../src/gossip/wire/stream.ts'

export type Wires = {
  readonly packets: PacketWire
  readonly streams: StreamWire
  readonly counters: WireCounters
}

/** Plain, compressing and without a label unless said otherwise. */
export function wires(options: Partial<WireOptions> = {}): Wires {
  const counters = emptyCounters()
  const whole = { label: '', keyring: null, compress: true, counters, ...options }
  return { packets: new PacketWire(whole), streams: new StreamWire(whole), counters }
}

/** A key of 32 equal bytes. */
export function keyring(fill: number): Keyring {
  return new Keyring(new Uint8Array(32).fill(fill))
}

/** The refusals that happened, as `wrong-key 1, plain 2`. */
export function refusals(refused: Readonly<Record<string, number>>): string {
  return Object.entries(refused)
    .filter(([, count]) => count > 0)
    .map(([reason, count]) => `${reason} ${count}`)
    .join(', ')
}
