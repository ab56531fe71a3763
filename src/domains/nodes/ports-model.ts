/** Ports that a node keeps for itself, as its configuration writes them: `22,8000-8100`. */

const partPattern = /^\s*(\d{1,5})\s*(?:-\s*(\d{1,5})\s*)?$/

/** Whether one of the ranges has the port. What is no range has none. */
export function isReservedPort(text: string, port: number): boolean {
  return text.split(',').some((part) => {
    const [, first, last = first] = partPattern.exec(part) ?? []
    return first !== undefined && Number(first) <= port && port <= Number(last)
  })
}
