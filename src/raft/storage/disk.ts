/**
 * The seam between the log and a file system: one folder, flat names. The system's form is `systemDisk`;
 * the simulator's fake loses, tears and delays what was not synced.
 *
 * Contract: `write` may be reordered and torn by a crash until `sync` of the same file resolves.
 * A created, renamed or removed name may be lost or come back until `syncFolder` resolves.
 * Writes, syncs and truncations of one file are issued one at a time by their owner; reads of other bytes may overlap them.
 */
export type DiskFile = {
  /** Bytes the file holds now, preallocated zeros included. */
  size(): Promise<number>
  /** Fills `buffer` from `position`; resolves to the number of bytes read, less only at the end of the file. */
  read(buffer: Uint8Array, position: number): Promise<number>
  /** Writes all of `buffer`; extends the file with zeros when `position` is beyond its end. */
  write(buffer: Uint8Array, position: number): Promise<void>
  sync(): Promise<void>
  truncate(size: number): Promise<void>
  /** Whether it has a name still. Absent: it does. */
  named?(): Promise<boolean>
  close(): Promise<void>
}

export type Disk = {
  /** For messages to people: where this folder is. */
  readonly path: string
  list(): Promise<readonly string[]>
  /** `create`: the file must not exist; `open`: it must. */
  create(name: string): Promise<DiskFile>
  open(name: string): Promise<DiskFile>
  rename(from: string, to: string): Promise<void>
  remove(name: string): Promise<void>
  syncFolder(): Promise<void>
}
