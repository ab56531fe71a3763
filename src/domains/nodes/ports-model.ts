/** Ports that a node keeps for itself, as its configuration writes them: `22,8000-8100`. */

const partPattern = /^\s*(\d{1,5})\s*(?:-\s*(\d{1,5})\s*)?$/
const portMax = 65_535

/** Whether one of the ranges has the port. What is no range has none. */
export function isReservedPort(text: string, port: number): boolean {
  return rangesOf(text).some(([first, last]) => first <= port && port <= last)
}

/** All of them. */
export function reservedPorts(text: string): ReadonlySet<number> {
  const ports = new Set<number>()
  for (const [first, last] of rangesOf(text)) {
    for (let port = Math.max(1, first); port <= Math.min(last, portMax); port += 1) ports.add(port)
  }
  return ports
}

function rangesOf(text: string): readonly (readonly [first: number, last: number])[] {
  return text.split(',').flatMap((part) => {
    const [, first, last = first] = partPattern.exec(part) ?? []
    return first === undefined ? [] : [[Number(first), Number(last)] as const]
  })
}
